import type { CellResult } from "../results/cell-schema.js";
import { ratioInterval } from "../results/claimed-interval.js";
import type { ResultDocument } from "../results/schema.js";
import { formatDuration } from "../settings/units.js";
import { median, medianInterval } from "../stats/order-statistics.js";
import type { ClaimVerdict, MeasuredFigure } from "./explanation.js";

/*
 * Figures from measurements, and what their intervals decide. All figures of a question come from one process, which
 * measured them in turns: their intervals are those of the medians.
 */

/** The fields by which a run's cell is found. */
type CellWanted = Partial<
  Pick<CellResult, "device" | "direction" | "memory" | "sizeBytes" | "mode" | "chunks" | "together">
>;

/** The one-worker cell of a run with these fields, plain otherwise. Throws a RangeError if it was not measured. */
export function cellOf(document: ResultDocument, wanted: CellWanted): CellResult {
  const { chunks, together, ...plain } = wanted;
  const found = document.cells.find(
    (cell) =>
      Object.entries(plain).every(([key, value]) => cell[key as keyof CellResult] === value) &&
      cell.chunks === chunks &&
      (cell.together === undefined) === (together === undefined),
  );
  if (found?.stats[0] !== undefined) return found;
  throw new RangeError(
    found?.skipReason ?? `nothing was measured of ${Object.values(wanted).join(", ")} copies`,
  );
}

/** The rate of a cell's copies. */
export function rateFigure(name: string, { stats: [stats] }: CellResult): MeasuredFigure {
  const { median: value, low, high } = stats!.bandwidthGBps;
  return { name, value, unit: "GB/s", interval: intervalOf(low, high), samples: stats!.samples };
}

/** The time of one of a cell's copies, in nanoseconds: from its rate, or in latency cells from single copies. */
export function timeFigure(name: string, { stats: [stats], sizeBytes }: CellResult): MeasuredFigure {
  const { samples, latencyUs, bandwidthGBps } = stats!;
  const timeNs = (rate: number) => sizeBytes / rate;
  const [value, low, high] =
    latencyUs === null
      ? [timeNs(bandwidthGBps.median), fasterFirst(bandwidthGBps.high), fasterFirst(bandwidthGBps.low)]
      : [latencyUs.median * 1e3, scaled(latencyUs.low), scaled(latencyUs.high)];
  return { name, value, unit: "ns", interval: intervalOf(low, high), samples };

  function fasterFirst(rate: number | null) {
    return rate === null ? null : timeNs(rate);
  }
  function scaled(us: number | null) {
    return us === null ? null : us * 1e3;
  }
}

/** The median of samples, with its interval. */
export function medianFigure(
  name: string,
  unit: MeasuredFigure["unit"],
  samples: readonly number[],
): MeasuredFigure {
  const interval = medianInterval(samples);
  return {
    name,
    value: median(samples),
    unit,
    interval: interval && { low: interval.low, high: interval.high },
    samples: samples.length,
  };
}

/** The ratio of two figures, both above 0. */
export function ratioFigure(name: string, one: MeasuredFigure, other: MeasuredFigure): MeasuredFigure {
  const value = one.value / other.value;
  const estimate = (figure: MeasuredFigure) =>
    figure.interval === null || figure.interval.low <= 0
      ? null
      : { median: figure.value, ...figure.interval };
  const [above, below] = [estimate(one), estimate(other)];
  const interval = above === null || below === null ? null : ratioInterval(above, below);
  return {
    name,
    value,
    unit: "ratio",
    interval: interval && { low: interval.low, high: interval.high },
    samples: 0,
  };
}

/**
 * The difference of two figures. Its interval is that of independent ones (G. Y. Zou and A. Donner, 2008, as in
 * claimed-interval.ts): too wide if they vary together, and never too narrow.
 */
export function differenceFigure(name: string, one: MeasuredFigure, other: MeasuredFigure): MeasuredFigure {
  const value = one.value - other.value;
  const interval =
    one.interval === null || other.interval === null
      ? null
      : {
          low: value - Math.hypot(one.value - one.interval.low, other.interval.high - other.value),
          high: value + Math.hypot(one.interval.high - one.value, other.value - other.interval.low),
        };
  return { name, value, unit: one.unit, interval, samples: 0 };
}

function intervalOf(low: number | null, high: number | null): MeasuredFigure["interval"] {
  return low === null || high === null ? null : { low, high };
}

/** Whether a statement holds; null if that is unknown. */
export type Known = boolean | null;

/** Whether a figure is at least the bound; null without an interval, or if that includes the bound. */
export function isAtLeast({ interval }: Pick<MeasuredFigure, "interval">, bound: number): Known {
  if (interval === null) return null;
  return interval.low >= bound ? true : interval.high < bound ? false : null;
}

/** Whether all statements hold: false as soon as one does not. */
export function allOf(...statements: readonly Known[]): Known {
  if (statements.includes(false)) return false;
  return statements.includes(null) ? null : true;
}

/** The opposite; unknown if the statement is. */
export function not(statement: Known): Known {
  return statement === null ? null : !statement;
}

export function verdictOf(statement: Known): ClaimVerdict {
  return statement === null ? "inconclusive" : statement ? "true" : "not here";
}

/*
 * Figures in words, for sentences and tables alike.
 */

/** A number to three digits, or all of those before the decimal point: "55.4", "7.60", "0.0123", "1230". */
export function digits(value: number): string {
  const power = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(9, Math.max(0, 2 - power))).replace("-", "−");
}

const writers: Readonly<Record<MeasuredFigure["unit"], (value: number) => string>> = {
  "GB/s": (value) => `${digits(value)} GB/s`,
  ns: durationText,
  ratio: (value) => `${digits(value)} times`,
  share: (value) => `${digits(value * 100)} %`,
  count: (value) => String(Number(value.toPrecision(3))),
  "batches/s": (value) => `${digits(value)} batches/s`,
};

/** A time in nanoseconds; a saved time may be negative. */
export function durationText(ns: number): string {
  return ns < 0 ? `−${formatDuration(-ns)}` : formatDuration(ns);
}

/** A figure with its unit: "55.4 GB/s", "12.3 µs", "5.1 times". */
export function figureText({ value, unit }: Pick<MeasuredFigure, "value" | "unit">): string {
  return writers[unit](value);
}

/** The ends of a figure's interval: "54.9 to 55.6 GB/s", "980 µs to 1.02 ms"; "-" without one. */
export function intervalText({ interval, unit }: Pick<MeasuredFigure, "interval" | "unit">): string {
  if (interval === null) return "-";
  const [low, high] = [writers[unit](interval.low), writers[unit](interval.high)];
  if (low === high) return low;
  const [number = "", ...unitOf] = low.split(" ");
  const isSameUnit = unitOf.join(" ") === high.split(" ").slice(1).join(" ");
  return `${isSameUnit ? number : low} to ${high}`;
}
