import { formatBandwidth, formatShare } from "../draw/numbers.js";
import type { CellResult } from "../results/cell-schema.js";
import { ratioInterval } from "../results/figure-interval.js";
import type { ResultDocument } from "../results/schema.js";
import { formatDuration } from "../settings/units.js";
import { median, medianInterval } from "../stats/order-statistics.js";
import type { MeasuredFigure } from "./explanation.js";

/* Figures and what their intervals decide; intervals are those of the medians. */

type Unit = MeasuredFigure["unit"];
type Interval = MeasuredFigure["interval"];

/** Fields that identify a run's cell. */
export type CellFields = Partial<
  Pick<CellResult, "device" | "memory" | "sizeBytes" | "chunks" | "together"> & { direction: "h2d" }
>;

/** The run's cell with these fields; no `chunks` or `together` means plain copies. Throws a RangeError if missing. */
export function cellOf(document: ResultDocument, fields: CellFields): CellResult {
  const { chunks, together, ...plain } = { direction: "h2d", ...fields };
  const found = document.cells.find(
    (cell) =>
      Object.entries(plain).every(([key, value]) => cell[key as keyof CellResult] === value) &&
      cell.chunks === chunks &&
      (cell.together === undefined) === (together === undefined),
  );
  if (found?.stats[0] !== undefined) return found;
  throw new RangeError(
    found?.skipReason ?? `nothing was measured of ${Object.values(fields).join(", ")} copies`,
  );
}

export function rateFigure(name: string, { stats: [stats] }: CellResult): MeasuredFigure {
  const { median: value, low, high } = stats!.bandwidthGBps;
  return { name, value, unit: "GB/s", interval: intervalOf(low, high), samples: stats!.samples };
}

/** Time of one copy in ns: from the rate, or in latency cells from single copies. */
export function timeFigure(name: string, { stats: [stats], sizeBytes }: CellResult): MeasuredFigure {
  const { samples, latencyUs, bandwidthGBps: rate } = stats!;
  // Ends swap, because a higher rate is a shorter time.
  const [us, toNs] =
    latencyUs === null
      ? [{ median: rate.median, low: rate.high, high: rate.low }, (GBps: number) => sizeBytes / GBps]
      : [latencyUs, (us: number) => us * 1e3];
  const interval = us.low === null || us.high === null ? null : { low: toNs(us.low), high: toNs(us.high) };
  return { name, value: toNs(us.median), unit: "ns", interval, samples };
}

/** 99th percentile of a latency cell's copies in ns. */
export function p99Figure(name: string, { stats: [stats] }: CellResult): MeasuredFigure {
  const { samples, latencyUs } = stats!;
  return { name, value: latencyUs!.p99 * 1e3, unit: "ns", interval: null, samples };
}

export function medianFigure(name: string, unit: Unit, samples: readonly number[]): MeasuredFigure {
  const { low, high } = medianInterval(samples) ?? { low: null, high: null };
  return { name, value: median(samples), unit, interval: intervalOf(low, high), samples: samples.length };
}

/** The ratio of two figures, both above 0. */
export function ratioFigure(
  name: string,
  one: MeasuredFigure,
  other: MeasuredFigure,
  unit: "ratio" | "share" = "ratio",
): MeasuredFigure {
  const estimate = ({ value, interval }: MeasuredFigure) =>
    interval === null || interval.low <= 0 ? null : { median: value, ...interval };
  const [above, below] = [estimate(one), estimate(other)];
  const { low, high } =
    above === null || below === null ? { low: null, high: null } : ratioInterval(above, below);
  return { name, value: one.value / other.value, unit, interval: intervalOf(low, high), samples: 0 };
}

/**
 * The difference of two figures. Its interval assumes that they are independent (G. Y. Zou and A. Donner,
 * 2008, as in figure-interval.ts), so it is too wide if they rise and fall together.
 */
export function differenceFigure(name: string, one: MeasuredFigure, other: MeasuredFigure): MeasuredFigure {
  const value = one.value - other.value;
  const interval = one.interval &&
    other.interval && {
      low: value - Math.hypot(one.value - one.interval.low, other.interval.high - other.value),
      high: value + Math.hypot(one.interval.high - one.value, other.value - other.interval.low),
    };
  return { name, value, unit: one.unit, interval, samples: 0 };
}

export function shareFigure(
  name: string,
  { value, interval }: MeasuredFigure,
  whole: number,
): MeasuredFigure {
  const ends = interval && { low: interval.low / whole, high: interval.high / whole };
  return { name, value: value / whole, unit: "share", interval: ends, samples: 0 };
}

function intervalOf(low: number | null, high: number | null): Interval {
  return low === null || high === null ? null : { low, high };
}

/** Whether a statement holds; null if unknown. */
export type Known = boolean | null;

/** Whether a figure is at least the bound; null without an interval, or if that includes the bound. */
export function isAtLeast({ interval }: Pick<MeasuredFigure, "interval">, bound: number): Known {
  if (interval === null) return null;
  return interval.low >= bound ? true : interval.high < bound ? false : null;
}

/** Whether all statements hold: false if one does not, otherwise null if one is unknown. */
export function allOf(...statements: readonly Known[]): Known {
  if (statements.includes(false)) return false;
  return statements.includes(null) ? null : true;
}

export function not(statement: Known): Known {
  return statement === null ? null : !statement;
}

const writers: Readonly<Record<Unit, (value: number) => string>> = {
  "GB/s": formatBandwidth,
  ns: (value) => (value < 0 ? `−${formatDuration(-value)}` : formatDuration(value)),
  ratio: (value) => `${Number(value.toPrecision(3))} times`,
  share: formatShare,
};

/** A figure with its unit: "55.4 GB/s", "12.3 µs", "5.1 times". */
export function figureText({ value, unit }: Pick<MeasuredFigure, "value" | "unit">): string {
  return writers[unit](value);
}

/** A figure's interval: "54.9 to 55.6 GB/s", "980 µs to 1.02 ms"; "-" without one. */
export function intervalText({ interval, unit }: Pick<MeasuredFigure, "interval" | "unit">): string {
  if (interval === null) return "-";
  const [low, high] = [writers[unit](interval.low), writers[unit](interval.high)];
  const unitText = high.slice(high.lastIndexOf(" "));
  return `${low.endsWith(unitText) ? low.slice(0, -unitText.length) : low} to ${high}`;
}
