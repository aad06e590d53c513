import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { baselineAt, certainly, filesIn } from "../helpers/baseline-folder.js";
import { callCli } from "../helpers/in-process.js";
import { markName, measuring, nextMark } from "../helpers/processes.js";
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
  it("waits for nothing if there are no suspects", async () => {
    const baseline = await baselineAt(certainly.faster);
    const { exitCode, stdout } = await runCli(check(baseline, "--confirm-after", "23h"));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).confirmation).toBeNull();
  });

  it("ends at once when it is interrupted meanwhile", async () => {
    const baseline = await baselineAt(certainly.slower);
    const before = filesIn(baseline);
    const mark = nextMark();
    const args = check(baseline, "--confirm-after", "1h");
    const { child, finished } = startCli(args, { env: { [markName]: mark } });
    // Its three processes have come and gone, and for a second none comes to measure the suspects.
    const seen = new Set<string>();
    for (let idle = 0; idle < 20; ++idle) {
      await sleep(50);
      expect(child.exitCode).toBeNull();
      const now = measuring(mark);
      for (const id of now) seen.add(id);
      if (now.length > 0 || seen.size < 3) idle = 0;
    }
    expect(seen.size).toBe(3);
    child.kill("SIGINT");
    const { exitCode, stdout } = await finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(filesIn(baseline)).toEqual(before);
  });
});
