import { PinbenchError } from "../errors.js";
import { KiB, type List, listEntries, MiB, parseSize, type Quantity } from "./units.js";

/** More sizes than anyone reads; a range that would give more is most likely a slip. */
export const maxSizes = 1000;

/**
 * Bytes of a list of sizes and ranges, ascending and each once: "64KiB,1MiB", "1KiB..64MiB*2" (each size the one
 * before times 2) and "1MiB..16MiB+1MiB" (steps of 1 MiB). A range's end belongs to it where a step hits it. Entries of
 * an array may be numbers of bytes.
 * Throws a usage error for what is no size, a range that never reaches its end, and more than 1000 sizes.
 */
export function readSizes(given: List<Quantity>): number[] {
  const sizes = new Set<number>();
  for (const entry of listEntries(given)) {
    for (const sizeBytes of readEntry(entry)) sizes.add(sizeBytes);
    if (sizes.size > maxSizes) throw tooManySizes([given].flat().join(","));
  }
  return [...sizes].sort((a, b) => a - b);
}

function readEntry(entry: string | number): number[] {
  if (typeof entry === "string" && entry.includes("..")) return parseRange(entry);
  if (typeof entry === "number" && Number.isSafeInteger(entry) && entry >= 1) return [entry];
  return [parseSize(String(entry))];
}

function parseRange(text: string): number[] {
  const dots = text.indexOf("..", 1);
  const rest = dots < 0 ? "" : text.slice(dots + "..".length);
  const at = rest.search(/[*+]/);
  if (at < 1 || at === rest.length - 1) {
    throw new PinbenchError(
      "usage",
      `"${text}" is not a range of sizes: its start, end or step is missing.`,
      {
        hint: "Write 1KiB..64MiB*2 to double from size to size, or 1MiB..16MiB+1MiB for steps of 1 MiB.",
      },
    );
  }
  const stepText = rest.slice(at + 1);
  const start = parseSize(text.slice(0, dots));
  const end = parseSize(rest.slice(0, at));
  if (start > end) {
    throw new PinbenchError("usage", `The range "${text}" never reaches its end, which is below its start.`);
  }
  const next = rest[at] === "*" ? multiplication(text, stepText) : addition(text, stepText);
  const sizes: number[] = [];
  for (let exact = start; Math.round(exact) <= end; exact = next(exact)) {
    if (sizes.length === maxSizes) throw tooManySizes(text);
    sizes.push(Math.round(exact));
  }
  return sizes;
}

function multiplication(range: string, factorText: string): (size: number) => number {
  const factor = /^\s*\d+(\.\d+)?\s*$/.test(factorText) ? Number(factorText) : Number.NaN;
  if (Number.isNaN(factor)) {
    throw new PinbenchError("usage", `The factor "${factorText}" of the range "${range}" is not a number.`, {
      hint: "Write for example 1KiB..64MiB*2.",
    });
  }
  if (factor <= 1) {
    throw new PinbenchError("usage", `The range "${range}" never ends: times ${factor} nothing grows.`, {
      hint: "Use a factor above 1.",
    });
  }
  return (size) => size * factor;
}

function addition(range: string, stepText: string): (size: number) => number {
  if (/^0+(\.0+)?\s*[a-z]*$/i.test(stepText.trim())) {
    throw new PinbenchError("usage", `The range "${range}" never ends: its step is 0.`, {
      hint: "Use a step of at least 1 byte.",
    });
  }
  const stepBytes = parseSize(stepText);
  return (size) => size + stepBytes;
}

function tooManySizes(text: string): PinbenchError {
  return new PinbenchError("usage", `"${text}" gives more than ${maxSizes} sizes.`, {
    hint: "Use larger steps.",
  });
}

/**
 * The steps of bandwidthTest's shmoo mode (SHMOO_INCREMENT_… and SHMOO_LIMIT_… in bandwidthTest.cu of NVIDIA's CUDA
 * samples, in the releases where its KB are 1024 bytes; later ones count in 1000s).
 */
const shmooSteps = [
  { upToBytes: 20 * KiB, stepBytes: KiB },
  { upToBytes: 50 * KiB, stepBytes: 2 * KiB },
  { upToBytes: 100 * KiB, stepBytes: 10 * KiB },
  { upToBytes: MiB, stepBytes: 100 * KiB },
  { upToBytes: 16 * MiB, stepBytes: MiB },
  { upToBytes: 32 * MiB, stepBytes: 2 * MiB },
  { upToBytes: 64 * MiB, stepBytes: 4 * MiB },
] as const;

/**
 * 81 sizes from 1 KiB to 64 MiB, growing as bandwidthTest's do. Each limit is itself a size here: bandwidthTest steps
 * from 1000 KiB over the limit to 1100 KiB and stays off the whole MiB from there on, so that it copies neither
 * 1 MiB nor 64 MiB, which are the sizes compared most.
 */
export function shmooSizes(): number[] {
  const sizes: number[] = [];
  let sizeBytes = 0;
  for (const { upToBytes, stepBytes } of shmooSteps) {
    while (sizeBytes < upToBytes) {
      sizeBytes = Math.min(sizeBytes + stepBytes, upToBytes);
      sizes.push(sizeBytes);
    }
  }
  return sizes;
}
