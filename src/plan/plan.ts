import type { PresetName } from "../settings/presets.js";
import { resolveAxes } from "./axes.js";
import { listCells } from "./cell-list.js";
import { type DurationEstimate, estimateDuration } from "./duration.js";
import { type Draft, doesNotFit, firstThatFits } from "./fit.js";
import { type PlannedArenas, planArenas } from "./geometry.js";
import { findExcess, pinnedLimitBytes } from "./limits.js";
import { type MemoryNeed, memoryNeed } from "./memory-need.js";
import { combine, measurableCells, type PlannedCell } from "./planned-cells.js";
import type { PlanDevice, PlanFacts, PlanRequest } from "./request.js";
import { resolveSettings, type Settings, type Stopping } from "./settings.js";

/** What a run will do, decided before it touches the device. */
export interface Plan {
  /** The preset that filled in what the request left open; null where it left nothing open or listed its cells. */
  preset: PresetName | null;
  /** In the order of measuring; those with a `skipReason` are only listed. */
  cells: PlannedCell[];
  /** What every device's session reserves; the skipped cells have no part in it. */
  arenas: PlannedArenas;
  /** Memory of one device's session (they follow one another); rough times of the whole run. */
  estimate: MemoryNeed & DurationEstimate;
  /** Most bytes that any part of the run may pin. */
  maxPinnedBytes: number;
  stopping: Stopping;
  staging: Settings["staging"];
  verify: boolean;
  seed: number;
  /** What the preset left out on this machine and why, and warnings about what was asked for. */
  notes: string[];
}

/**
 * The cells to measure and the memory they need. Pure: the same request and facts give the same plan.
 * Throws PinbenchError: "usage" for a request that makes no sense, "limit" for one that needs more than there is,
 * "unavailable" for a missing device, "unsupported" where none of the cells can be measured here.
 */
export function plan(request: PlanRequest, facts: PlanFacts): Plan {
  const settings = resolveSettings(request);
  const { preset, devices, notes, draft } = choose(request, settings, facts);
  const { cells, measurable, arenas, need } = draft;
  return {
    preset,
    cells,
    arenas,
    estimate: {
      ...need,
      ...estimateDuration(
        { cells: measurable, arenas, settings, deviceCount: devices.length },
        facts.emulated,
      ),
    },
    maxPinnedBytes: pinnedLimitBytes(facts, settings.maxPinnedBytes),
    stopping: settings.stopping,
    staging: settings.staging,
    verify: settings.verify,
    seed: settings.seed,
    notes,
  };
}

interface PlanDraft extends Draft {
  cells: PlannedCell[];
  measurable: PlannedCell[];
  arenas: PlannedArenas;
  need: MemoryNeed;
}

interface Choice {
  preset: PresetName | null;
  devices: readonly PlanDevice[];
  notes: string[];
  draft: PlanDraft;
}

/** The cells, from the list or the axes. A list is taken as it is or not at all. */
function choose(request: PlanRequest, settings: Settings, facts: PlanFacts): Choice {
  if (request.cells != null) {
    const { devices, cells, notes } = listCells(request.cells, facts);
    const draft = draftOf(cells, devices, settings, facts);
    if (draft.excess !== null) throw doesNotFit(draft.excess);
    return { preset: null, devices, notes, draft };
  }
  const resolved = resolveAxes(request, facts);
  const { axes, preset } = resolved;
  const notes = [...resolved.notes];
  const draft = firstThatFits(
    resolved,
    (sizesBytes, workers) =>
      draftOf(combine({ ...axes, sizesBytes, workers }, facts), axes.devices, settings, facts),
    notes,
  );
  return { preset, devices: axes.devices, notes, draft };
}

function draftOf(
  cells: PlannedCell[],
  devices: readonly PlanDevice[],
  settings: Settings,
  facts: PlanFacts,
): PlanDraft {
  const measurable = measurableCells(cells);
  const arenas = planArenas(measurable, settings.staging);
  const need = memoryNeed(arenas);
  const sizesBytes = cells.map((cell) => cell.sizeBytes);
  const excess = findExcess({ sizesBytes, devices, need }, facts, settings.maxPinnedBytes);
  return { cells, measurable, arenas, need, excess };
}
