import { PinbenchError } from "../errors.js";
import type { NumaPlacement } from "../host/numa-nodes.js";
import {
  type Beside,
  besides,
  type Cache,
  caches,
  copiesHostMemory,
  type Direction,
  directions,
  hostMemories,
  inOrder,
  type Memory,
  type Mode,
  memories,
  modes,
  type WorkerKind,
  workerKinds,
} from "../settings/choices.js";
import { type Preset, type PresetName, presets } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { ascending } from "../stats/order-statistics.js";
import { type BlockAxes, blockAxes, presetOfBlocks, requestedBlocks, searchesBlocks } from "./blocks.js";
import {
  beyondCpus,
  describeCpus,
  type PlanDevice,
  type PlanFacts,
  selectDevices,
  turnsNote,
} from "./facts.js";
import { comparesNodes, numaPreset, refuseBesideNodes } from "./numa.js";

export interface Axes extends BlockAxes {
  devices: readonly PlanDevice[];
  directions: readonly Direction[];
  memory: readonly Memory[];
  sizesBytes: readonly number[];
  workers: readonly number[];
  modes: readonly Mode[];
  caches: readonly Cache[];
  workerKinds: readonly WorkerKind[];
  /** Whether to measure the devices at the same time, in addition to each alone. */
  together: boolean;
  /** Memory to measure on all devices at once, only in throughput mode; null for all kinds and modes. */
  togetherMemory: readonly Memory[] | null;
  /** A preset's sizes and memory for latency; null if they are those for throughput. */
  latency: Preset["latency"] | null;
  /** Always includes "none": a copy's loss during a load is relative to it. */
  besides: readonly Beside[];
  /** Chunk counts of the pipeline; empty without one. Always includes 1, which overlaps nothing. */
  pipelineChunks: readonly number[];
  /** NUMA nodes to compare, with all cells at each; null for the device's own. */
  placements: readonly NumaPlacement[] | null;
}

export interface ResolvedAxes {
  axes: Axes;
  /** The preset that filled in open settings; null if none were open. */
  preset: PresetName | null;
  /** Whether sizes and worker counts come from the preset, so that they may be dropped if they do not fit. */
  sizesOpen: boolean;
  workersOpen: boolean;
  notes: string[];
}

/**
 * Completes the settings from their preset. Throws a usage error for invalid or contradictory values, and "unavailable"
 * for a missing device.
 */
export function resolveAxes(settings: RunSettings, facts: PlanFacts): ResolvedAxes {
  checkAxes(settings);
  const presetName = settings.preset ?? "default";
  const blocks = requestedBlocks(settings);
  const hasBlocks = blocks.length > 0;
  const isOfNodes = comparesNodes(settings);
  if (isOfNodes) refuseBesideNodes(settings);
  const preset = hasBlocks
    ? presetOfBlocks(presets[presetName], blocks, searchesBlocks(settings))
    : isOfNodes && settings.preset === null
      ? numaPreset
      : presets[presetName];
  const notes: string[] = [];
  const { sizesBytes, workers, memory, directions, pipelineChunks, origins } = settings;
  const devices = resolveDevices(settings, preset, facts);
  const isPresetTogether = preset.togetherMemory !== undefined && !settings.together && devices.length > 1;
  const latency = (origins.modes === undefined && memory === null ? preset.latency : undefined) ?? null;
  return {
    axes: {
      devices,
      ...resolveRoutes(settings, preset),
      sizesBytes: ascending(sizesBytes ?? preset.sizesBytes),
      workers: resolveWorkers(workers, preset.workers, facts.cpusUsable, notes),
      modes: inOrder(modes, latency === null ? settings.modes : [...settings.modes, "latency"]),
      caches: inOrder(caches, settings.caches),
      workerKinds: inOrder(workerKinds, settings.workerKinds),
      together: settings.together || isPresetTogether,
      togetherMemory: isPresetTogether ? (preset.togetherMemory ?? null) : null,
      latency,
      besides: inOrder(besides, ["none", ...settings.besides]),
      pipelineChunks: pipelineChunks === null ? [] : ascending([1, ...pipelineChunks]),
      placements: isOfNodes ? facts.numaPlacements : null,
      ...blockAxes(blocks, settings),
    },
    preset: !hasBlocks && [sizesBytes, workers, memory, directions].includes(null) ? presetName : null,
    sizesOpen: sizesBytes === null && !hasBlocks,
    workersOpen: workers === null && !hasBlocks,
    notes,
  };
}

