import { describe, expect, it } from "vitest";
import {
  allOf,
  cellOf,
  differenceFigure,
  figureText,
  intervalText,
  isAtLeast,
  medianFigure,
  not,
  rateFigure,
  ratioFigure,
  timeFigure,
} from "../../src/explain/run-figures.js";
import { measured } from "../helpers/measured-figure.js";
import { buildDocument, sweepCells } from "../helpers/result-document.js";

const MiB = 2 ** 20;
const document = buildDocument({ cells: sweepCells() });

describe("figures of a run", () => {
  const wanted = { memory: "pinned", sizeBytes: 64 * MiB } as const;

  it("are a cell's median, with its own interval", () => {
    const cell = cellOf(document, wanted);
    const { median, low, high } = cell.stats[0]!.bandwidthGBps;
    expect(rateFigure("pinned", cell)).toMatchObject({
      value: median,
      unit: "GB/s",
      interval: { low, high },
    });
    // A higher rate is a shorter time.
    expect(timeFigure("pinned", cell)).toMatchObject({
      value: cell.sizeBytes / median,
      unit: "ns",
      interval: { low: cell.sizeBytes / high!, high: cell.sizeBytes / low! },
    });
  });

  it("are those of devices that copy together only on request", () => {
    const alone = cellOf(document, wanted);
    const together = { ...alone, id: "together", together: [0, 1] };
    const both = { ...document, cells: [together, alone] };
    expect(cellOf(both, wanted)).toBe(alone);
    expect(cellOf(both, { ...wanted, together: [0, 1] })).toBe(together);
    expect(() => cellOf({ ...document, cells: [together] }, wanted)).toThrow(RangeError);
    expect(() => cellOf({ ...document, cells: [alone] }, { ...wanted, together: [0, 1] })).toThrow(
      RangeError,
    );
  });

  it("are times of single copies if latency was measured", () => {
    const cell = cellOf(document, wanted);
    const latencyUs = { ...cell.stats[0]!.bandwidthGBps, median: 12, low: 11, high: 14, p99: 20 };
    const withLatency = (changes: object) =>
      timeFigure("latency", {
        ...cell,
        stats: [{ ...cell.stats[0]!, samples: 7, latencyUs: { ...latencyUs, ...changes } as never }],
      });
    expect(withLatency({})).toEqual({
      ...{ name: "latency", value: 12_000, unit: "ns", samples: 7 },
      interval: { low: 11_000, high: 14_000 },
    });
    expect(withLatency({ low: null, high: null }).interval).toBeNull();
  });

  it("have no interval if a cell has none", () => {
    const cell = cellOf(document, wanted);
    const without = (ends: object) => ({
      ...cell,
      stats: [{ ...cell.stats[0]!, bandwidthGBps: { ...cell.stats[0]!.bandwidthGBps, ...ends } }],
    });
    for (const ends of [{ low: null, high: null }, { low: null }, { high: null }]) {
      expect(rateFigure("pinned", without(ends)).interval).toBeNull();
      expect(timeFigure("pinned", without(ends)).interval).toBeNull();
    }
  });

  it("cannot be taken from a cell that was not measured", () => {
    expect(() => cellOf(document, { ...wanted, sizeBytes: 1 })).toThrow(
      "nothing was measured of pinned, 1 copies",
    );
    expect(() => cellOf(document, { ...wanted, chunks: 8 })).toThrow(RangeError);
  });
});

describe("a figure that is computed from others", () => {
  it("has an interval only if all of the others have one", () => {
    const [sure, unsure] = [measured(4), measured(2, "GB/s", null)];
    expect(ratioFigure("", sure, unsure)).toMatchObject({ value: 2, interval: null, samples: 0 });
    expect(differenceFigure("", sure, unsure)).toMatchObject({ value: 2, unit: "GB/s", interval: null });
    expect(differenceFigure("", unsure, sure)).toMatchObject({ value: -2, interval: null });
    expect(ratioFigure("", unsure, sure)).toMatchObject({ value: 0.5, interval: null });
    expect(medianFigure("", "ns", [1, 2, 3, 4, 5])).toMatchObject({ value: 3, interval: null, samples: 5 });
    expect(medianFigure("", "ns", [1, 2, 3, 4, 5, 6]).interval).toEqual({ low: 1, high: 6 });
  });

  it("is as uncertain as the others together", () => {
    // 4 ± 3 less 0 ± 4: by Pythagoras ± 5.
    const one = { ...measured(4), interval: { low: 1, high: 7 } };
    const other = { ...measured(0), interval: { low: -4, high: 4 } };
    expect(differenceFigure("", one, other).interval).toEqual({ low: -1, high: 9 });
    // 10 (-3, +8) minus 2 (-6, +4): by Pythagoras 8 (-5, +10).
    const lopsided = [
      { ...measured(10), interval: { low: 7, high: 18 } },
      { ...measured(2), interval: { low: -4, high: 6 } },
    ] as const;
    expect(differenceFigure("", ...lopsided).interval).toEqual({ low: 3, high: 18 });
    // A figure whose interval includes 0 cannot be the base of a ratio.
    expect(ratioFigure("", measured(4), other).interval).toBeNull();
    const from0 = { ...measured(2), interval: { low: 0, high: 4 } };
    expect(ratioFigure("", measured(4), from0).interval).toBeNull();
  });
});

describe("the verdict on a statement", () => {
  it("is certain only if the whole interval is on one side of the bound", () => {
    const at = (low: number, high: number) => isAtLeast({ interval: { low, high } }, 2);
    expect([at(2, 3), at(1, 1.9), at(1, 2), at(1.9, 2.1)]).toEqual([true, false, null, null]);
    expect(isAtLeast({ interval: null }, 2)).toBeNull();
  });

  it("is negative for several statements if one of them does not hold", () => {
    expect(allOf(true, true)).toBe(true);
    expect(allOf(true, null)).toBeNull();
    expect(allOf(null, false)).toBe(false);
    expect([not(true), not(false), not(null)]).toEqual([false, true, null]);
  });
});

describe("a figure in words", () => {
  it.each([
    [{ value: 55.37, unit: "GB/s" }, "55.3 GB/s"],
    [{ value: 12345, unit: "ns" }, "12.3 µs"],
    [{ value: -12345, unit: "ns" }, "−12.3 µs"],
    [{ value: 0, unit: "ns" }, "0 ns"],
    [{ value: 5.04, unit: "ratio" }, "5.04 times"],
    [{ value: 0.913, unit: "share" }, "91.3 %"],
  ] as const)("%j is %s", (figure, text) => {
    expect(figureText(figure)).toBe(text);
  });

  it("names the unit of its interval once, if both ends have it", () => {
    expect(intervalText(measured(50, "GB/s", 10))).toBe("45.0 to 55.0 GB/s");
    expect(intervalText(measured(1e6, "ns", 10))).toBe("900 µs to 1.1 ms");
    expect(intervalText(measured(50, "GB/s", null))).toBe("-");
  });
});
