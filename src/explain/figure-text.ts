import { formatDuration } from "../settings/units.js";
import type { MeasuredFigure } from "./explanation.js";

/*
 * Figures in words, for sentences and tables alike.
 */

/** A number to three digits, and all of those before the point: "55.4", "7.60", "0.0123", "1230". */
export function digits(value: number): string {
  const power = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(9, Math.max(0, 2 - power)));
}

const writers: Readonly<Record<MeasuredFigure["unit"], (value: number) => string>> = {
  "GB/s": (value) => `${digits(value)} GB/s`,
  ns: durationText,
  ratio: (value) => `${digits(value)} times`,
  share: (value) => `${digits(value * 100)} %`,
  count: (value) => String(Number(value.toPrecision(3))),
  "batches/s": (value) => `${digits(value)} batches/s`,
};

/** A time in nanoseconds; one that is saved may be below 0. */
export function durationText(ns: number): string {
  return ns < 0 ? `−${formatDuration(-ns)}` : formatDuration(ns);
}

/** A figure with its unit: "55.4 GB/s", "12.3 µs", "5.1 times". */
export function figureText({ value, unit }: Pick<MeasuredFigure, "value" | "unit">): string {
  return writers[unit](value);
}

/** The ends of a figure's interval: "54.9 to 55.6 GB/s", "980 µs to 1.02 ms"; "-" where there is none. */
export function intervalText({ interval, unit }: Pick<MeasuredFigure, "interval" | "unit">): string {
  if (interval === null) return "-";
  const [low, high] = [writers[unit](interval.low), writers[unit](interval.high)];
  if (low === high) return low;
  const [number = "", ...unitOf] = low.split(" ");
  const isSameUnit = unitOf.join(" ") === high.split(" ").slice(1).join(" ");
  return `${isSameUnit ? number : low} to ${high}`;
}
