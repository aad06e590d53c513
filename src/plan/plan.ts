import { parseCellId } from "../results/cell-id.js";
import { type PresetName, presets } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { formatSize } from "../settings/units.js";
import { type ResolvedAxes, resolveAxes } from "./axes.js";
import { searchBudgetNs, searchedCells, searchesBlocks } from "./blocks.js";
import {
  combine,
  devicesOf,
  listCells,
  measurableCells,
  plannedCell,
  takesSeveralDevices,
  withHostControls,
} from "./cells.js";
import type { PlanDevice, PlanFacts } from "./facts.js";
import {
  type MemoryNeed,
  memoryNeed,
  type PlannedArenas,
  type PlannedCell,
  planArenas,
  planProcessArenas,
  withSpareBuffer,
} from "./geometry.js";
import {
  doesNotFit,
  type Excess,
  findExcess,
  type HostLoad,
  hostLoad,
  loadNeed,
  pinnedLimitBytes,
} from "./limits.js";
import { comparesNodes, isAt, numaPreset, placementsOf } from "./numa.js";
import { pinningSizes } from "./pinning-sizes.js";

export interface Stopping {
  precision: number;
  /** Measuring time of the whole sweep. */
  budgetNs: number;
  /** Fixed number of samples; null if precision and budget decide. */
  samplesPerCell: number | null;
  isHard: boolean;
}

export interface Plan {
  settings: RunSettings;
  /** The preset that filled in open settings; null if none were open, or the cells are listed. */
  preset: PresetName | null;
  /** In the order of measuring; those with a `skipReason` are only listed. */
  cells: PlannedCell[];
  /** Cells that a search for block sizes may add; empty without a search. */
  candidates: PlannedCell[];
  /** Memory that every device's session reserves, without skipped cells. */
  arenas: PlannedArenas;
  processArenas: PlannedArenas[];
  /** Memory that the run uses at one time. */
  need: MemoryNeed;
  hostLoad: HostLoad;
  maxPinnedBytes: number;
  pinningSizesBytes: number[];
  stopping: Stopping;
  /** What the preset dropped on this machine and why, and warnings about requests. */
  notes: string[];
}

/**
 * The cells to measure, and the memory they need. Pure: equal settings and facts give an equal plan. Throws
 * PinbenchError: "usage" for contradictory settings, "limit" if they need too much, "unavailable" for a missing device,
 * "unsupported" if no cell can be measured here.
 */
export function plan(settings: RunSettings, facts: PlanFacts): Plan {
  const { preset, notes, draft } =
    settings.cells === null ? fromAxes(settings, facts) : fromList(settings, settings.cells, facts);
  const { cells, candidates, measurable, arenas, processArenas, need } = draft;
  const { precision, samplesPerCell } = settings;
  const usualBudgetNs = searchesBlocks(settings)
    ? searchBudgetNs
    : comparesNodes(settings) && settings.preset === null
      ? numaPreset.budgetNs
      : presets[settings.preset ?? "default"].budgetNs;
  const budgetNs = settings.budgetNs ?? usualBudgetNs;
  const isHard = comparesNodes(settings) && settings.budgetNs !== null && samplesPerCell === null;
  const stopping = { precision, budgetNs, samplesPerCell, isHard };
  const maxPinnedBytes = pinnedLimitBytes(facts, settings.maxPinnedBytes);
  const pinningSizesBytes = pinningSizes(measurable, maxPinnedBytes);
  return {
    settings,
    preset,
    cells,
    candidates,
    arenas,
    processArenas,
    need,
    hostLoad: hostLoad(measurable, facts),
    maxPinnedBytes,
    pinningSizesBytes,
    stopping,
    notes,
  };
}

interface Draft {
  cells: PlannedCell[];
  candidates: PlannedCell[];
  measurable: PlannedCell[];
  arenas: PlannedArenas;
  processArenas: PlannedArenas[];
  need: MemoryNeed;
  /** Null if it fits this machine. */
  excess: Excess | null;
  notes: string[];
}

interface Choice {
  preset: PresetName | null;
  notes: string[];
  draft: Draft;
}

function fromList(settings: RunSettings, ids: readonly string[], facts: PlanFacts): Choice {
  const { devices, cells, notes } = listCells(ids.map(parseCellId), facts);
  const draft = draftWithControls(cells, devices, settings, facts);
  if (draft.excess !== null) throw doesNotFit(draft.excess);
  return { preset: null, notes: [...notes, ...draft.notes], draft };
}

function fromAxes(settings: RunSettings, facts: PlanFacts): Choice {
  const resolved: ResolvedAxes = resolveAxes(settings, facts);
  const { preset } = resolved;
  const notes = [...resolved.notes];
  const draft = firstThatFits(resolved, settings, facts, notes);
  return { preset, notes: [...notes, ...draft.notes], draft };
}

