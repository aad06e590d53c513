import { roundUp } from "../draw/numbers.js";
import { PinbenchError } from "../errors.js";
import { ascending } from "../stats/order-statistics.js";

/** Bytes of the binary units (IEC 80000-13). */
export const KiB = 1024;
export const MiB = 1024 * KiB;

/** A size or a share: a number, or text such as "64KiB" or "5%". */
export type Quantity = string | number;

/** Text separated by commas, one entry, or an array. */
export type List<Entry> = string | Entry | readonly Entry[];

/** The entries of a list. Text is split at commas and trimmed; other entries stay unchanged. */
export function listEntries<Entry>(written: List<Entry>): (string | Entry)[] {
  const entries = (Array.isArray(written) ? written : [written]) as (string | Entry)[];
  return entries.flatMap((entry): (string | Entry)[] =>
    typeof entry === "string" ? entry.split(",").map((part) => part.trim()) : [entry],
  );
}

/** Bytes per unit, by lower-case name: IEC prefixes are binary, SI prefixes decimal (IEC 80000-13). */
const bytesPerUnit: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["b", 1],
  ["kb", 1000],
  ["mb", 1000 ** 2],
  ["gb", 1000 ** 3],
  ["tb", 1000 ** 4],
  ["kib", 1024],
  ["mib", 1024 ** 2],
  ["gib", 1024 ** 3],
  ["tib", 1024 ** 4],
]);

/** Tolerance for rounding: 1.1 * 1000 is not exactly 1100. */
const roundingError = 1e-12;

const binaryUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/**
 * Parses a size such as "64KiB", "16MB", "1.5 MiB" or "512" into bytes. Units have any case; KB/MB/GB/TB are decimal,
 * KiB/MiB/GiB/TiB binary. Throws a usage error unless it is a positive whole number of bytes, and for a bare "k", "M",
 * "G" or "T", which may mean 1000 or 1024.
 */
export function parseSize(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (match === null) {
    throw new PinbenchError("usage", `"${text}" is not a size.`, {
      hint: "Write for example 64KiB, 1.5MiB or 16MB.",
    });
  }
  const [, number = "", unit = ""] = match;
  const unitBytes = bytesPerUnit.get(unit.toLowerCase());
  if (unitBytes === undefined) throw unknownUnit(text, number, unit);
  const exact = Number(number) * unitBytes;
  const bytes = Math.round(exact);
  if (Math.abs(exact - bytes) > roundingError * exact) {
    throw new PinbenchError("usage", `"${text}" is not a whole number of bytes.`);
  }
  if (bytes === 0) {
    throw new PinbenchError("usage", `"${text}" is no size to copy: a size is at least 1 byte.`);
  }
  if (bytes > Number.MAX_SAFE_INTEGER) {
    throw new PinbenchError("usage", `"${text}" is larger than any memory: a size is at most 8 PiB.`);
  }
  return bytes;
}

function unknownUnit(text: string, number: string, unit: string): PinbenchError {
  const prefix = unit.toUpperCase();
  if (["K", "M", "G", "T"].includes(prefix)) {
    return new PinbenchError("usage", `"${text}" does not say whether ${unit} counts in 1024s or 1000s.`, {
      hint: `Write ${number}${prefix}iB (binary) or ${number}${prefix}B (decimal).`,
    });
  }
  return new PinbenchError("usage", `"${text}" has the unknown unit "${unit}".`, {
    hint: "Units are KiB, MiB, GiB and TiB (binary), KB, MB, GB and TB (decimal), and B.",
  });
}

/**
 * An exact size in the largest binary unit with at most two decimals: "64 KiB", "1.5 MiB", "1000 B". `parseSize` can
 * read it.
 */
