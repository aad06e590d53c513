import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { spelledOut } from "../../src/cli/help-layout.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import { copyFaults, small, temporaryFolder } from "../helpers/run-cli.js";

const warm = ["--memory", "pinned", "--direction", "h2d,bidir", "--cache", "warm"];
const every = [...warm, "--verify", "every"];

describe("--verify every", () => {
  it("compares all copies of each cell, and says so", async () => {
    const { exitCode, document } = await callSmall(every);
    expect(exitCode).toBe(0);
    expect(document.plan?.verify).toBe("every");
    expect(document.plan?.settings?.verify).toBe("every");
    for (const { id, copiesPerSample, verification, samples } of document.cells) {
      expect(copiesPerSample, id).toBe(1);
      expect(verification?.copies, id).toBe(6 * samples.length);
      expect(verification?.provenCopies, id).toBe(6 * samples.length);
    }
  });

  it("finds copies of a warm cell that by default right ones write over", async () => {
    const { exitCode, document } = await callSmall(every, copyFaults("drop", "h2d"));
    expect(exitCode).toBe(4);
    expect(document.cells.map(({ outcome }) => outcome)).toEqual(["mismatch", "mismatch"]);
  });

  it("is named in the report, with how little is compared without it", async () => {
    const all = await callCli(small(...every, "--verbose"));
    const last = await callCli(small(...warm, "--verbose"));
    expect(all.stdout).toContain("every copy was checked");
    expect(last.stdout).toMatch(/data checked: none of the copies of warm cells; --verify every checks all/);
  });

  it("makes figures that are not compared with others", async () => {
    const folder = temporaryFolder();
    const [all, last] = [join(folder, "all.json"), join(folder, "last.json")];
    const cold = ["--memory", "pinned", "--direction", "h2d"];
    await callCli(small(...cold, "--verify", "every", "--output", all));
    await callCli(small(...cold, "--output", last));
    const { exitCode, stdout } = await callCli(["compare", last, all]);
    expect(exitCode).toBe(5);
    expect(stdout).toContain("copies compared");
    expect((await callCli(["compare", last, all, "--allow-mismatch"])).exitCode).not.toBe(5);
  });
});

it("a switch that may have a value takes nothing for it that is none", () => {
  const spelled = (line: string) => spelledOut(line.split(" ")).join(" ");
  expect(spelled("baseline --verify folder")).toBe("baseline --verify=last folder");
  expect(spelled("run --seed 3 --verify")).toBe("run --seed 3 --verify=last");
  expect(spelled("run --verify every --no-verify")).toBe("run --verify every --no-verify");
  expect(spelled("tune -- python train.py --verify")).toBe("tune -- python train.py --verify");
});
