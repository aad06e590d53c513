/* Formats numbers for people. Rounding never flatters: rates and shares go down, times and intervals up. */

/** Tolerance for errors of binary fractions: 55.3 x 10 must not become 552. */
const binaryFractionSlack = 1e-12;

/** The value rounded down to this number of decimals: 55.37 to one is "55.3". */
export function roundDown(value: number, decimals: number): string {
  const scale = 10 ** decimals;
  return (Math.floor(value * scale * (1 + binaryFractionSlack)) / scale).toFixed(decimals);
}

/** The value rounded up to this number of decimals: 55.31 to one is "55.4". */
export function roundUp(value: number, decimals: number): string {
  const scale = 10 ** decimals;
  return (Math.ceil(value * scale * (1 - binaryFractionSlack)) / scale).toFixed(decimals);
}

export function formatGBps(rateGBps: number): string {
  return roundDown(rateGBps, decimalsOf(rateGBps));
}

/** The unit for bandwidths up to this one, and its factor on GB/s: 0.0003 GB/s of a slow data loader are 0.3 MB/s. */
export function bandwidthUnit(largestGBps: number): { unit: string; perGB: number } {
  if (largestGBps >= 0.1 || largestGBps <= 0) return { unit: "GB/s", perGB: 1 };
  return largestGBps >= 1e-4 ? { unit: "MB/s", perGB: 1e3 } : { unit: "kB/s", perGB: 1e6 };
}

/** A bandwidth with the unit that suits it: "55.4 GB/s", "12.3 MB/s". */
export function formatBandwidth(rateGBps: number): string {
  const { unit, perGB } = bandwidthUnit(rateGBps);
  return `${formatGBps(rateGBps * perGB)} ${unit}`;
}

/** A time in microseconds, without the unit, rounded up: "12.4", "3.51". */
export function formatMicroseconds(timeUs: number): string {
  return roundUp(timeUs, decimalsOf(timeUs));
}

/** A short time in nanoseconds, without the unit, rounded up: "2850", "12.4", "5.20". */
export function formatNanoseconds(timeNs: number): string {
  return roundUp(timeNs, timeNs >= 100 ? 0 : decimalsOf(timeNs));
}

/** A time in nanoseconds as milliseconds, without the unit, rounded up: "8.12", "38.7". */
export function formatMilliseconds(timeNs: number): string {
  return roundUp(timeNs / 1e6, decimalsOf(timeNs / 1e6));
}

/** A share in per cent with one decimal, rounded down: 0.9996 is "99.9 %". More digits if it would become 0. */
export function formatShare(share: number): string {
  const percent = share * 100;
  return `${roundDown(percent, percent > 0 && percent < 0.1 ? decimalsOf(percent) : 1)} %`;
}

/**
 * A share for running text, without decimals from 10 % on: 0.912 is "91 %". 0 is "0 %", because decimals would suggest
 * a small amount. For a range's upper end, `round` is roundUp.
 */
export function formatWholeShare(share: number, round = roundDown): string {
  const percent = share * 100;
  const decimals =
    percent >= 10 || percent === 0 ? 0 : percent > 0 && percent < 0.1 ? decimalsOf(percent) : 1;
  return `${round(percent, decimals)} %`;
}

/**
 * A ratio, rounded down, with more decimals near 1: "3.0×", "1.04×", "12×". For a range's upper end, `round` is
 * roundUp.
 */
export function formatRatio(ratio: number, round = roundDown): string {
  const decimals =
    Math.abs(ratio - 1) < 0.01 ? 3 : ratio < 0.1 ? decimalsOf(ratio) : ratio < 2 ? 2 : ratio < 10 ? 1 : 0;
  return `${round(ratio, decimals)}×`;
}

/** Widest interval that is shown, as half its width over the figure. A wider one gives only the order of magnitude. */
const widestHalfWidth = 1;

export const unknownInterval = "±?";

/** Whether an interval is narrow enough to be useful; its relative half-width is null if there is none. */
function isUseful(relativeHalfWidth: number | null): relativeHalfWidth is number {
  return relativeHalfWidth !== null && relativeHalfWidth <= widestHalfWidth;
}

/**
 * A relative half-width (half the interval over the median), rounded up: 0.0204 is "±2.1 %". "±?" for a missing or
 * useless interval.
 */
export function formatHalfWidth(relativeHalfWidth: number | null): string {
  if (!isUseful(relativeHalfWidth)) return unknownInterval;
  const percent = relativeHalfWidth * 100;
  return `±${roundUp(percent, percent < 10 ? 1 : 0)} %`;
}

/** A requested precision, unrounded: "±1 %", "±0.5 %". */
export function formatPrecision(precision: number): string {
  return `±${formatSetting(precision)}`;
}

/** A requested share, unrounded: 0.03 is "3 %", 0.005 is "0.5 %". */
export function formatSetting(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}

/** A relative change, rounded down or up as a signed number: "−9.8 %", "+3.2 %", "0.0 %". */
export function formatChange(change: number, towards: "down" | "up"): string {
  const percent = Math.abs(change) * 100;
  const awayFromZero = change < 0 === (towards === "down");
  const shown = awayFromZero ? roundUp(percent, 1) : roundDown(percent, 1);
  const sign = Number(shown) === 0 ? "" : change < 0 ? "−" : "+";
  return `${sign}${shown} %`;
}

/** A change at a mark of an axis, with only the digits that it needs: "−5 %", "+0.5 %", "0 %". */
export function formatChangeTick(change: number): string {
  const percent = Number((change * 100).toPrecision(6));
  return `${percent < 0 ? "−" : percent > 0 ? "+" : ""}${Math.abs(percent)} %`;
}

/** Three significant digits, but one decimal up to 1000. */
function decimalsOf(value: number): number {
  if (value >= 1000) return 0;
  if (value >= 10) return 1;
  if (value >= 0.1 || value <= 0) return 2;
  return Math.min(9, 2 - Math.floor(Math.log10(value)));
}
