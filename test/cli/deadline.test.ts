import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { parseResult } from "../../src/results/parse.js";
import { listRuns } from "../../src/results/run-folder.js";
import { tuningSchema } from "../../src/results/tuning.js";
import { markName, measuring, nextMark } from "../helpers/processes.js";
import { type Finished, runCli, startCli, temporaryFolder } from "../helpers/run-cli.js";

const small = ["--backend", "emulated", "--llc", "1MiB", "--workers", "1", "--memory", "pinned"];
const quick = [...small, "--sizes", "64KiB", "--budget", "100ms"];

/** A copy from the device takes seconds, and no abort cuts a copy short. */
const hanging = { PINBENCH_EMULATED_FAULTS: "slow-d2h=1000" };

/** The command line as it ended, and how long it took in all. */
async function timed(args: readonly string[], env: Record<string, string> = {}, cwd = temporaryFolder()) {
  const startedMs = performance.now();
  const finished: Finished = await runCli(args, { env, cwd });
  return { ...finished, tookMs: performance.now() - startedMs };
}

/** Over by the deadline, but for what starting a process takes on a busy machine. */
function expectInTime({ exitCode, stderr, tookMs }: Awaited<ReturnType<typeof timed>>, seconds: number) {
  expect(stderr).toMatch(new RegExp(`^pinbench: the deadline of ${seconds} s came: `, "m"));
  expect(exitCode).toBe(4);
  expect(tookMs).toBeLessThan(seconds * 1000 + 5000);
}

describe("--deadline", () => {
  it("ends a run whose driver hangs, with a document of what was measured", async () => {
    const args = ["run", ...small, "--sizes", "32MiB", "--deadline", "5s", "--json"];
    const finished = await timed(args, hanging);
    expectInTime(finished, 5);
    const document = parseResult(finished.stdout);
    expect(document.run.status).toBe("aborted");
    const samples = document.cells.map(({ direction, samples }) => [
      direction,
      samples[0]?.durationNs.length ?? 0,
    ]);
    expect(samples).toEqual([
      ["h2d", expect.any(Number)],
      ["d2h", 0],
    ]);
    expect(samples[0]![1]).toBeGreaterThan(0);
  });

  it("ends by force what no longer answers", async () => {
    const { child, finished } = startCli(["run", ...quick, "--budget", "1h", "--deadline", "4s"]);
    const children = `/proc/${child.pid}/task/${child.pid}/children`;
    const watched = await vi.waitFor(() => {
      const pid = Number(readFileSync(children, "utf8"));
      expect(pid).toBeGreaterThan(0);
      return pid;
    }, 3000);
    process.kill(watched, "SIGSTOP");
    const { exitCode, stderr } = await finished;
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/the deadline of 4 s came: it no longer answered, and was ended by force\.\n$/);
    expect(existsSync(`/proc/${watched}`)).toBe(false);
  });

  it("is exit code 4 also where it comes before there is anything", async () => {
    const { exitCode, signal } = await timed(["run", ...quick, "--budget", "1h", "--deadline", "200ms"]);
    expect({ exitCode, signal }).toEqual({ exitCode: 4, signal: null });
  });

  it("is obeyed whatever the environment says", async () => {
    const args = ["run", ...quick, "--budget", "1h", "--deadline", "3s", "--json"];
    expectInTime(await timed(args, { PINBENCH_WATCHED: "1" }), 3);
  });

  it("changes nothing of what is over before it", async () => {
    const finished = await timed(["run", ...quick, "--deadline", "1h", "--json"]);
    expect({ exitCode: finished.exitCode, stderr: finished.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(parseResult(finished.stdout).run.status).toBe("complete");
    const refused = await timed(["run", "--memory", "paged", "--deadline", "1h"]);
    expect(refused.exitCode).toBe(2);
  });

  it("leaves a baseline with the runs that were whole, and a check of them says that it failed", async () => {
    const cwd = temporaryFolder();
    const baseline = await timed(
      ["baseline", "main", ...quick, "--runs", "1000", "--deadline", "4s"],
      {},
      cwd,
    );
    expectInTime(baseline, 4);
    const runs = (await listRuns(join(cwd, "main")))!.length;
    expect(runs).toBeGreaterThan(0);
    expect(baseline.stderr).toContain(
      `interrupted after ${runs} of 1000 runs: the baseline has these alone.`,
    );

    const args = ["check", "--baseline", "main", "--runs", "1000", "--deadline", "4s", "--json"];
    const check = await timed(args, {}, cwd);
    expectInTime(check, 4);
    const comparison = comparisonSchema.parse(JSON.parse(check.stdout));
    expect(comparison.outcome).toBe("failed");
    expect(comparison.notes.join()).toMatch(/the check ended after \d+ of 1000 runs, and confirmed nothing/);
  });

  it("keeps the runs that were whole where the next one hangs, and leaves no process", async () => {
    const cwd = temporaryFolder();
    const mark = nextMark();
    const args = ["baseline", "main", ...quick, "--runs", "1000", "--deadline", "9s"];
    const { finished } = startCli(args, { cwd, env: { [markName]: mark } });
    await vi.waitFor(() => expect(measuring(mark)).toHaveLength(1), 5000);
    const [first] = measuring(mark);
    const second = await vi.waitFor(() => {
      const [pid] = measuring(mark).filter((pid) => pid !== first);
      expect(pid).toBeDefined();
      return pid!;
    }, 5000);
    process.kill(Number(second), "SIGSTOP");
    expect((await finished).exitCode).toBe(4);
    expect(await listRuns(join(cwd, "main"))).not.toEqual([]);
    expect(measuring(mark)).toEqual([]);
  });

  it("ends a search with what it has found", async () => {
    const model = ["--sample-bytes", "4KiB", "--sample-cost", "2ms", "--batch-size", "8"];
    const search = ["--budget", "1h", "--exhaustive", "--backend", "emulated", "--deadline", "4s", "--json"];
    const finished = await timed(["tune", ...model, ...search]);
    expectInTime(finished, 4);
    expect(tuningSchema.parse(JSON.parse(finished.stdout)).run.status).toBe("aborted");
  });
});
