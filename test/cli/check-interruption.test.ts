import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listRuns } from "../../src/results/run-folder.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { baselineAt, certainly, filesIn } from "../helpers/baseline-folder.js";
import { type Started, startCli, temporaryFolder } from "../helpers/run-cli.js";

/** Measuring it again never converges, and would take an hour. */
const endless = (document: ResultDocument): ResultDocument => ({
  ...document,
  plan: { ...document.plan!, samplesPerCell: null, budgetNs: 3600e9, precision: 1e-7 },
});

/** Its processes end with it, and it ends with its test, whatever that finds. */
function startEndless(...args: Parameters<typeof startCli>): Started {
  const started = startCli(...args);
  onTestFinished(() => void started.child.kill("SIGKILL"));
  return started;
}

/** A seed that no other process has, to find those by that an interrupted one may leave behind. */
let nextSeed = 1_000_000 + (process.pid % 100_000) * 1000;

/** The ids of the processes of this seed that measure, known by their arguments; one that has ended has none. */
function measuring(seed: number): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        return args.includes("run") && args.includes(`${seed}`);
      } catch {
        return false;
      }
    });
}

const untilMeasuring = (seed: number) =>
  vi.waitFor(() => expect(measuring(seed)).toHaveLength(1), { timeout: 20_000, interval: 20 });

/** Interrupts it as soon as it has a process that measures, and expects none to be left soon after. */
async function interrupt({ child, finished }: Started, seed: number, signal: NodeJS.Signals) {
  await untilMeasuring(seed);
  const signalledMs = performance.now();
  child.kill(signal);
  const result = await finished;
  expect(performance.now() - signalledMs).toBeLessThan(8000);
  await vi.waitFor(() => expect(measuring(seed)).toEqual([]), { timeout: 5000 });
  return result;
}

describe("an interrupted check", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "%s ends it and its process soon, and leaves the baseline: exit code %i",
    async (signal, code) => {
      const baseline = await baselineAt(certainly.slower, endless);
      const before = filesIn(baseline);
      const cwd = temporaryFolder();
      const seed = nextSeed++;
      const writing = ["--update", "--accept", "--keep", "kept", "--output", "a.json"];
      const args = ["check", "--baseline", baseline, "--seed", `${seed}`, ...writing];
      const { exitCode, stdout, stderr } = await interrupt(startEndless(args, { cwd }), seed, signal);
      expect({ exitCode, stdout, stderr }).toEqual({
        exitCode: code,
        stdout: "",
        stderr: "pinbench: interrupted: nothing was compared, and the baseline is as it was.\n",
      });
      expect(filesIn(baseline)).toEqual(before);
      expect(readdirSync(cwd)).toEqual([]);
    },
  );

  it("leaves with --keep the runs that were whole", async () => {
    const baseline = await baselineAt(certainly.slower, (document) => ({
      ...document,
      plan: { ...document.plan!, samplesPerCell: null, budgetNs: 200e6, precision: 1e-7 },
    }));
    const cwd = temporaryFolder();
    const seed = nextSeed++;
    const args = ["check", "--baseline", baseline, "--seed", `${seed}`, "--runs", "1000", "--keep", "kept"];
    const started = startEndless(args, { cwd });
    await untilMeasuring(seed);
    const [first] = measuring(seed);
    await vi.waitFor(() => expect(measuring(seed).filter((id) => id !== first)).toHaveLength(1), {
      timeout: 20_000,
      interval: 20,
    });
    expect((await interrupt(started, seed, "SIGINT")).exitCode).toBe(130);
    expect(await listRuns(join(cwd, "kept"))).not.toEqual([]);
  });

  it("that is killed leaves no process either, and the baseline", async () => {
    const baseline = await baselineAt(certainly.slower, endless);
    const before = filesIn(baseline);
    const seed = nextSeed++;
    const args = ["check", "--baseline", baseline, "--seed", `${seed}`, "--update", "--accept"];
    expect((await interrupt(startEndless(args), seed, "SIGKILL")).signal).toBe("SIGKILL");
    expect(filesIn(baseline)).toEqual(before);
  });

  it("by Ctrl-C, which reaches all of its processes, is the same", async () => {
    const baseline = await baselineAt(certainly.slower, endless);
    const seed = nextSeed++;
    const args = ["check", "--baseline", baseline, "--seed", `${seed}`];
    const { child, finished } = startEndless(args, { detached: true });
    await untilMeasuring(seed);
    process.kill(-child.pid!, "SIGINT");
    expect((await finished).exitCode).toBe(130);
    await vi.waitFor(() => expect(measuring(seed)).toEqual([]), { timeout: 5000 });
  });
});

it("an interrupted pinbench baseline writes none", async () => {
  const cwd = temporaryFolder();
  const seed = nextSeed++;
  const sweep = ["--backend", "emulated", "--llc", "1MiB", "--sizes", "64KiB", "--workers", "1"];
  const endlessly = ["--budget", "1h", "--precision", "0.0001%", "--seed", `${seed}`];
  const started = startEndless(["baseline", "sub/main", ...sweep, ...endlessly], { cwd });
  const { exitCode, stdout, stderr } = await interrupt(started, seed, "SIGINT");
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 130,
    stdout: "",
    stderr: "pinbench: interrupted after 0 of 10 runs: no baseline was written.\n",
  });
  expect(readdirSync(cwd)).toEqual([]);
});
