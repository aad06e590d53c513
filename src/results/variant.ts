import { steadyMemories } from "../settings/choices.js";
import { cellId, variantKeys } from "./cell-id.js";
import type { Cell, VariantFields } from "./cell-schema.js";

/**
 * Kinds of cells in the order of tables: copies alone ("plain", by threads or processes), during a load, in
 * chunks followed by kernels, in scattered blocks, in blocks during a load, on several devices at once,
 * between two devices, or with chosen NUMA nodes.
 */
export const variants = [
  "plain",
  "beside",
  "pipeline",
  "blocks",
  "blocks-beside",
  "together",
  "p2p",
  "numa",
] as const;
export type Variant = (typeof variants)[number];

export function variantOf(cell: VariantFields): Variant {
  const { together, peer, beside, chunks, blockBytes, memoryNode } = cell;
  if (memoryNode !== undefined) return "numa";
  if (peer !== undefined) return "p2p";
  if (together !== undefined) return "together";
  if (beside !== undefined) return blockBytes === undefined ? "beside" : "blocks-beside";
  if (blockBytes !== undefined) return "blocks";
  return chunks === undefined ? "plain" : "pipeline";
}

export function isPlain(cell: VariantFields): boolean {
  return variantOf(cell) === "plain" && cell.workerKind !== "process";
}

/**
 * The part of a variant that affects its noise, such as "process together" or "beside memory"; empty for plain cells.
 * Which devices and how many chunks does not matter.
 */
export function variantName(cell: VariantFields): string {
  const { workerKind, together, path, beside, chunks, blockWay, memoryNode } = cell;
  return [
    ...(workerKind === "process" ? [workerKind] : []),
    ...(together === undefined ? [] : ["together"]),
    ...(path === undefined ? [] : [path]),
    ...(beside === undefined ? [] : [`beside ${beside}`]),
    ...(chunks === undefined ? [] : ["pipeline"]),
    ...(blockWay === undefined ? [] : [`blocks ${blockWay}`]),
    ...(memoryNode === undefined ? [] : ["numa"]),
  ].join(" ");
}

/**
 * Whether a single slow run of the cell is a fault, because only the device copies, and nothing else could be the
 * reason.
 */
export function isSteady(cell: VariantFields & { memory: string }): boolean {
  return steadyMemories.includes(cell.memory) && isPlain(cell);
}

const keptAlone: readonly (keyof VariantFields)[] = ["workerKind", "peer", "path", "cpuNode", "memoryNode"];

const keptOfBlocks: readonly (keyof VariantFields)[] = ["blockBytes", "blockWay"];

/**
 * The id of the cell to compare this one with: the same workers alone, in whole copies; during a load, the same blocks.
 */
export function idOfAlone(cell: Cell): string {
  const alone = { ...cell };
  const kept = cell.beside === undefined ? keptAlone : [...keptAlone, ...keptOfBlocks];
  for (const key of variantKeys) {
    if (!kept.includes(key)) delete alone[key];
  }
  return cellId(alone);
}

/** Returns a function that finds a cell's counterpart for comparison among these; undefined if it is missing. */
export function aloneIn<IdentifiedCell extends Cell & { id: string }>(cells: readonly IdentifiedCell[]) {
  const byId = new Map(cells.map((cell) => [cell.id, cell]));
  return (cell: IdentifiedCell): IdentifiedCell | undefined => byId.get(idOfAlone(cell));
}

/**
 * The kind of a series; members share their noise. It is the kind of memory, with latency separate ("pinned latency").
 * Variants are separate kinds ("pageable process", "pinned together"), because what runs with them adds noise.
 */
export function kindOf({
  cell,
  unit,
}: {
  cell: VariantFields & { memory: string };
  unit: "GB/s" | "us";
}): string {
  const variant = variantName(cell);
  return [cell.memory, ...(unit === "us" ? ["latency"] : []), ...(variant === "" ? [] : [variant])].join(" ");
}
