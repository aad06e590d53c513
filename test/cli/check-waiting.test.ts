import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { baselineAt, certainly, filesIn } from "../helpers/baseline-folder.js";
import { runCli, startCli } from "../helpers/run-cli.js";

const check = (baseline: string, ...args: string[]) => [
  "check",
  "--baseline",
  baseline,
  "--runs",
  "3",
  "--json",
  ...args,
];

describe("--confirm-after", () => {
  it("waits before suspects are measured again", async () => {
    const baseline = await baselineAt(certainly.slower);
    const startedMs = performance.now();
    const { exitCode, stdout } = await runCli(check(baseline, "--confirm-after", "2s"));
    expect(performance.now() - startedMs).toBeGreaterThan(2000);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout).confirmation.runs).toBe(3);
  });

  it("waits for nothing where there are no suspects", async () => {
    const baseline = await baselineAt(certainly.faster);
    const { exitCode, stdout } = await runCli(check(baseline, "--confirm-after", "23h"));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).confirmation).toBeNull();
  });

  it("ends at once when it is interrupted meanwhile", async () => {
    const baseline = await baselineAt(certainly.slower);
    const before = filesIn(baseline);
    const { child, finished } = startCli(check(baseline, "--confirm-after", "1h"));
    await sleep(6000);
    child.kill("SIGINT");
    const signalledMs = performance.now();
    const { exitCode, stdout } = await finished;
    expect(performance.now() - signalledMs).toBeLessThan(5000);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(filesIn(baseline)).toEqual(before);
  });

  it("is a day at most", async () => {
    const { exitCode, stderr } = await runCli(check("nowhere", "--confirm-after", "25h"));
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: 'pinbench: "25h" is too long to wait: a day is the most.\n',
    });
  });
});
