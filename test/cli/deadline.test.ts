import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { finishAfterMs } from "../../src/cli/deadline.js";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { listRunsIfAny } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import { tuningSchema } from "../../src/results/tuning.js";
import { isRunning, markName, measuring, nextMark } from "../helpers/processes.js";
import {
  emulatedFaults,
  endless,
  type Finished,
  restingLink,
  runCli,
  type Started,
  startCli,
  temporaryFolder,
  withTimeEnough,
} from "../helpers/run-cli.js";

const small = ["--backend", "emulated", "--llc", "1MiB", "--workers", "1", "--memory", "pinned"];
const quick = [...small, "--sizes", "64KiB", "--budget", "100ms"];

/** For runs without number: most of their time goes to copies during which the CPUs are left to others. */
const oneByOne = [...small, "--sizes", "64KiB", "--budget", "200ms", "--runs", "1000"];

/** No copy from the device completes but the first one, which finds out how long they take. */
const hanging = emulatedFaults({ copy: "d2h", fault: "never", from: 2 });

/** The least that leaves a driver which does not return the two seconds after which it is given up. */
const pastHangS = 6;

/** For tests that may try several deadlines. */
const timeout = 240_000;

/** The command line as it ended, and how long it took in all. */
async function timed(args: readonly string[], env: Record<string, string> = {}, cwd = temporaryFolder()) {
  const startedMs = performance.now();
  const finished: Finished = await runCli(args, { env, cwd, limitMs: timeout });
  return { ...finished, tookMs: performance.now() - startedMs };
}

/** Over by the deadline, but for what starting and ending processes takes on a busy machine. */
function expectInTime({ exitCode, stderr, tookMs }: Awaited<ReturnType<typeof timed>>, seconds: number) {
  expect(stderr).toMatch(new RegExp(`^pinbench: the deadline of ${seconds} s was reached: `, "m"));
  expect(exitCode).toBe(4);
  expect(tookMs).toBeLessThan(seconds * 1000 + 20_000);
}

/** What `find` finds before the process ends; null where it ends first. */
async function foundBefore<Found>({ child }: Started, find: () => Found | null): Promise<Found | null> {
  for (;;) {
    // Asked first: what is found afterwards may be what is left of it.
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const found = hasEnded ? null : find();
    if (hasEnded || found !== null) return found;
    await sleep(20);
  }
}

