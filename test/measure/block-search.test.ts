import { describe, expect, it } from "vitest";
import { CellProgress } from "../../src/measure/cell-progress.js";
import { searchBlocks } from "../../src/measure/stage.js";
import type { MeasureRequest } from "../../src/native/contract.js";
import type { PlannedCell } from "../../src/plan/geometry.js";
import { findBlockCutoffs } from "../../src/results/cutoffs/block-cutoffs.js";
import { planOf } from "../plan/support.js";
import { deviceFacts, FakeSession, KiB, MiB, measureWith, nativeError, withStoppedClock } from "./support.js";

withStoppedClock();

/** A device that takes up what the search asks for. */
class Device {
  readonly cells: CellProgress[] = [];
  /** Cells by the step in which they were added. */
  readonly steps: PlannedCell[][] = [];

  addCells(cells: readonly PlannedCell[]): CellProgress[] {
    const added = cells.map((cell) => new CellProgress(cell, deviceFacts));
    this.cells.push(...added);
    if (added.length > 0) this.steps.push([...cells]);
    return added;
  }
}

/** GB/s of a way, by the bytes of a block. */
type Rates = (way: string, bytes: number, request: MeasureRequest) => number;

async function search(rates: Rates, { budgetNs = 0, samples = 6, session = sessionOf(rates) } = {}) {
  const { candidates, cells } = planOf({
    blockSizesBytes: "auto",
    ...(samples === 6 ? {} : { samplesPerCell: samples }),
  });
  const device = new Device();
  device.addCells(cells);
  const plan = {
    candidates,
    stopping: { precision: 0.01, budgetNs, samplesPerCell: null },
    settings: { verify: "last" },
  } as const;
  const rounds: number[] = [];
  const { signal } = new AbortController();
  for await (const event of searchBlocks(measureWith(session), [device], { plan, budgetNs, signal })) {
    if (event.kind === "round") rounds.push(event.round);
  }
  const results = device.cells.map(({ cell, outcome, stats }) => ({ ...cell, outcome, stats }));
  return { device, rounds, session, cutoffs: findBlockCutoffs(results) };
}

const sessionOf = (rates: Rates) =>
  new FakeSession((request) => {
    const { blocks, sizeBytes } = request;
    return sizeBytes / (blocks === undefined ? 55 : rates(blocks.way, blocks.bytes, request));
  });

const cliffAt =
  (h2dBytes: number, d2hBytes: number): Rates =>
  (way, bytes, { direction }) =>
    way === "kernel"
      ? 30
      : way !== "batch"
        ? 3
        : bytes < (direction === "h2d" ? h2dBytes : d2hBytes)
          ? 8
          : 54;

describe("a search for block sizes", () => {
  it("finds the size at which the fastest method changes, for each direction and number of blocks", async () => {
    const { cutoffs, device, rounds } = await search(cliffAt(48 * KiB, 300 * KiB));
    expect(cutoffs).toHaveLength(6);
    for (const column of cutoffs) {
      expect(column.cutoffs).toHaveLength(1);
      const { leastBytes, mostBytes } = column.cutoffs[0]!;
      const interval = [leastBytes, mostBytes].map((bytes) => bytes / KiB);
      expect(interval).toEqual(column.direction === "h2d" ? [40, 48] : [256, 320]);
    }
    // After the first cells, three bisections: two methods in two directions, with three numbers of blocks.
    expect(device.steps.slice(1).map(({ length }) => length)).toEqual([12, 12, 12]);
    const ways = device.steps.slice(1).flatMap((cells) => cells.map(({ blockWay }) => blockWay));
    expect(new Set(ways)).toEqual(new Set(["batch", "kernel"]));
    // Six rounds a step, which go on from those before.
    expect(rounds).toEqual(Array.from({ length: 4 * 6 }, (_, round) => round));
  });

  it("measures the methods of a step in turns", async () => {
    const { session } = await search(cliffAt(48 * KiB, 48 * KiB));
    const last = session.visits.slice(-24).map(({ blocks, direction }) => `${direction} ${blocks!.way}`);
    expect(last.slice(0, 12)).toEqual(last.slice(12));
    expect(new Set(last).size).toBe(4);
  });

  it("spends the rest of its budget on sizes at which no method is certainly the best", async () => {
    // Every other sample of a kernel takes a fifth longer.
    const samples = new Map<string, number>();
    const rates: Rates = (way, bytes, { direction, sizeBytes }) => {
      if (way !== "kernel") return way === "loop" ? 5 : 50;
      const key = `${direction}/${bytes}/${sizeBytes}`;
      samples.set(key, (samples.get(key) ?? 0) + 1);
      return samples.get(key)! % 2 === 0 ? 44 : 56;
    };
    const { device, cutoffs } = await search(rates, { budgetNs: 20e9 });
    expect(cutoffs.flatMap((column) => column.cutoffs)).toEqual([]);
    const takenOf = (way: string) => {
      const own = device.cells.filter(({ cell }) => cell.blockWay === way);
      return own.reduce((sum, { taken }) => sum + taken, 0) / own.length;
    };
    expect(takenOf("kernel")).toBeGreaterThan(2 * takenOf("loop"));
  });

  it("begins no further step after a minute", async () => {
    const slow: Rates = (way, bytes, request) => cliffAt(48 * KiB, 48 * KiB)(way, bytes, request) / 1000;
    const { device, cutoffs } = await search(slow);
    expect(device.steps).toHaveLength(1);
    for (const column of cutoffs) {
      expect(column.cutoffs).toMatchObject([{ leastBytes: 16 * KiB, mostBytes: 64 * KiB }]);
    }
  });

  it("ends when the device's context is lost", async () => {
    const session = sessionOf(cliffAt(48 * KiB, 48 * KiB));
    session.beforeMeasure = ({ blocks }) => {
      if (blocks?.bytes === MiB) throw nativeError("CUDA_ERROR_ILLEGAL_ADDRESS", true);
      return {};
    };
    const { device } = await search(cliffAt(48 * KiB, 48 * KiB), { session });
    expect(device.steps).toHaveLength(1);
    expect(device.cells.every(({ outcome }) => outcome === "failed" || outcome === "skipped")).toBe(true);
  });
});