export function formatSize(bytes: number): string {
  for (let power = binaryUnits.length - 1; power > 0; --power) {
    const unitBytes = 1024 ** power;
    const value = bytes / unitBytes;
    // Uses the remainder, because a hundred times the size may be inexact.
    if (value >= 1 && ((bytes % unitBytes) * 100) % unitBytes === 0) return `${value} ${binaryUnits[power]}`;
  }
  return `${bytes} B`;
}

/**
 * A size to about three digits, for amounts of memory: "139.8 GiB", "1.25 GiB", "24.6 MiB". Round needs with Math.ceil
 * and limits with Math.floor, so that they look different if one exceeds the other.
 */
export function formatSizeRounded(bytes: number, round: (value: number) => number = Math.round): string {
  let power = 0;
  while (power < binaryUnits.length - 1 && bytes >= 1024 ** (power + 1)) ++power;
  const value = bytes / 1024 ** power;
  const scale = power === 0 ? 1 : value < 10 ? 100 : 10;
  return `${round(value * scale) / scale} ${binaryUnits[power]}`;
}

const nanosecondsPerUnit: ReadonlyMap<string, number> = new Map([
  ["ns", 1],
  ["us", 1e3],
  // The micro sign of keyboards (U+00B5), and the Greek letter that Unicode prefers (U+03BC).
  ["\u00b5s", 1e3],
  ["\u03bcs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
  ["m", 60e9],
  ["min", 60e9],
  ["h", 3600e9],
]);

export const longestNs = 24 * 3600e9;

/**
 * Parses a duration such as "8s", "500ms", "250us" or "1.5min" into nanoseconds. Throws a usage error without a unit,
 * and above a day.
 */
export function parseDuration(text: string): number {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)\s*([a-z\u00b5\u03bc]+)$/i.exec(text.trim()) ?? [];
  const unitNs = nanosecondsPerUnit.get(unit.toLowerCase());
  if (unitNs === undefined) {
    throw new PinbenchError("usage", `"${text}" is not a duration.`, {
      hint: "Write a number and a unit: ns, us (or µs), ms, s, min or h, as in 8s.",
    });
  }
  const durationNs = Math.round(Number(number) * unitNs);
  if (durationNs <= longestNs) return durationNs;
  throw new PinbenchError("usage", `"${text}" is too long: the longest time is a day.`);
}

/** A duration to about three digits: "8 s", "350 ms", "12.3 µs", "2.5 min". */
export function formatDuration(durationNs: number): string {
  return inUnit(durationNs, (value, decimals) => String(Number(value.toFixed(decimals))));
}

/** Twice this duration as a flag's value, from a second to a day: "16s". */
export function doubled(durationNs: number): string {
  return `${Math.ceil(Math.min(longestNs, Math.max(1e9, 2 * durationNs)) / 1e9)}s`;
}

/** A measured duration to three digits, rounded up as in tables: "8.00 s", "350 ms", "12.0 µs". */
export function formatMeasuredTime(durationNs: number): string {
  return inUnit(durationNs, roundUp);
}

function inUnit(durationNs: number, format: (value: number, decimals: number) => string): string {
  const units = [
    { name: "h", ns: 3600e9, from: 7200e9 },
    { name: "min", ns: 60e9, from: 120e9 },
    { name: "s", ns: 1e9, from: 1e9 },
    { name: "ms", ns: 1e6, from: 1e6 },
    { name: "µs", ns: 1e3, from: 1e3 },
  ];
  const unit = units.find(({ from }) => durationNs >= from) ?? { name: "ns", ns: 1 };
  const value = durationNs / unit.ns;
  return `${format(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit.name}`;
}

/** The number in "1%" or "0.01"; NaN for any other text. */
export function writtenShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.trim());
  return match === null ? Number.NaN : Number(match[1]) / (match[2] === "%" ? 100 : 1);
}

/** The number in digits such as 16 or "16"; NaN for anything else. It may be too large to be exact. */
export function writtenWholeNumber(written: Quantity): number {
  return /^\d+$/.test(String(written)) ? Number(written) : Number.NaN;
}

