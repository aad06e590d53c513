import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { finishAfterMs } from "../../src/cli/deadline.js";
import { listRunsIfAny } from "../../src/results/files/run-folder.js";
import { parseResult } from "../../src/results/parse.js";
import { isRunning, markName, measuring, nextMark } from "../helpers/processes.js";
import {
  emulatedFaults,
  endless,
  restingLink,
  runCli,
  type Started,
  startCli,
  temporaryFolder,
  withTimeEnough,
} from "../helpers/run-cli.js";

const small = ["--backend", "emulated", "--workers", "1", "--memory", "pinned"];
const quick = [...small, "--sizes", "64KiB", "--budget", "100ms"];

/** Shortest deadline that leaves the two seconds after which a hanging driver is given up. */
const pastHangS = 6;

/** For tests that may try several deadlines. */
const timeout = 240_000;

/** What `find` finds before the process ends; null if it ends first. */
async function foundBefore<Found>({ child }: Started, find: () => Found | null): Promise<Found | null> {
  for (;;) {
    // Checked first: what is found after the end may be a remnant of the process.
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const found = hasEnded ? null : find();
    if (hasEnded || found !== null) return found;
    await sleep(50);
  }
}

/** Stops a process; returns whether it existed. */
function stop(pid: number): boolean {
  try {
    return process.kill(pid, "SIGSTOP");
  } catch {
    return false;
  }
}

describe("--deadline", { timeout }, () => {
  it("stops a command 4 s early, or after half of a time below 8 s", () => {
    expect([60_000, 8000, 3000].map(finishAfterMs)).toEqual([56_000, 4000, 1500]);
  });

  it("ends a run whose driver hangs, and prints what was measured, even with PINBENCH_WATCHED set", async () => {
    // Only the first copy from the device completes, with which pinbench estimates their duration.
    const hanging = emulatedFaults("d2h:never:after=1");
    const document = await withTimeEnough(async (seconds) => {
      const args = ["run", ...small, "--sizes", "4MiB", "--deadline", `${seconds}s`, "--json"];
      const env = { ...hanging, PINBENCH_WATCHED: "1" };
      const { exitCode, stdout, stderr } = await runCli(args, { env });
      expect(stderr).toMatch(new RegExp(`^pinbench: the deadline of ${seconds} s was reached: `, "m"));
      expect(exitCode).toBe(4);
      const found = stdout === "" ? null : parseResult(stdout);
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

  it("kills a run that no longer responds", async () => {
    const watched = await withTimeEnough(async (seconds) => {
      const args = ["run", ...quick, ...endless, "--deadline", `${seconds}s`];
      const started = startCli(args, { env: restingLink });
      const children = `/proc/${started.child.pid}/task/${started.child.pid}/children`;
      // If it were stopped before its exec, the watcher would wait for that without end.
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
    }, 2);
    expect(isRunning(watched)).toBe(false);
  });

  it("exits with 4 if it ends a run before there is a result", async () => {
    const { exitCode, signal } = await runCli(["run", ...quick, ...endless, "--deadline", "200ms"]);
    expect({ exitCode, signal }).toEqual({ exitCode: 4, signal: null });
  });

  it("changes nothing if the command ends earlier", async () => {
    const { exitCode, stderr, stdout } = await runCli(["run", ...quick, "--deadline", "1h", "--json"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(parseResult(stdout).run.status).toBe("complete");
  });

  it.each(["SIGTERM", "SIGKILL"] as const)("ends by %s if that signal ended the command", async (signal) => {
    // Before the command listens to signals.
    const dies = `process.env.PINBENCH_WATCHED && process.kill(process.pid, "${signal}")`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(dies)}` };
    const finished = await runCli(["run", ...quick, "--deadline", "1h"], { env });
    expect(finished).toMatchObject({ signal, stdout: "", stderr: "" });
  });

  it("keeps the finished runs of a baseline if the next one hangs, and leaves no process", async ({
    onTestFinished,
  }) => {
    const { mark, stderr, runs } = await withTimeEnough(async (seconds) => {
      // A try that was too short may leave its stopped process, which later tries must not find.
      const mark = nextMark();
      const cwd = temporaryFolder();
      const args = ["baseline", "main", ...quick, "--runs", "1000", "--deadline", `${seconds}s`];
      const started = startCli(args, { cwd, env: { ...restingLink, [markName]: mark } });
      onTestFinished(() => {
        started.child.kill("SIGKILL");
        for (const pid of measuring(mark)) process.kill(Number(pid), "SIGKILL");
      });
      const first = await foundBefore(started, () => measuring(mark)[0] ?? null);
      const second = await foundBefore(started, () => measuring(mark).find((pid) => pid !== first) ?? null);
      const isStopped = second !== null && stop(Number(second));
      const { exitCode, stderr } = await started.finished;
      expect(exitCode).toBe(4);
      const runs = existsSync(join(cwd, "main")) ? (await listRunsIfAny(join(cwd, "main"))).length : 0;
      return isStopped && runs > 0 ? { mark, stderr, runs } : null;
    }, pastHangS);
    expect(stderr).toContain(`interrupted after ${runs} of 1000 runs: main has ${runs} run`);
    expect(measuring(mark)).toEqual([]);
  });
});
