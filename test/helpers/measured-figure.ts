import type { MeasuredFigure } from "../../src/explain/explanation.js";

/** A figure whose interval extends this many per cent to each side; null for none. */
export function measured(
  value: number,
  unit: MeasuredFigure["unit"] = "GB/s",
  percent: number | null = 1,
  name = "a figure",
): MeasuredFigure {
  const margin = (Math.abs(value) * (percent ?? 0)) / 100;
  const interval = percent === null ? null : { low: value - margin, high: value + margin };
  return { name, value, unit, interval, samples: 20 };
}
