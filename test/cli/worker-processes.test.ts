import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { markName, measuring, nextMark, untilInSlowCopy } from "../helpers/processes.js";
import {
  endless,
  restingLink,
  runSmall,
  type Started,
  small,
  startCli,
  temporaryFolder,
} from "../helpers/run-cli.js";
import { schemaErrors } from "../helpers/schema-errors.js";

const bothKinds = ["--worker-kind", "thread,process", "--memory", "pageable,pinned"];

const ofProcesses = ({ cells }: ResultDocument) => cells.filter(({ workerKind }) => workerKind === "process");

describe("a run with worker processes", () => {
  it("measures and verifies each cell with threads and with processes, in rows of their own", async () => {
    const cwd = temporaryFolder();
    const args = [...bothKinds, "--workers", "1,2,4", "--output", "result.json", "--all"];
    const { exitCode, stdout } = await runSmall(args, { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /\n +64 KiB +1 +[\d.]+.*\n +1 as processes +[\d.]+.*\n +2 +[\d.]+.*\n +2 as processes +[\d.]+/,
    );
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
      /=> .*pageable.*(?:threads.*processes|processes.*threads)/,
    );
    const document = parseResult(readFileSync(join(cwd, "result.json"), "utf8"));
    expect(schemaErrors(document)).toBeNull();
    const copies = document.cells.filter(({ memory }) => memory !== "host");
    expect(copies).toHaveLength(2 * 2 * 2 * 3);
    for (const { id, workerKind, stats, verification, outcome, samples } of copies) {
      expect(id.endsWith("/process"), id).toBe(workerKind === "process");
      expect(outcome, id).not.toBe("failed");
      expect(stats[0]?.samples, id).toBe(6);
      expect(verification?.mismatches, id).toEqual([]);
      expect(verification?.checkedBytes, id).toBeGreaterThan(0);
      expect(samples[0]?.startNs.every((ns) => ns > 0)).toBe(true);
    }
    expect(document.workerProcesses).toMatchObject([{ device: 0, processes: 4, contextDeviceBytes: 0 }]);
    // Both kinds of one size and number of workers stand side by side in the order of measuring.
    expect(
      copies.slice(0, 4).map(({ memory, workers, workerKind }) => [memory, workers, workerKind]),
    ).toEqual([
      ["pageable", 1, "thread"],
      ["pageable", 1, "process"],
      ["pinned", 1, "thread"],
      ["pinned", 1, "process"],
    ]);
  });
});

async function expectNothingLeft(mark: string): Promise<void> {
  await vi.waitFor(() => expect(measuring(mark, "worker")).toEqual([]), { timeout: 15_000, interval: 50 });
}

/** Requires that shared memory ends with its last process, and has no file that could stay behind. */
function expectAnonymousMemory(pid: number): void {
  const shared = readFileSync(`/proc/${pid}/maps`, "utf8")
    .split("\n")
    .filter((line) => / [r-][w-][x-]s /.test(line));
  expect(shared.length).toBeGreaterThan(0);
  for (const line of shared) expect(line).toMatch(/ \/memfd:[^ ]* \(deleted\)$/);
}

interface MarkedRun extends Started {
  mark: string;
  file: string;
  /** The ids of its worker processes, once there are this many. */
  workers: (count: number) => Promise<number[]>;
}

/** A run of up to two worker processes, in processes that have a mark by which they are found. */
function startMarked(args: readonly string[], env: Record<string, string> = {}): MarkedRun {
  const cwd = temporaryFolder();
  const mark = nextMark();
  const file = join(cwd, "result.json");
  const cells = ["--worker-kind", "thread,process", "--memory", "pinned", "--workers", "1,2"];
  const started = startCli(small(...cells, "--output", file, "--json", ...args), {
    cwd,
    env: { ...restingLink, ...env, [markName]: mark },
  });
  const workers = async (count: number) => {
    for (;;) {
      const pids = measuring(mark, "worker").map(Number);
      if (pids.length >= count) return pids;
      if (started.child.exitCode !== null) throw new Error("it ended before its workers were seen");
      await sleep(20);
    }
  };
  return { ...started, mark, file, workers };
}

async function untilMeasured({ file, child }: MarkedRun): Promise<void> {
  while (!existsSync(`${file}.partial`)) {
    if (child.exitCode !== null) throw new Error("it ended before it was interrupted");
    await sleep(20);
  }
}