/** Parses "1%" or "0.01". Throws a usage error unless the share is above 0 and at most a half. */
export function parsePercent(text: string): number {
  const share = writtenShare(text);
  if (!(share > 0 && share <= 0.5)) {
    throw new PinbenchError("usage", `"${text}" is not a share above 0 % and up to 50 %.`, {
      hint: "Write for example 1% or 0.01.",
    });
  }
  return share;
}

/**
 * Parses a list such as "1,2,4" or [1, 2, 4]: ascending, each once. Messages call the numbers `what` ("workers").
 * Throws a usage error unless all are whole numbers from 1 up.
 */
export function readCounts(written: List<Quantity>, what: string): number[] {
  const counts = listEntries(written).map((entry) => {
    const count = writtenWholeNumber(entry);
    if (count >= 1 && Number.isSafeInteger(count)) return count;
    throw new PinbenchError(
      "usage",
      `"${entry}" is not a number of ${what}: it must be a whole number from 1 up.`,
      { hint: "Write for example 1,2,4." },
    );
  });
  return ascending(counts);
}

/** Nobody reads more sizes; a range with more is probably a mistake. */
export const maxSizes = 1000;

/**
 * Parses sizes and ranges into bytes, ascending, each once: "64KiB,1MiB", "1KiB..64MiB*2" (each size doubles the one
 * before), "1MiB..16MiB+1MiB" (steps of 1 MiB). A range includes its end if a step reaches it. Entries of an array may
 * be numbers of bytes. Throws a usage error for an invalid size, a range that never reaches its end, and more than 1000
 * sizes.
 */
export function readSizes(written: List<Quantity>): number[] {
  const sizes = new Set<number>();
  for (const entry of listEntries(written)) {
    const text = String(entry);
    for (const sizeBytes of text.includes("..") ? parseRange(text) : [parseSize(text)]) sizes.add(sizeBytes);
    if (sizes.size > maxSizes) throw tooManySizes([written].flat().join(","));
  }
  return [...sizes].sort((a, b) => a - b);
}

function parseRange(text: string): number[] {
  const at = text.search(/[*+]/);
  const [startText, endText, more] = text.slice(0, Math.max(at, 0)).split("..");
  const stepText = text.slice(at + 1);
  if (!startText || !endText || more !== undefined || stepText === "") {
    throw new PinbenchError(
      "usage",
      `"${text}" is not a range of sizes: its start, end or step is missing.`,
      {
        hint: "Write 1KiB..64MiB*2 to double from size to size, or 1MiB..16MiB+1MiB for steps of 1 MiB.",
      },
    );
  }
  const start = parseSize(startText);
  const end = parseSize(endText);
  if (start > end) {
    throw new PinbenchError("usage", `The range "${text}" never reaches its end, which is below its start.`);
  }
  const next = text[at] === "*" ? multiplication(text, stepText) : addition(stepText);
  const sizes: number[] = [];
  for (let exact = start; Math.round(exact) <= end; exact = next(exact)) {
    if (sizes.length === maxSizes) throw tooManySizes(text);
    sizes.push(Math.round(exact));
  }
  return sizes;
}

function multiplication(range: string, factorText: string): (size: number) => number {
  const factor = /^\d+(\.\d+)?$/.test(factorText.trim()) ? Number(factorText) : Number.NaN;
  if (factor > 1) return (size) => size * factor;
  throw new PinbenchError(
    "usage",
    `The factor "${factorText}" of the range "${range}" is not a number above 1.`,
    {
      hint: "Write for example 1KiB..64MiB*2.",
    },
  );
}

function addition(stepText: string): (size: number) => number {
  const stepBytes = parseSize(stepText);
  return (size) => size + stepBytes;
}

function tooManySizes(text: string): PinbenchError {
  return new PinbenchError("usage", `"${text}" gives more than ${maxSizes} sizes.`, {
    hint: "Use larger steps.",
  });
}