describe.concurrent("--deadline", { timeout }, () => {
  it("leaves 4 s for the end of a command, or half of a short time", () => {
    expect([60_000, 8000, 3000].map(finishAfterMs)).toEqual([56_000, 4000, 1500]);
  });

  it("ends a run whose driver hangs, with a document of what was measured", async () => {
    const document = await withTimeEnough(async (seconds) => {
      const args = ["run", ...small, "--sizes", "4MiB", "--deadline", `${seconds}s`, "--json"];
      const finished = await timed(args, hanging);
      expectInTime(finished, seconds);
      const found = finished.stdout === "" ? null : parseResult(finished.stdout);
      return found?.cells.some(({ samples }) => samples.length > 0) ? found : null;
    }, pastHangS);
    expect(document.run.status).toBe("aborted");
    const counts = document.cells.map(({ direction, samples }) => [
      direction,
      samples[0]?.durationNs.length ?? 0,
    ]);
    expect(counts).toEqual([
      ["h2d", 1],
      ["d2h", 0],
    ]);
  });

  it("ends by force what no longer answers", async () => {
    const watched = await withTimeEnough(async (seconds) => {
      const args = ["run", ...quick, ...endless, "--deadline", `${seconds}s`];
      const started = startCli(args, { env: restingLink });
      const children = `/proc/${started.child.pid}/task/${started.child.pid}/children`;
      // Stopped before it has become the program that is watched, it would hold back the watcher, which waits for that.
      const pid = await foundBefore(started, () => {
        const child = Number(readFileSync(children, "utf8")) || null;
        if (child === null) return null;
        return readFileSync(`/proc/${child}/environ`, "utf8").includes("PINBENCH_WATCHED") ? child : null;
      });
      if (pid !== null) process.kill(pid, "SIGSTOP");
      const { exitCode, stderr } = await started.finished;
      expect(exitCode).toBe(4);
      // Stopped only after it was asked to end.
      if (pid === null || stderr.includes("it stopped, and kept what it had measured")) return null;
      const sentence = `the deadline of ${seconds} s was reached: it did not respond, and was killed.`;
      expect(stderr).toContain(sentence);
      return pid;
    });
    expect(isRunning(watched)).toBe(false);
  });

  it("is exit code 4 also if it comes before there is anything", async () => {
    const { exitCode, signal } = await timed(["run", ...quick, ...endless, "--deadline", "200ms"]);
    expect({ exitCode, signal }).toEqual({ exitCode: 4, signal: null });
  });

  it("is obeyed whatever the environment says", async () => {
    const args = ["run", ...quick, ...endless, "--deadline", "3s", "--json"];
    expectInTime(await timed(args, { ...restingLink, PINBENCH_WATCHED: "1" }), 3);
  });

  it("changes nothing of what is over before it", async () => {
    const finished = await timed(["run", ...quick, "--deadline", "1h", "--json"]);
    expect({ exitCode: finished.exitCode, stderr: finished.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(parseResult(finished.stdout).run.status).toBe("complete");
    const refused = await timed(["run", "--memory", "paged", "--deadline", "1h"]);
    expect(refused.exitCode).toBe(2);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)("ends by %s if that ended the command", async (signal) => {
    // Before the command listens to signals.
    const dies = `process.env.PINBENCH_WATCHED && process.kill(process.pid, "${signal}")`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(dies)}` };
    const finished = await timed(["run", ...quick, "--deadline", "1h"], env);
    expect(finished).toMatchObject({ signal, stdout: "", stderr: "" });
  });

  it("leaves a baseline with the runs that were whole, and a check of them says that it failed", async () => {
    const cwd = temporaryFolder();
    const baseline = await withTimeEnough(async (seconds) => {
      const args = ["baseline", "main", ...oneByOne, "--deadline", `${seconds}s`];
      const finished = await timed(args, restingLink, cwd);
      expectInTime(finished, seconds);
      const runs = await countRuns(join(cwd, "main"));
      return runs > 0 ? { ...finished, runs } : null;
    });
    const { runs } = baseline;
    expect(baseline.stderr).toContain(
      `interrupted after ${runs} of 1000 runs: the baseline has only ${runs === 1 ? "this one" : "these"}. Go on with `,
    );

    const check = await withTimeEnough(async (seconds) => {
      const args = ["check", "--baseline", "main", "--runs", "1000", "--deadline", `${seconds}s`, "--json"];
      const finished = await timed(args, restingLink, cwd);
      expectInTime(finished, seconds);
      return finished.stdout === "" ? null : finished;
    });
    const comparison = comparisonSchema.parse(JSON.parse(check.stdout));
    expect(comparison.outcome).toBe("failed");
    expect(comparison.notes.join()).toMatch(/the check ended after \d+ of 1000 runs, and confirmed nothing/);
  });

  it("keeps the runs that were whole if the next one hangs, and leaves no process", async ({
    onTestFinished,
  }) => {
    const mark = await withTimeEnough(async (seconds) => {
      // A try that was too short may leave the process that it stopped, which no later one is to find.
      const mark = nextMark();
      const cwd = temporaryFolder();
      const args = ["baseline", "main", ...quick, "--runs", "1000", "--deadline", `${seconds}s`];
      const started = startCli(args, { cwd, env: { [markName]: mark } });
      onTestFinished(() => {
        started.child.kill("SIGKILL");
        for (const pid of measuring(mark)) process.kill(Number(pid), "SIGKILL");
      });
      const first = await foundBefore(started, () => measuring(mark)[0] ?? null);
      const second = await foundBefore(started, () => measuring(mark).find((pid) => pid !== first) ?? null);
      const isStopped = second !== null && stop(Number(second));
      const { exitCode } = await started.finished;
      expect(exitCode).toBe(4);
      return isStopped && (await countRuns(join(cwd, "main"))) > 0 ? mark : null;
    }, pastHangS);
    expect(measuring(mark)).toEqual([]);
  });

  it("ends a search with what it has found", async () => {
    const model = ["--sample-bytes", "4KiB", "--sample-cost", "2ms", "--batch-size", "8"];
    const search = ["--budget", "1h", "--exhaustive", "--backend", "emulated", "--json"];
    const tuning = await withTimeEnough(async (seconds) => {
      const finished = await timed(["tune", ...model, ...search, "--deadline", `${seconds}s`]);
      expectInTime(finished, seconds);
      return finished.stdout === "" ? null : tuningSchema.parse(JSON.parse(finished.stdout));
    });
    expect(tuning.run.status).toBe("aborted");
  });
});

/** Whole runs of a baseline, which may not be there. */
async function countRuns(folder: string): Promise<number> {
  return existsSync(folder) ? (await listRunsIfAny(folder)).length : 0;
}

/** Whether it was there to be stopped. */
function stop(pid: number): boolean {
  try {
    return process.kill(pid, "SIGSTOP");
  } catch {
    return false;
  }
}