/**
 * The first draft that fits: everything, then without the preset's largest sizes, then without its largest worker
 * counts (and all sizes again). Never drops requested values. Notes what was dropped; throws a limit error if even the
 * smallest draft does not fit.
 */
function firstThatFits(
  { axes, sizesOpen, workersOpen }: ResolvedAxes,
  settings: RunSettings,
  facts: PlanFacts,
  notes: string[],
): Draft {
  const draftWith = (sizesBytes: readonly number[], workers: readonly number[]) =>
    draftWithControls(combine({ ...axes, sizesBytes, workers }, facts), axes.devices, settings, facts);
  const whole = draftWith(axes.sizesBytes, axes.workers);
  if (whole.excess === null) return whole;
  let lastExcess = whole.excess;
  for (const workers of workersOpen ? prefixes(axes.workers) : [axes.workers]) {
    for (const sizesBytes of sizesOpen ? prefixes(axes.sizesBytes) : [axes.sizesBytes]) {
      const draft = draftWith(sizesBytes, workers);
      if (draft.excess === null) {
        const left = [
          axes.sizesBytes.slice(sizesBytes.length).map(formatSize).join(", "),
          workerNames(axes.workers.slice(workers.length)),
        ].filter((name) => name !== "");
        notes.push(
          `Left out ${left.join(" and ")}, because otherwise the plan does not fit: ${whole.excess.reason}.`,
        );
        return draft;
      }
      lastExcess = draft.excess;
    }
  }
  throw doesNotFit(axes.blocks.length > 0 ? { ...lastExcess, hint: hintOfBlocks } : lastExcess);
}

const hintOfBlocks = "Ask for smaller blocks, fewer workers, or one kind of --memory.";

/** The list, then each time without its last entry, down to one entry. */
function prefixes(values: readonly number[]): (readonly number[])[] {
  return values.map((_, dropped) => values.slice(0, values.length - dropped));
}

function workerNames(workers: readonly number[]): string {
  return workers.length === 0 ? "" : `${workers.join(", ")} workers`;
}

/** Adds the host controls, unless they do not fit: nobody requested them. */
function draftWithControls(
  cells: PlannedCell[],
  devices: readonly PlanDevice[],
  settings: RunSettings,
  facts: PlanFacts,
): Draft {
  const controlled = draftOf(withHostControls(cells, facts), devices, settings, facts);
  if (controlled.excess === null || controlled.cells.length === cells.length) return controlled;
  const { reason } = controlled.excess;
  const note = `Left out the control of host memory, because otherwise the plan does not fit: ${reason}.`;
  return { ...draftOf(cells, devices, settings, facts), notes: [note] };
}

function draftOf(
  cells: PlannedCell[],
  devices: readonly PlanDevice[],
  settings: RunSettings,
  facts: PlanFacts,
): Draft {
  const measurable = measurableCells(cells);
  const deviceOf = (cell: PlannedCell) => devices.find(({ ordinal }) => ordinal === cell.device)!;
  const candidates = searchesBlocks(settings)
    ? searchedCells(measurable).map((cell) => plannedCell(cell, deviceOf(cell), facts))
    : [];
  const reserved = [...measurable, ...candidates].map((cell) => withSpareBuffer(cell, settings.verify));
  const ofThreads = reserved.filter(({ workerKind }) => workerKind !== "process");
  const arenas = planArenas(ofThreads);
  const processArenas = planProcessArenas(reserved);
  const devicesAtOnce = takesSeveralDevices(measurable) ? devicesOf(measurable).length : 1;
  const needOf = (some: PlannedArenas) =>
    memoryNeed({ arenas: some, processArenas }, { devicesAtOnce, emulated: facts.emulated });
  const ofLoads = loadNeed(measurable, devices, facts);
  const drafted = (ofCells: MemoryNeed): Draft => {
    const need = {
      ...ofCells,
      hostBytes: ofCells.hostBytes + ofLoads.hostBytes,
      deviceBytes: ofCells.deviceBytes + ofLoads.deviceBytes,
    };
    const excess = findExcess({ devices, need }, facts, settings.maxPinnedBytes);
    return { cells, candidates, measurable, arenas, processArenas, need, excess, notes: [] };
  };
  const needs = placementsOf(measurable).map((placement) =>
    needOf(planArenas(ofThreads.filter((cell) => isAt(cell, placement)))),
  );
  const atOnce = needs.length < 2 ? null : drafted(needOfAll(needs));
  return atOnce?.excess === null ? atOnce : drafted(needOf(arenas));
}

function needOfAll(needs: readonly MemoryNeed[]): MemoryNeed {
  const sum = (key: "hostBytes" | "pinnedBytes" | "deviceBytes") =>
    needs.reduce((total, need) => total + need[key], 0);
  return {
    ...needs[0]!,
    placementsAtOnce: needs.length,
    hostBytes: sum("hostBytes"),
    pinnedBytes: sum("pinnedBytes"),
    deviceBytes: sum("deviceBytes"),
  };
}
