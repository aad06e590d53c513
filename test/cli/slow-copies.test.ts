import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CellResult } from "../../src/results/cell-schema.js";
import { overTimeGBps } from "../../src/results/over-time.js";
import { baselineOf, checkJson } from "../helpers/baseline-folder.js";
import { callCli, callSmall } from "../helpers/in-process.js";
import { emulatedFaults, temporaryFolder } from "../helpers/run-cli.js";

/*
 * A link on which every fifth copy takes twelve times as long. It is so slow that a sample is one copy, and the slow ones
 * take most of the time however busy the machine is. Of larger copies fewer find out how long one takes.
 */
const cells = ["--memory", "pinned", "--sizes", "256KiB"];
const everyFifth = {
  PINBENCH_EMULATED_LINK: "24e6",
  ...emulatedFaults({ link: "all", slowdown: 12, every: 5 }),
};

let measured: ReturnType<typeof callSmall> | undefined;
/** A run on it, for all that look at its document. */
const runOnIt = () => {
  measured ??= callSmall(cells, everyFifth);
  return measured;
};

it("run says how much of the time slow copies take, and keeps what a program gets", async () => {
  const { exitCode, document, stdout } = await runOnIt();
  for (const cell of document.cells) {
    const { bandwidthGBps, overTimeGBps: kept } = cell.stats[0]!;
    expect(kept).toBeCloseTo(overTimeGBps(cell, cell.direction as "h2d")!, 9);
    expect(kept).toBeLessThan(0.7 * bandwidthGBps.median);
    expect(bandwidthGBps.p10).toBeLessThanOrEqual(bandwidthGBps.median);
    expect(bandwidthGBps.p90).toBeGreaterThanOrEqual(bandwidthGBps.median);
  }
  expect(exitCode).toBe(0);
  const path = join(temporaryFolder(), "run.json");
  writeFileSync(path, stdout);
  expect((await callCli(["show", path])).stdout).toMatch(
    /^=> Slow copies take \d\d % of the time in (H2D|D2H) pinned 256 KiB x1: the average is/m,
  );
});

/** As if its samples had all been alike. */
function even(cell: CellResult): CellResult {
  const [stats] = cell.stats as [CellResult["stats"][number]];
  const samples = cell.samples.map((one) => ({
    ...one,
    durationNs: one.durationNs.map(() => one.bytesPerSample / stats.bandwidthGBps.median),
  }));
  return { ...cell, samples, stats: [{ ...stats, overTimeGBps: stats.bandwidthGBps.median }] };
}

it("check measures such cells again, and fails them as uneven", async () => {
  // The link decides on the medians of both.
  const { document } = await runOnIt();
  const baseline = await baselineOf({ ...document, cells: document.cells.map(even) });
  const { exitCode, comparison } = await checkJson(baseline, [], everyFifth);
  expect({ exitCode, outcome: comparison.outcome }).toEqual({ exitCode: 1, outcome: "regression" });
  expect(comparison.confirmation!.suspects).toEqual(comparison.cells.map(({ id }) => id));
  for (const cell of comparison.cells) {
    expect(cell.verdict).toBe("uneven");
    expect(cell.reason).toMatch(/^slow copies took \d\d % of the time, 0 % before$/);
    expect(cell.lostShare!.candidate).toBeGreaterThan(0.3);
  }
});