/** All devices by default if settings need several, or for some presets. Throws if such settings get only one. */
function resolveDevices(settings: RunSettings, preset: Preset, facts: PlanFacts): PlanDevice[] {
  const isBetween = settings.directions?.includes("p2p") ?? false;
  const takesSeveral = settings.together || isBetween;
  const isRequested = settings.origins.devices !== undefined;
  const devices = selectDevices(
    facts,
    (takesSeveral || preset.devices === "all") && !isRequested ? "all" : settings.devices,
  );
  if (takesSeveral && devices.length < 2) {
    const flag = isBetween ? "--direction p2p" : "--together";
    throw new PinbenchError(
      "usage",
      `${flag} needs at least two devices, and ${isRequested ? "one was chosen" : "there is one"}.`,
      {
        hint: isRequested
          ? "Choose several with --device 0,1 or --device all."
          : "`pinbench devices` lists them.",
      },
    );
  }
  return devices;
}

/** A preset's worker counts stay within the usable CPUs. Requested ones are kept, with a warning. */
function resolveWorkers(
  requested: readonly number[] | null,
  ofPreset: readonly number[],
  cpusUsable: number,
  notes: string[],
): number[] {
  const workers = ascending(requested ?? ofPreset);
  const tooMany = beyondCpus(workers, cpusUsable);
  if (tooMany.length === 0) return workers;
  if (requested !== null) {
    notes.push(turnsNote(tooMany, cpusUsable));
    return workers;
  }
  notes.push(`Left out ${tooMany.join(", ")} workers: ${describeCpus(cpusUsable)}.`);
  return workers.filter((count) => !tooMany.includes(count));
}

function checkAxes(settings: RunSettings): void {
  settings.sizesBytes?.forEach(checkSize);
  settings.workers?.forEach(checkWorkers);
  const { sizesBytes, workers, memory, directions, modes, caches, pipelineChunks } = settings;
  const kinds = { "worker kinds": settings.workerKinds, loads: settings.besides, chunks: pipelineChunks };
  const axes = {
    sizes: sizesBytes,
    workers,
    memory,
    directions,
    modes,
    caches,
    ...kinds,
    blocks: settings.blockSizesBytes,
  };
  for (const [name, values] of Object.entries(axes)) {
    if (values?.length === 0) throw new PinbenchError("usage", `The list of ${name} is empty.`);
  }
}

/**
 * Directions and kinds of memory to combine; device memory goes only with d2d and p2p. Missing ones follow
 * from the others or the preset. Throws a usage error for a requested value that no cell would use.
 */
function resolveRoutes(
  settings: RunSettings,
  preset: { directions: readonly Direction[]; memory: readonly Memory[] },
): { directions: Direction[]; memory: Memory[] } {
  const { directions: requestedDirections, memory: requestedMemory } = settings;
  const wantsDevice = requestedMemory?.includes("device") ?? false;
  const wantsHost = requestedMemory?.some((memory) => memory !== "device") ?? false;

  const chosenDirections = new Set<Direction>(
    requestedDirections ?? (wantsDevice && !wantsHost ? [] : preset.directions),
  );
  if (requestedDirections === null && wantsDevice) chosenDirections.add("d2d");
  const usesHost = [...chosenDirections].some(copiesHostMemory);
  const usesDevice = ![...chosenDirections].every(copiesHostMemory);

  if (wantsHost && !usesHost) {
    const unused = hostMemories.filter((memory) => requestedMemory?.includes(memory)).join(", ");
    throw new PinbenchError(
      "usage",
      `Directions d2d and p2p copy only device memory, so memory ${unused} has no effect on them.`,
      {
        hint: "Leave --memory out, or add a direction such as h2d.",
      },
    );
  }
  if (wantsDevice && !usesDevice) {
    throw new PinbenchError(
      "usage",
      "Only directions d2d and p2p copy memory device, and neither is given.",
      {
        hint: "Add d2d or p2p to --direction, or leave device out of --memory.",
      },
    );
  }
  if (wantsDevice && !wantsHost && usesHost) {
    throw new PinbenchError(
      "usage",
      "Copies between host and device need host memory, and memory is only device.",
      {
        hint: "Add a memory kind such as pinned, or ask for --direction d2d alone.",
      },
    );
  }
  const chosenMemory = new Set<Memory>(usesHost ? (requestedMemory ?? preset.memory) : []);
  if (usesDevice) chosenMemory.add("device");
  return {
    directions: directions.filter((direction) => chosenDirections.has(direction)),
    memory: memories.filter((memory) => chosenMemory.has(memory)),
  };
}

const maxWorkers = 1024;

export function checkSize(sizeBytes: number): void {
  if (Number.isSafeInteger(sizeBytes) && sizeBytes >= 1) return;
  throw new PinbenchError(
    "usage",
    `A size cannot be ${sizeBytes}: it must be a whole number of bytes, at least 1.`,
  );
}

export function checkWorkers(workers: number): void {
  if (Number.isInteger(workers) && workers >= 1 && workers <= maxWorkers) return;
  throw new PinbenchError(
    "usage",
    `A cell cannot have ${workers} workers: it has from 1 to ${maxWorkers} threads a direction.`,
    { hint: "More workers than CPUs seldom gain anything; try 1,2,4." },
  );
}
