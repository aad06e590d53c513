import { PinbenchError } from "../errors.js";
import { isNear, type NumaPlacement } from "../host/numa-nodes.js";
import type { Cell, VariantFields } from "../results/cell-schema.js";
import type { WorkerKind } from "../settings/choices.js";
import { type Preset, presets } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { MiB } from "../settings/units.js";

/* `--numa all`: each device's copies with memory of every NUMA node, and with CPUs of other nodes than the memory's. */

/** One size that reaches the full rate, and for which many sessions have memory. */
export const numaPreset: Preset = {
  ...presets.quick,
  sizesBytes: [16 * MiB],
  budgetNs: 20e9,
  devices: "all",
};

/** Whether to compare nodes; listed cells name their own. */
export function comparesNodes({ numa, cells }: Pick<RunSettings, "numa" | "cells">): boolean {
  return numa === "all" && cells === null;
}

export function refuseBesideNodes(settings: RunSettings): void {
  const { together, besides, pipelineChunks, blockSizesBytes, workerKinds } = settings;
  const [flag] = [
    ...(together ? ["--together"] : []),
    ...(besides.some((beside) => beside !== "none") ? ["--beside"] : []),
    ...(pipelineChunks === null ? [] : ["--pipeline"]),
    ...(blockSizesBytes === null ? [] : ["--blocks"]),
    ...((workerKinds as readonly WorkerKind[]).includes("process") ? ["--worker-kind process"] : []),
  ];
  if (flag === undefined) return;
  throw new PinbenchError("usage", `--numa all and ${flag} exclude each other.`, {
    hint:
      flag === "--together"
        ? "--numa all measures all devices at once by itself."
        : `Leave ${flag} out, or name one node, such as --numa 0.`,
  });
}

/**
 * A plain cell at each placement, alone and on all devices (`ordinals`) at once. The CPUs' node matters only if they
 * touch the memory, so pinned copies use the CPUs nearest to it.
 */
export function cellsAtPlacements(plain: Cell, all: readonly NumaPlacement[], ordinals: number[]): Cell[] {
  const touchesMemory = plain.memory === "pageable" || plain.memory === "staged";
  const together = ordinals.length > 1 ? { together: ordinals } : null;
  return all
    .filter((placement) => touchesMemory || isNear(placement, all))
    .flatMap((placement) => [
      { ...plain, ...placement },
      ...(together === null || plain.mode === "latency" ? [] : [{ ...plain, ...together, ...placement }]),
    ]);
}

export function placementOf({ cpuNode, memoryNode }: VariantFields): NumaPlacement | null {
  return cpuNode === undefined || memoryNode === undefined ? null : { cpuNode, memoryNode };
}

/** Distinct placements of these cells in order; null stands for cells without nodes. */
export function placementsOf(cells: readonly Cell[]): (NumaPlacement | null)[] {
  const found = new Map(cells.map((cell) => [`${cell.cpuNode} ${cell.memoryNode}`, placementOf(cell)]));
  return [...found.values()];
}

export function isAt(cell: Cell, placement: NumaPlacement | null): boolean {
  return cell.cpuNode === placement?.cpuNode && cell.memoryNode === placement?.memoryNode;
}
