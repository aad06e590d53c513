import { describe, expect, it } from "vitest";
import { callCli } from "../helpers/in-process.js";

describe("pinbench help", () => {
  it.each([
    [["help"], ["--help"]],
    [
      ["help", "run"],
      ["run", "--help"],
    ],
    [
      ["help", "import", "nvbandwidth"],
      ["import", "nvbandwidth", "--help"],
    ],
  ])("%j is %j", async (asked, same) => {
    expect(await callCli(asked)).toEqual(await callCli(same));
  });

  it("explains the words of the tables, or those that are asked for", async () => {
    const { exitCode, stdout } = await callCli(["help", "terms"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^What is copied\n {2}H2D .*\n\nKinds of memory\n/s);
    const { stdout: one } = await callCli(["help", "terms", "cold"]);
    expect(one).toMatch(/^Figures\n {2}cold {2}buffers [^\n]*\n$/);
  });

  it("says what it has no help on", async () => {
    expect(await callCli(["help", "nosuch"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        'there is no help on "nosuch". Ask for that of a command (run, check, ',
      ),
    });
    expect(await callCli(["help", "terms", "nosuch"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        'no term of the tables is called "nosuch". `pinbench help terms` lists',
      ),
    });
  });
});