describe("a worker process that is killed", () => {
  /** Requires that the run completes, and that the cells which needed the killed process name it. */
  async function expectOthersMeasured({ finished, mark }: MarkedRun, killed: number): Promise<void> {
    const { exitCode, stdout, stderr } = await finished;
    const document = parseResult(stdout);
    expect(schemaErrors(document)).toBeNull();
    expect(document.run.status).toBe("complete");
    const failed = document.cells.filter(({ outcome }) => outcome === "failed");
    for (const { workerKind, error } of failed) {
      expect(workerKind).toBe("process");
      expect(error?.message).toMatch(
        new RegExp(`^worker process \\d of 2 \\(pid ${killed}\\) was killed by SIGKILL, `),
      );
    }
    // A cell that was under way may have needed fewer processes.
    const ofTwo = ofProcesses(document).filter(({ workers }) => workers === 2);
    expect(ofTwo.map(({ outcome }) => outcome)).toEqual(ofTwo.map(() => "failed"));
    expect(failed.length - ofTwo.length).toBeLessThanOrEqual(1);
    expect(exitCode).toBe(4);
    expect(stderr).toContain(`(pid ${killed}) was killed by SIGKILL`);
    await expectNothingLeft(mark);
  }

  it("at its start fails the cells that need it", async () => {
    const run = startMarked([]);
    const [first] = await run.workers(1);
    process.kill(first!, "SIGKILL");
    await expectOthersMeasured(run, first!);
  });
});

describe("all worker processes of a run end", () => {
  // interruption.test.ts has the other signals.
  it("after SIGTERM to the run alone, which prints what was measured", async () => {
    const run = startMarked(endless);
    await untilMeasured(run);
    process.kill(run.child.pid!, "SIGTERM");
    const { exitCode, stdout, stderr } = await run.finished;
    expect({ exitCode, stderr: stderr.replace(/^pinbench: .*take turns.*\n/, "") }).toEqual({
      exitCode: 143,
      stderr: "",
    });
    const document = parseResult(stdout);
    expect(schemaErrors(document)).toBeNull();
    expect(document.run).toMatchObject({ status: "aborted", error: null });
    expect(document.cells.map(({ outcome }) => outcome)).toEqual(document.cells.map(() => null));
    await expectNothingLeft(run.mark);
  });

  it("after SIGINT or SIGHUP to all of its processes, as a terminal sends it", async () => {
    await Promise.all([expectEndOfAll("SIGINT", 130), expectEndOfAll("SIGHUP", 129)]);
  });

  async function expectEndOfAll(signal: NodeJS.Signals, code: number): Promise<void> {
    const run = startMarked(endless);
    const pids = await run.workers(2);
    await untilMeasured(run);
    for (const pid of pids) expectAnonymousMemory(pid);
    for (const pid of [...pids, run.child.pid!]) process.kill(pid, signal);
    const { exitCode, stdout } = await run.finished;
    expect(exitCode).toBe(code);
    expect(parseResult(stdout).cells.every(({ outcome }) => outcome === null)).toBe(true);
    await expectNothingLeft(run.mark);
  }

  it("after SIGKILL to the run while they start, measure or are stopped", async () => {
    await Promise.all([
      expectKilled(async (run) => void (await run.workers(1))),
      expectKilled(untilMeasured),
      expectKilled(async (run) => {
        const pids = await run.workers(2);
        await untilMeasured(run);
        for (const pid of [...pids, run.child.pid!]) process.kill(pid, "SIGSTOP");
      }),
    ]);
  });

  async function expectKilled(untilThen: (run: MarkedRun) => Promise<void>): Promise<void> {
    const run = startMarked(endless);
    await untilThen(run);
    run.child.kill("SIGKILL");
    expect((await run.finished).signal).toBe("SIGKILL");
    await expectNothingLeft(run.mark);
  }

  it("after SIGKILL to the run while the driver does not return", async () => {
    const run = startMarked(["--worker-kind", "process", "--cache", "warm"], {
      PINBENCH_EMULATED_LINK: "1e4",
    });
    const [first] = await run.workers(2);
    await untilInSlowCopy(first!);
    run.child.kill("SIGKILL");
    await run.finished;
    await expectNothingLeft(run.mark);
  });
});
