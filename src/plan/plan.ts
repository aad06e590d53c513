import { parseCellId } from "../results/cell-id.js";
import { type PresetName, presets } from "../settings/presets.js";
import type { RunSettings } from "../settings/settings.js";
import { type ResolvedAxes, resolveAxes } from "./axes.js";
import { combine, listCells, measurableCells, type PlannedCell } from "./cells.js";
import { type DurationEstimate, estimateDuration } from "./duration.js";
import type { PlanDevice, PlanFacts } from "./facts.js";
import { type MemoryNeed, memoryNeed, type PlannedArenas, planArenas } from "./geometry.js";
import { doesNotFit, type Excess, findExcess, firstThatFits, pinnedLimitBytes } from "./limits.js";

/** When a cell has been measured enough. */
export interface Stopping {
  /** Relative half-width of the median's interval at which a cell has converged. */
  precision: number;
  /** Measuring time of the whole sweep. */
  budgetNs: number;
  /** A fixed count instead; null where precision and budget decide. */
  samplesPerCell: number | null;
}

/** What a run will do, decided before it touches the device. */
export interface Plan {
  /** What was asked for. */
  settings: RunSettings;
  /** The preset that filled in what the settings left open; null where they left nothing open or list their cells. */
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
  /** What the preset left out on this machine and why, and warnings about what was asked for. */
  notes: string[];
}

/**
 * The cells to measure and the memory they need. Pure: the same settings and facts give the same plan.
 * Throws PinbenchError: "usage" for settings that make no sense together, "limit" for those that need more than there
 * is, "unavailable" for a missing device, "unsupported" where none of the cells can be measured here.
 */
export function plan(settings: RunSettings, facts: PlanFacts): Plan {
  const { preset, devices, notes, draft } =
    settings.cells === null ? fromAxes(settings, facts) : fromList(settings, settings.cells, facts);
  const { cells, measurable, arenas, need } = draft;
  const { precision, samplesPerCell } = settings;
  const budgetNs = settings.budgetNs ?? presets[settings.preset ?? "default"].budgetNs;
  const stopping = { precision, budgetNs, samplesPerCell };
  const work = { cells: measurable, arenas, stopping, verify: settings.verify, deviceCount: devices.length };
  return {
    settings,
    preset,
    cells,
    arenas,
    estimate: { ...need, ...estimateDuration(work, facts.emulated) },
    maxPinnedBytes: pinnedLimitBytes(facts, settings.maxPinnedBytes),
    stopping,
    notes,
  };
}

interface Draft {
  cells: PlannedCell[];
  measurable: PlannedCell[];
  arenas: PlannedArenas;
  need: MemoryNeed;
  /** Null where it fits this machine. */
  excess: Excess | null;
}

interface Choice {
  preset: PresetName | null;
  devices: readonly PlanDevice[];
  notes: string[];
  draft: Draft;
}

/** A list is taken as it is or not at all. */
function fromList(settings: RunSettings, ids: readonly string[], facts: PlanFacts): Choice {
  const { devices, cells, notes } = listCells(ids.map(parseCellId), facts);
  const draft = draftOf(cells, devices, settings, facts);
  if (draft.excess !== null) throw doesNotFit(draft.excess);
  return { preset: null, devices, notes, draft };
}

function fromAxes(settings: RunSettings, facts: PlanFacts): Choice {
  const resolved: ResolvedAxes = resolveAxes(settings, facts);
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
  settings: RunSettings,
  facts: PlanFacts,
): Draft {
  const measurable = measurableCells(cells);
  const arenas = planArenas(measurable, {
    chunkBytes: settings.stagingChunkBytes,
    slots: settings.stagingSlots,
  });
  const need = memoryNeed(arenas);
  const sizesBytes = cells.map((cell) => cell.sizeBytes);
  const excess = findExcess({ sizesBytes, devices, need }, facts, settings.maxPinnedBytes);
  return { cells, measurable, arenas, need, excess };
}
