import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CellProgress } from "../../src/measure/cell-progress.js";
import { type Measure, measureInRounds, type Visit } from "../../src/measure/rounds.js";
import { FakeSession, KiB, measureWith, nativeError, progressOf, stopTheClock } from "./support.js";

beforeEach(stopTheClock);
afterEach(() => {
  vi.useRealTimers();
});

/** Measures cells with the least number of samples, or this many. */
async function measureCells(
  cells: readonly CellProgress[],
  measure: Measure,
  samplesPerCell: number | null = 6,
): Promise<void> {
  const plan = {
    stopping: { precision: 0.01, samplesPerCell, budgetNs: 0 },
    settings: { verify: true },
  } as const;
  for await (const _ of measureInRounds(measure, cells, {
    ...{ plan, budgetNs: 0, signal: new AbortController().signal },
  }));
}

it("cells are visited load by load, so that each begins once a round, and plain ones before them", async () => {
  const cells = (["host", "compute", undefined, "host", "compute", undefined] as const).map((beside, i) =>
    progressOf({ sizeBytes: (6 - i) * KiB, ...(beside && { beside }) }),
  );
  const order: string[] = [];
  const session = new FakeSession();
  await measureCells(cells, (visits) => {
    const [{ progress, isCalibration }] = visits as [Visit];
    if (!isCalibration) order.push(progress.cell.beside ?? "none");
    return measureWith(session)(visits);
  });
  const round = ["none", "none", "compute", "compute", "host", "host"];
  expect(order).toEqual(Array(6).fill(round).flat());
});

describe("cells of several devices that are measured at the same time", () => {
  const together = [0, 1];
  const pair = () => together.map((device) => progressOf({ device, together }));

  it("are visited at once, as often, and end together", async () => {
    const alone = together.map((device) => progressOf({ device }));
    const cells = [...alone, ...pair()];
    const sizes: number[] = [];
    const session = new FakeSession();
    const measureAll = measureWith(session);
    await measureCells(cells, (visits) => {
      sizes.push(visits.length);
      return measureAll(visits);
    });
    // Each is calibrated by itself; then six rounds of one sample.
    expect(sizes).toEqual([1, 1, 1, 1, 1, 1, 2, ...Array(5).fill([1, 1, 2]).flat()]);
    expect(cells.map(({ taken }) => taken)).toEqual([6, 6, 6, 6]);
    // What a budget is reckoned with is the time of the whole visit, in which this session measures one after the other.
    const visitsNs = cells.map(({ visitNsPerSample }) => visitNsPerSample);
    for (const i of [2, 3]) expect(visitsNs[i]).toBeCloseTo(visitsNs[0]! + visitsNs[1]!, 0);
  });

  it("go on until the least steady of them has converged", async () => {
    const cells = pair();
    const session = new FakeSession();
    const measureAll = measureWith(session);
    let visit = 0;
    const unsteady: Measure = async (visits) => {
      const results = await measureAll(visits);
      const isEven = visit++ % 2 === 0;
      for (const [i, result] of results.entries()) {
        if (i === 1 && result.status === "fulfilled" && isEven) {
          for (const column of result.value.columns) column.durationNs[0]! *= 2;
        }
      }
      return results;
    };
    await measureCells(cells, unsteady, null);
    expect(cells[0]!.halfWidth).toBe(0);
    expect(cells.map(({ outcome }) => outcome)).toEqual([null, null]);
  });

  it("end with the one that fails, and the others say why", async () => {
    const cells = pair();
    const session = new FakeSession();
    const measureAll = measureWith(session);
    await measureCells(cells, async (visits) => {
      if (visits.length === 1) return measureAll(visits);
      const [first] = await measureAll(visits.slice(0, 1));
      return [first!, { status: "rejected", reason: nativeError("CUDA_ERROR_LAUNCH_FAILED") }];
    });
    expect(cells[1]).toMatchObject({ outcome: "failed", error: { code: "CUDA_ERROR_LAUNCH_FAILED" } });
    expect(cells[0]).toMatchObject({ outcome: "skipped" });
    expect(cells[0]!.skipReason).toContain("device 1, which is measured at the same time");
  });

  it("are not measured if one had failed before, such as for want of memory", async () => {
    const [failed, other] = pair() as [CellProgress, CellProgress];
    failed.fail(nativeError("CUDA_ERROR_OUT_OF_MEMORY"));
    const session = new FakeSession();
    await measureCells([failed, other], measureWith(session));
    expect(session.requests).toEqual([]);
    expect(other.outcome).toBe("skipped");
    expect(other.skipReason).toMatch(/^device 0, .* ended with CUDA_ERROR_OUT_OF_MEMORY in d0\//);
  });

  it("go on each in its own memory where it left off, by its own number of copies", async () => {
    const cells = pair();
    // 50 and 25 copies a sample, in 8 buffers.
    const sessions = [new FakeSession(() => 100_000), new FakeSession(() => 200_000)];
    await measureCells(cells, (visits) =>
      Promise.allSettled(
        visits.map(({ progress, request }) => sessions[progress.cell.device]!.measure(request)),
      ),
    );
    const buffers = sessions.map(({ visits }) => visits.map(({ firstBuffer }) => firstBuffer));
    expect(buffers).toEqual([
      [0, 2, 4, 6, 0, 2],
      [0, 1, 2, 3, 4, 5],
    ]);
  });
});
