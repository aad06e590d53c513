import { PinbenchError } from "../errors.js";
import {
  type Cache,
  caches,
  type Direction,
  inOrder,
  type Memory,
  type Mode,
  modes,
  type Timer,
  timers,
} from "../settings/choices.js";
import { type PresetName, presets } from "../settings/presets.js";
import { beyondCpus, checkSize, checkWorkers, describeCpus, selectDevices, turnsNote } from "./bounds.js";
import type { PlanDevice, PlanFacts, PlanRequest } from "./request.js";
import { resolveRoutes } from "./routes.js";

/** The values whose combinations are the cells, each list in table order and without repeats. */
export interface Axes {
  devices: readonly PlanDevice[];
  directions: readonly Direction[];
  memory: readonly Memory[];
  sizesBytes: readonly number[];
  workers: readonly number[];
  modes: readonly Mode[];
  timers: readonly Timer[];
  caches: readonly Cache[];
}

export interface ResolvedAxes {
  axes: Axes;
  /** The preset that filled in what was left open; null where it had nothing to fill in. */
  preset: PresetName | null;
  /** Whether sizes and worker counts are the preset's: those may be left out where they do not fit. */
  sizesOpen: boolean;
  workersOpen: boolean;
  notes: string[];
}

/**
 * Completes the request from its preset. Throws a usage error for values that make no sense, alone or together, and
 * "unavailable" for a device that is not there.
 */
export function resolveAxes(request: PlanRequest, facts: PlanFacts): ResolvedAxes {
  checkAxes(request);
  const presetName = request.preset ?? "default";
  const preset = presets[presetName];
  const notes: string[] = [];
  const open = (axis: readonly unknown[] | null | undefined) => axis === null || axis === undefined;
  const presetFills = [request.sizesBytes, request.workers, request.memory, request.directions].some(open);
  return {
    axes: {
      devices: selectDevices(facts, facts.selectedDevices),
      ...resolveRoutes(request, preset),
      sizesBytes: ascending(request.sizesBytes ?? preset.sizesBytes),
      workers: resolveWorkers(request.workers ?? null, preset.workers, facts.cpusUsable, notes),
      modes: inOrder(modes, request.modes ?? ["throughput"]),
      timers: inOrder(timers, request.timers ?? ["wall"]),
      caches: inOrder(caches, request.caches ?? ["cold"]),
    },
    preset: presetFills ? presetName : null,
    sizesOpen: open(request.sizesBytes),
    workersOpen: open(request.workers),
    notes,
  };
}

/** Worker counts of the preset stay within the usable CPUs; those asked for are taken, with a warning. */
function resolveWorkers(
  asked: readonly number[] | null,
  ofPreset: readonly number[],
  cpusUsable: number,
  notes: string[],
): number[] {
  const workers = ascending(asked ?? ofPreset);
  const tooMany = beyondCpus(workers, cpusUsable);
  if (tooMany.length === 0) return workers;
  if (asked !== null) {
    notes.push(turnsNote(tooMany, cpusUsable));
    return workers;
  }
  notes.push(`Left out ${tooMany.join(", ")} workers: ${describeCpus(cpusUsable)}.`);
  return workers.filter((count) => !tooMany.includes(count));
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Throws a usage error for a size that is none, a count of workers that is none, and an axis without a value. */
function checkAxes(request: PlanRequest): void {
  request.sizesBytes?.forEach(checkSize);
  request.workers?.forEach(checkWorkers);
  const { sizesBytes, workers, memory, modes, timers, caches } = request;
  const axes = { sizes: sizesBytes, workers, memory, directions: request.directions, modes, timers, caches };
  for (const [name, values] of Object.entries(axes)) {
    if (values?.length === 0) throw new PinbenchError("usage", `The list of ${name} is empty.`);
  }
}
