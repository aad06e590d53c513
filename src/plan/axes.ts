import { PinbenchError } from "../errors.js";
import type { Cache, Direction, Memory, Mode, Timer } from "../native/contract.js";
import { caches, inOrder, modes, timers } from "./choices.js";
import { type PresetName, presets } from "./presets.js";
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
      devices: selectDevices(facts),
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

function selectDevices(facts: PlanFacts): PlanDevice[] {
  const ordinals = facts.devices.map((device) => device.ordinal);
  const missing = facts.selectedDevices.find((ordinal) => !ordinals.includes(ordinal));
  if (missing !== undefined) {
    const there = ordinals.length === 0 ? "no device" : `only ${ordinals.join(", ")}`;
    throw new PinbenchError("unavailable", `There is no device ${missing}: the driver reports ${there}.`, {
      hint: "`pinbench devices` lists them.",
    });
  }
  const selected = facts.devices.filter((device) => facts.selectedDevices.includes(device.ordinal));
  if (selected.length === 0) throw new PinbenchError("unavailable", "There is no device to measure.");
  return selected;
}

/** Worker counts of the preset stay within the usable CPUs; those asked for are taken, with a warning. */
function resolveWorkers(
  asked: readonly number[] | null,
  ofPreset: readonly number[],
  cpusUsable: number,
  notes: string[],
): number[] {
  const workers = ascending(asked ?? ofPreset);
  const tooMany = workers.filter((count) => count > Math.max(1, cpusUsable));
  if (tooMany.length === 0) return workers;
  const cpus = cpusUsable === 1 ? "only 1 CPU is usable" : `only ${cpusUsable} CPUs are usable`;
  if (asked !== null) {
    notes.push(`${tooMany.join(", ")} workers: ${cpus}, so they take turns and their figures suffer.`);
    return workers;
  }
  notes.push(`Left out ${tooMany.join(", ")} workers: ${cpus}.`);
  return workers.filter((count) => !tooMany.includes(count));
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Most threads of one team. */
const maxWorkers = 1024;

/** Throws a usage error for a size that is none, a count of workers that is none, and an axis without a value. */
function checkAxes(request: PlanRequest): void {
  for (const sizeBytes of request.sizesBytes ?? []) {
    if (!(Number.isSafeInteger(sizeBytes) && sizeBytes >= 1)) {
      throw new PinbenchError(
        "usage",
        `A size cannot be ${sizeBytes}: it is a whole number of bytes from 1 up.`,
      );
    }
  }
  for (const workers of request.workers ?? []) {
    if (!(Number.isInteger(workers) && workers >= 1 && workers <= maxWorkers)) {
      throw new PinbenchError(
        "usage",
        `A cell cannot have ${workers} workers: it has from 1 to ${maxWorkers} threads a direction.`,
        { hint: "More workers than CPUs seldom gain anything; try 1,2,4." },
      );
    }
  }
  const { sizesBytes, workers, memory, modes, timers, caches } = request;
  const axes = { sizes: sizesBytes, workers, memory, directions: request.directions, modes, timers, caches };
  for (const [name, values] of Object.entries(axes)) {
    if (values?.length === 0) throw new PinbenchError("usage", `The list of ${name} is empty.`);
  }
}
