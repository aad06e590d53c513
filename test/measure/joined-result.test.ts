import { describe, expect, it } from "vitest";
import { joinResults, type WorkerResult } from "../../src/measure/worker-pool.js";
import type { MeasureResult } from "../../src/native/contract.js";
import { buildLink } from "../helpers/result-document.js";
import { emptyResult } from "./support.js";

/** A column of samples: start and duration of each, in the process' own time. */
type Samples = readonly (readonly [startNs: number, durationNs: number])[];

function resultOf(columns: readonly Samples[], part: Partial<MeasureResult> = {}): MeasureResult {
  const directions = ["h2d", "d2h"] as const;
  return {
    ...emptyResult,
    columns: columns.map((samples, i) => ({
      direction: directions[i]!,
      startNs: Float64Array.from(samples, ([startNs]) => startNs),
      durationNs: Float64Array.from(samples, ([, durationNs]) => durationNs),
    })),
    ...part,
  };
}

const worker = (openedAtNs: number, ...columns: Samples[]): WorkerResult => ({
  openedAtNs,
  result: resultOf(columns),
});
const join = (mode: "throughput" | "latency", ...workers: WorkerResult[]) =>
  joinResults({ mode }, workers, 1000);

describe("samples of several processes", () => {
  it("last from the first start to the last end, on the clock of the parent process", () => {
    // On the shared clock: 3000 to 3100 and 3050 to 3200, then 4000 to 4100 and 3990 to 4010.
    const [column] = join(
      "throughput",
      worker(2000, [
        [1000, 100],
        [2000, 100],
      ]),
      worker(2500, [
        [550, 150],
        [1490, 20],
      ]),
    ).columns;
    expect(column!.direction).toBe("h2d");
    expect([...column!.startNs]).toEqual([2000, 2990]);
    expect([...column!.durationNs]).toEqual([200, 110]);
  });

  it("are joined for each direction by itself", () => {
    const { columns } = join(
      "throughput",
      worker(1000, [[10, 100]], [[20, 300]]),
      worker(1000, [[30, 100]], [[10, 200]]),
    );
    expect(columns.map(({ direction }) => direction)).toEqual(["h2d", "d2h"]);
    expect(columns.map(({ startNs }) => startNs[0])).toEqual([10, 10]);
    expect(columns.map(({ durationNs }) => durationNs[0])).toEqual([120, 310]);
  });

  it("are kept apart in latency mode, one of each worker in turn", () => {
    const [column] = join(
      "latency",
      worker(1000, [
        [1, 10],
        [2, 20],
      ]),
      worker(1500, [
        [1, 11],
        [2, 21],
      ]),
    ).columns;
    expect([...column!.durationNs]).toEqual([10, 11, 20, 21]);
    expect([...column!.startNs]).toEqual([1, 501, 2, 502]);
  });

  it("are dropped if one of the processes was aborted", () => {
    const aborted = { openedAtNs: 0, result: resultOf([], { aborted: true }) };
    expect(join("throughput", worker(0, [[1, 1]]), aborted)).toMatchObject({ aborted: true, columns: [] });
  });
});

describe("the joined result of several processes", () => {
  const mismatch = { direction: "h2d", worker: 0, offsetBytes: 8, mismatchedBytes: 1 } as const;

  it("names the worker whose data came back wrong, numbered by direction like threads", () => {
    const wrong = [mismatch, { ...mismatch, direction: "d2h", worker: 1 } as const];
    const workers = [[], wrong, []].map((mismatches) => ({
      openedAtNs: 0,
      result: resultOf([[[1, 1]], [[1, 1]]], {
        verification: { checkedBytes: 64, mismatches, copies: 6, provenCopies: 4 },
      }),
    }));
    const { verification } = join("throughput", ...workers);
    expect(verification).toMatchObject({ checkedBytes: 3 * 64, copies: 3 * 6, provenCopies: 3 * 4 });
    expect(verification.mismatches).toEqual([
      { ...mismatch, worker: 1 },
      { ...mismatch, direction: "d2h", worker: 4 },
    ]);
  });

  it("describes at most eight wrong buffers, like that of one process", () => {
    const result = resultOf([[[1, 1]]], {
      verification: { checkedBytes: 1, mismatches: Array(8).fill(mismatch), copies: 8, provenCopies: 8 },
    });
    const workers = [0, 1].map(() => ({ openedAtNs: 0, result }));
    expect(join("throughput", ...workers).verification.mismatches).toHaveLength(8);
  });

  it("has the state of the link that one process read", () => {
    const link = buildLink();
    const workers = [{ link }, { link: null }].map((part) => ({
      openedAtNs: 0,
      result: resultOf([[[1, 1]]], part),
    }));
    expect(join("throughput", ...workers)).toMatchObject({ link });
  });
});
