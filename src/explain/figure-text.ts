import { formatDuration, formatSizeRounded } from "../settings/units.js";
import type { MeasuredFigure } from "./explanation.js";

/*
 * Figures in words, for sentences and tables alike.
 */

/** A number to three digits, with no more zeros than it needs: "55.4", "0.0123", "1230". */
export function digits(value: number): string {
  const rounded = Number(value.toPrecision(3));
  // A number is written without an exponent, as people read it.
  return Math.abs(rounded) >= 1e-6 || rounded === 0
    ? String(rounded)
    : rounded.toFixed(12).replace(/0+$/, "");
}

const writers: Readonly<Record<MeasuredFigure["unit"], (value: number) => string>> = {
  "GB/s": (value) => `${digits(value)} GB/s`,
  ns: durationText,
  bytes: (value) => (value < 0 ? `-${formatSizeRounded(-value)}` : formatSizeRounded(value)),
  ratio: (value) => `${digits(value)} times`,
  share: (value) => `${digits(value * 100)} %`,
  count: digits,
  "batches/s": (value) => `${digits(value)} batches/s`,
  "samples/s": (value) => `${digits(value)} samples/s`,
};

/** A time in nanoseconds; one that is saved may be below 0. */
export function durationText(ns: number): string {
  return ns < 0 ? `-${formatDuration(-ns)}` : formatDuration(ns);
}

/** A figure with its unit: "55.4 GB/s", "12.3 µs", "5.1 times". */
export function figureText({ value, unit }: Pick<MeasuredFigure, "value" | "unit">): string {
  return writers[unit](value);
}

/** What lies between the ends of a figure's interval: "54.9 GB/s to 55.6 GB/s"; "not known" where there is none. */
export function intervalText({ interval, unit }: Pick<MeasuredFigure, "interval" | "unit">): string {
  if (interval === null) return "not known";
  const [low, high] = [writers[unit](interval.low), writers[unit](interval.high)];
  return low === high ? low : `${low} to ${high}`;
}
