import { describe, expect, it } from "vitest";
import { summarize } from "../../src/measure/cell-progress.js";
import type { CellSamples } from "../../src/results/cell-schema.js";
import { overTimeGBps } from "../../src/results/over-time.js";

const samples = (
  direction: CellSamples["direction"],
  durationNs: number[],
  process?: number,
): CellSamples => ({
  direction,
  bytesPerSample: 1000,
  startNs: durationNs.map(() => 0),
  durationNs,
  round: durationNs.map(() => 0),
  ...(process !== undefined && { process }),
});

describe("the average rate over time", () => {
  it("is all bytes over the sum of the samples' durations, unlike the median", () => {
    const h2d = samples("h2d", [100, 100, 100, 100, 600]);
    const [stats] = summarize({ direction: "h2d", mode: "throughput" }, [h2d], null);
    expect(stats).toMatchObject({ overTimeGBps: 5, bandwidthGBps: { median: 10, p90: 10 } });
    expect(stats!.bandwidthGBps.p10).toBeCloseTo(1000 / 600 + 0.4 * (10 - 1000 / 600), 9);
  });

  it("counts each byte of a copy within the device twice, as the median rate does", () => {
    const cell = { direction: "d2d", samples: [samples("d2d", [100, 300])] } as const;
    expect(overTimeGBps(cell, "d2d")).toBe(10);
  });

  it("of both directions is the sum of their average rates", () => {
    const cell = {
      direction: "bidir",
      samples: [samples("h2d", [100, 300]), samples("d2h", [100])],
    } as const;
    expect(overTimeGBps(cell, "sum")).toBe(15);
    expect(overTimeGBps({ ...cell, samples: cell.samples.slice(0, 1) }, "sum")).toBeNull();
  });

  it("of both directions in one of several processes is the sum of that process' rates", () => {
    const [first, second] = [0, 1].map((process) => [
      samples("h2d", [100 * (1 + process)], process),
      samples("d2h", [200 * (1 + process)], process),
    ]);
    const cell = { direction: "bidir", samples: [...first!, ...second!] } as const;
    expect([0, 1].map((process) => overTimeGBps(cell, "sum", process))).toEqual([15, 7.5]);
  });

  it("of several processes is computed over all processes, or over a single one", () => {
    const cell = { direction: "h2d", samples: [samples("h2d", [100], 0), samples("h2d", [300], 1)] } as const;
    expect([overTimeGBps(cell, "h2d"), overTimeGBps(cell, "h2d", 0)]).toEqual([5, 10]);
    expect(overTimeGBps(cell, "h2d", 2)).toBeNull();
  });
});
