import { describe, expect, it } from "vitest";
import type { RunFigures } from "../../src/compare/result-set.js";
import { hostRates } from "../../src/compare/series.js";

type Logs = Readonly<Record<string, number>>;

/** A run with the logarithms of its cells' speeds, by id; "d1/…" is a cell of device 1. */
function runOf(host: Logs, pinned: Logs = {}): RunFigures {
  const cells = (logs: Logs, memory: string) =>
    Object.entries(logs).map(([id, log]) => ({
      cell: { id, memory, device: Number(id[1]) },
      figures: [{ value: Math.exp(log) }],
    }));
  return { cells: [...cells(host, "host"), ...cells(pinned, "pinned")] } as unknown as RunFigures;
}
const ratesOf = (runs: readonly RunFigures[], { logSpeeds }: ReturnType<typeof hostRates>, device = 0) =>
  runs.map((run) => logSpeeds.get(run)!.get(device));
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 10));

describe("the rate at which the CPU copied in a run", () => {
  it("is the weighted mean of its cells, and so is its error", () => {
    // Within the first group a cell varies by squares of 0, the other by 2: with four shared degrees of a variance of 1
    // the weights are 5/4 to 5/6, or 0.6 to 0.4.
    const first = [runOf({ "d0/a": 0, "d0/b": 0 }), runOf({ "d0/a": 0, "d0/b": 2 })];
    const second = [runOf({ "d0/a": 1, "d0/b": 1 })];
    const rates = hostRates([first, second]);
    expect(ratesOf([...first, ...second], rates)).toEqual(close([0, 0.8, 1]));
    // What is left: 0, -0.8, 0 with a variance of 0.64/3, and 0, 1.2, 0 with one of 0.48.
    expect(rates.errorVariance).toBeCloseTo((0.36 * (0.64 / 3)) / 0.4 + (0.16 * 0.48) / 0.6, 10);
  });

  it("weights constant cells equally, and uses only host cells that every run has", () => {
    const runs = [
      runOf({ "d0/a": 1, "d0/b": 2, "d0/c": 7 }, { "d0/p": 9 }),
      runOf({ "d0/a": 1, "d0/b": 2 }, { "d0/p": 9 }),
    ];
    const rates = hostRates([runs]);
    expect(ratesOf(runs, rates)).toEqual(close([1.5, 1.5]));
    expect(rates.errorVariance).toBeCloseTo(0, 12);
  });

  it("is each device's own; the largest error of any device counts, and a single cell has none", () => {
    const runs = [
      runOf({ "d1/a": 3, "d0/a": 0, "d0/b": 1 }),
      runOf({ "d1/a": 4, "d0/a": 1, "d0/b": 0 }),
      runOf({ "d1/a": 5, "d0/a": 0, "d0/b": 1 }),
    ];
    const rates = hostRates([runs]);
    expect(ratesOf(runs, rates, 1)).toEqual(close([3, 4, 5]));
    expect(ratesOf(runs, rates, 0)).toEqual(close([0.5, 0.5, 0.5]));
    // Both cells lie half above or below the mean: variances of 1/3, of weight 1/2.
    expect(rates.errorVariance).toBeCloseTo(2 * ((0.25 * (1 / 3)) / 0.5), 10);
    expect(hostRates([runs.map((run) => ({ ...run, cells: run.cells.slice(0, 1) }))]).errorVariance).toBe(0);
  });

  it("is absent for a run without any of a device's cells, and without runs", () => {
    const runs = [runOf({ "d0/a": 1 }), runOf({})];
    expect(ratesOf(runs, hostRates([runs]))).toEqual([undefined, undefined]);
    expect(hostRates([]).logSpeeds.size).toBe(0);
  });

  it("is weighted by the cells' spread within groups, whatever lies between these", () => {
    const groups = [
      [runOf({ "d0/a": 0, "d0/b": 0 }), runOf({ "d0/a": 1, "d0/b": 0 })],
      [runOf({ "d0/a": 100, "d0/b": 0 }), runOf({ "d0/a": 101, "d0/b": 2 })],
      [runOf({ "d0/a": 9, "d0/b": 0 })],
    ];
    // Squares of 1/2 + 1/2 and of 0 + 2, of two degrees of freedom each: weights of 6/4 to 6/5, or 5 to 4.
    expect(ratesOf(groups.flat(), hostRates(groups))).toEqual(close([0, 5 / 9, 500 / 9, 57, 5]));
  });
});
