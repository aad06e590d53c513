import { PinbenchError } from "../errors.js";
import {
  besides,
  blockWays,
  type Cache,
  caches,
  type Direction,
  directions,
  type Memory,
  type Mode,
  memories,
  modes,
  peerPaths,
} from "../settings/choices.js";
import type { Cell, VariantFields } from "./cell-schema.js";

// No leading zeros, so that a cell has only one id. More digits would be inexact as numbers.
const digits = "(?:0|[1-9]\\d{0,15})";
const fewDigits = "(?:0|[1-9]\\d{0,2})";
const oneOf = (values: readonly string[]) => `(${values.join("|")})`;
const number = `(${digits})`;

interface Part {
  before: string;
  form: string;
  read(text: string): unknown;
  /** Rank of a value, for sorting otherwise equal cells in the order of plans. */
  rank(value: unknown): number;
}

const numberPart = (before: string): Part => ({ before, form: number, read: Number, rank: Number });
const wordPart = (before: string, words: readonly string[]): Part => ({
  before,
  form: oneOf(words),
  read: (text) => text,
  rank: (value) => words.indexOf(value as string),
});

/**
 * Parameters that a plain cell lacks, in the order of ids. Parameters in one group occur together. `variantSchema` has
 * their types.
 */
const variantParts: readonly Partial<Record<keyof VariantFields, Part>>[] = [
  { workerKind: wordPart("/", ["process"]) },
  {
    together: {
      before: "/together-",
      form: `(${fewDigits}(?:-${fewDigits})*)`,
      read: (text) => text.split("-").map(Number),
      rank: () => 0,
    },
  },
  { peer: numberPart("/to-"), path: wordPart("/", peerPaths) },
  {
    beside: wordPart(
      "/beside-",
      besides.filter((beside) => beside !== "none"),
    ),
  },
  { chunks: numberPart("/chunks-") },
  {
    blockBytes: numberPart("/blocks-"),
    blockWay: wordPart("-", blockWays),
  },
  { cpuNode: numberPart("/cpus-"), memoryNode: numberPart("-memory-") },
];

type KeyedPart = readonly [keyof VariantFields, Part];

const partsOf = (group: (typeof variantParts)[number]) => Object.entries(group) as unknown as KeyedPart[];
const keyedParts = variantParts.flatMap(partsOf);

export const variantKeys = keyedParts.map(([key]) => key);

function isPlainValue(value: VariantFields[keyof VariantFields]): boolean {
  return value === undefined || value === "thread";
}

export function variantFields(cell: VariantFields): VariantFields {
  const own = variantKeys.filter((key) => !isPlainValue(cell[key]));
  return Object.fromEntries(own.map((key) => [key, cell[key]]));
}

export function variantRanks(cell: VariantFields): number[] {
  return variantParts
    .toReversed()
    .flatMap(partsOf)
    .map(([key, { rank }]) => (isPlainValue(cell[key]) ? -1 : rank(cell[key])));
}

/**
 * The cell's id, by which results are compared: `d0/h2d/pinned/16777216/w4/throughput/cold`. Variants append to it:
 * `…/process`, `…/together-0-1`, `…/to-1/read`, `…/beside-compute`, `…/chunks-4`, `…/blocks-4096-loop`,
 * `…/cpus-0-memory-1`.
 */
export function cellId(cell: Cell): string {
  const plain = [
    `d${cell.device}`,
    cell.direction,
    cell.memory,
    cell.sizeBytes,
    `w${cell.workers}`,
    cell.mode,
    cell.cache,
  ];
  const variant = keyedParts.flatMap(([key, { before }]) => {
    const value = cell[key];
    return isPlainValue(value) ? [] : [before, Array.isArray(value) ? value.join("-") : String(value)];
  });
  return plain.join("/") + variant.join("");
}

export function idWithoutDevice({ id, device }: { id: string; device: number }): string {
  return id.slice(`d${device}`.length);
}

const plainForm = `d${number}/${oneOf(directions)}/${oneOf(memories)}/${number}/w${number}/${oneOf(modes)}/${oneOf(caches)}`;
const variantForm = variantParts.map((group) => {
  const forms = partsOf(group).map(([, { before, form }]) => before + form);
  return `(?:${forms.join("")})?`;
});
const idForm = new RegExp(`^${plainForm}${variantForm.join("")}$`);

/**
 * Parses an id from cellId(). Throws a usage error for any other text; the plan checks whether the numbers make sense.
 */
export function parseCellId(text: string): Cell {
  const match = idForm.exec(text);
  if (match === null) {
    throw new PinbenchError("usage", `"${text}" is not a cell id.`, { hint: exampleHint });
  }
  const [, device, direction, memory, sizeBytes, workers, mode, cache, ...variant] = match;
  const entries = keyedParts.flatMap(([key, { read }], i) => {
    const written = variant[i];
    return written === undefined ? [] : [[key, read(written)] as const];
  });
  return {
    device: Number(device),
    direction: direction as Direction,
    memory: memory as Memory,
    sizeBytes: Number(sizeBytes),
    workers: Number(workers),
    mode: mode as Mode,
    cache: cache as Cache,
    ...(Object.fromEntries(entries) as VariantFields),
  };
}

const exampleHint = "Write whole ids, as JSON results have them: d0/h2d/pinned/16777216/w4/throughput/cold.";
