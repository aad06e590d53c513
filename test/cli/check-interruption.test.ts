import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { listRuns } from "../../src/results/files/run-folder.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { baselineAt, certainly, filesIn } from "../helpers/baseline-folder.js";
import { markName, measuring, nextMark } from "../helpers/processes.js";
import { endless, restingLink, type Started, startCli, temporaryFolder } from "../helpers/run-cli.js";

/** Measuring it again never converges, and would take an hour. */
const lastingAnHour = (document: ResultDocument) => lasting(document, 3600e9);

/** The same for as long as the budget. */
function lasting(document: ResultDocument, budgetNs: number): ResultDocument {
  const { plan } = document;
  const settings = { ...plan!.settings!, samplesPerCell: null, budgetNs, precision: 1e-7 };
  return { ...document, plan: { ...plan!, settings } };
}

/** Its processes bear the mark and end with it. */
const startEndless = (args: readonly string[], mark: string, options: Parameters<typeof startCli>[1] = {}) =>
  startCli(args, { ...options, env: { ...restingLink, [markName]: mark } });

const untilMeasuring = (mark: string) =>
  vi.waitFor(() => expect(measuring(mark)).toHaveLength(1), { timeout: 50_000, interval: 20 });

/** Interrupts it as soon as it has a process that measures, and expects none to be left soon after. */
async function interrupt({ child, finished }: Started, mark: string, signal: NodeJS.Signals) {
  await untilMeasuring(mark);
  child.kill(signal);
  const result = await finished;
  await vi.waitFor(() => expect(measuring(mark)).toEqual([]), { timeout: 50_000 });
  return result;
}

describe("an interrupted check", () => {
  it("by SIGINT, SIGTERM or SIGHUP ends soon with its process, and leaves the baseline", async () => {
    const expectEnd = async (signal: NodeJS.Signals, code: number) => {
      const baseline = await baselineAt(certainly.slower, lastingAnHour);
      const before = filesIn(baseline);
      const cwd = temporaryFolder();
      const mark = nextMark();
      const files = ["--keep", "kept", "--history", "history", "--output", "a.json"];
      const writing = ["--update", "--accept", ...files];
      const args = ["check", "--baseline", baseline, ...writing];
      const { exitCode, stdout, stderr } = await interrupt(startEndless(args, mark, { cwd }), mark, signal);
      expect({ exitCode, stdout, stderr }).toEqual({
        exitCode: code,
        stdout: "",
        stderr: "pinbench: interrupted: nothing was compared, and the baseline is unchanged.\n",
      });
      expect(filesIn(baseline)).toEqual(before);
      expect(readdirSync(cwd)).toEqual([]);
    };
    await Promise.all([expectEnd("SIGINT", 130), expectEnd("SIGTERM", 143), expectEnd("SIGHUP", 129)]);
  });

  it("leaves with --keep the runs that were whole", async () => {
    const baseline = await baselineAt(certainly.slower, (document) => lasting(document, 200e6));
    const cwd = temporaryFolder();
    const mark = nextMark();
    const args = ["check", "--baseline", baseline, "--runs", "1000", "--keep", "kept"];
    const started = startEndless(args, mark, { cwd });
    await untilMeasuring(mark);
    const [first] = measuring(mark);
    await vi.waitFor(() => expect(measuring(mark).filter((id) => id !== first)).toHaveLength(1), {
      timeout: 50_000,
      interval: 20,
    });
    expect((await interrupt(started, mark, "SIGINT")).exitCode).toBe(130);
    expect(await listRuns(join(cwd, "kept"))).not.toEqual([]);
  });

  it("that is killed leaves no process either, and the baseline", async () => {
    const baseline = await baselineAt(certainly.slower, lastingAnHour);
    const before = filesIn(baseline);
    const mark = nextMark();
    const args = ["check", "--baseline", baseline, "--update", "--accept"];
    expect((await interrupt(startEndless(args, mark), mark, "SIGKILL")).signal).toBe("SIGKILL");
    expect(filesIn(baseline)).toEqual(before);
  });

  it("by Ctrl-C, which reaches all of its processes, is the same", async () => {
    const baseline = await baselineAt(certainly.slower, lastingAnHour);
    const mark = nextMark();
    const args = ["check", "--baseline", baseline];
    const { child, finished } = startEndless(args, mark, { detached: true });
    await untilMeasuring(mark);
    process.kill(-child.pid!, "SIGINT");
    expect((await finished).exitCode).toBe(130);
    await vi.waitFor(() => expect(measuring(mark)).toEqual([]), { timeout: 50_000 });
  });
});

it("an interrupted pinbench baseline writes none", async () => {
  const cwd = temporaryFolder();
  const mark = nextMark();
  const sweep = ["--backend", "emulated", "--llc", "1MiB", "--sizes", "64KiB", "--workers", "1"];
  const started = startEndless(["baseline", "sub/main", ...sweep, ...endless], mark, { cwd });
  const { exitCode, stdout, stderr } = await interrupt(started, mark, "SIGINT");
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 130,
    stdout: "",
    stderr: "pinbench: interrupted after 0 of 10 runs: no baseline was written.\n",
  });
  expect(readdirSync(cwd)).toEqual([]);
});
