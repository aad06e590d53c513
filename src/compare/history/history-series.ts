import { devicesNamed, withDevices } from "../../results/cell-devices.js";
import { parseCellId } from "../../results/cell-id.js";
import type { HistoryEntry } from "../../results/history-entry.js";
import { kindOf } from "../../results/variant.js";
import { fitPieces } from "../../stats/piecewise-fit.js";
import { mean } from "../../stats/variance.js";
import { isControlledByHost } from "../evidence/host-covariate.js";
import { type OccasionCentres, recordedHostSlopes } from "../evidence/occasion-noise.js";
import { gpuSet, groupByOccasion } from "../occasions.js";
import { logSpeed, type Series } from "../series.js";

/** One figure in all checks of a history: a cell's, or one direction of a bidir cell. */
export interface HistorySeries extends Pick<Series, "cell" | "moved" | "unit"> {
  backend: HistoryEntry["backend"];
  /** Whether its checks compared every copy, which shortens samples. */
  comparesEveryCopy: boolean;
  /** Its points, in the order of the checks. */
  points: HistoryPoint[];
}

export interface HistoryPoint {
  /** Index of the check in the history. */
  check: number;
  /** In the series' unit. */
  figure: number;
  runs: number;
  /** Standard error of the figure's logarithm; null if unknown. */
  logError: number | null;
}

/**
 * The figures of a machine's checks by series, in the order of first appearance. A GPU and the emulated device have
 * separate series, and so do checks that compared every copy. A GPU has the number that its first check gave it. Figures
 * of cells with unknown ids are left out.
 */
export function joinHistory(entries: readonly HistoryEntry[]): HistorySeries[] {
  const joined = new Map<string, HistorySeries>();
  const cells = new Map<string, Series["cell"] | null>();
  const numbers = new Map<string, number>();
  for (const [check, { backend, verify, series, machine }] of entries.entries()) {
    const comparesEveryCopy = verify === "every";
    for (const { id } of series) if (!cells.has(id)) cells.set(id, cellOf(id));
    const uuids = uuidsByDevice(
      series.flatMap(({ id }) => cells.get(id) ?? []),
      machine,
    );
    for (const [device, uuid] of uuids) if (!numbers.has(uuid)) numbers.set(uuid, device);
    const numberOf = (device: number) => numbers.get(uuids.get(device) ?? "") ?? device;
    const isAsBefore = [...uuids.keys()].every((device) => numberOf(device) === device);
    for (const { id, moved, unit, figure, runs, logError } of series) {
      const own = cells.get(id) ?? null;
      const cell = own === null || isAsBefore ? own : withDevices(own, numberOf);
      if (cell === null) continue;
      const key = `${backend} ${comparesEveryCopy} ${cell.id} ${moved} ${unit}`;
      const known = joined.get(key) ?? { cell, moved, unit, backend, comparesEveryCopy, points: [] };
      joined.set(key, known);
      known.points.push({ check, figure, runs, logError });
    }
  }
  return [...joined.values()];
}

/** The UUIDs of a check's devices by number: both are in order. Empty if not each device has cells and a UUID. */
function uuidsByDevice(
  cells: readonly Series["cell"][],
  { gpuUuids }: HistoryEntry["machine"],
): Map<number, string> {
  const devices = [...new Set(cells.flatMap(devicesNamed))].sort((a, b) => a - b);
  return new Map(
    devices.length === gpuUuids.length ? devices.map((device, i) => [device, gpuUuids[i]!]) : [],
  );
}

function cellOf(id: string): Series["cell"] | null {
  try {
    return { id, ...parseCellId(id) };
  } catch {
    return null;
  }
}

/** The noise between occasions in a history's checks, for one series. */
export interface OccasionDeviations extends Pick<HistorySeries, "cell" | "moved" | "unit" | "backend"> {
  /** Its kind, which shares its noise: `kindOf()`. */
  kind: string;
  /** For each check: its log speed minus that of the series' course; below 0 is slower. */
  deviations: { startedAt: string; deviation: number; runs: number; logError: number | null }[];
  /** Degrees of freedom of these deviations: levels, slopes and places of the course were fitted to them. */
  degreesOfFreedom: number;
}

/**
 * Distances of each check's figures from their series' course: from the level between steps, or from the line of a
 * drift. A step is a change and no noise. The rest is a check's noise within its runs (`logError`) and the effect of
 * its occasion. Series of fewer than two checks are left out. Pure.
 */
export function occasionDeviations(entries: readonly HistoryEntry[]): OccasionDeviations[] {
  return joinHistory(entries).flatMap((series) => {
    const { cell, moved, unit, backend, points } = series;
    if (points.length < 2) return [];
    const speeds = points.map(({ figure }) => logSpeed(series, figure));
    const fit = fitPieces(points.map(({ logError }, i) => ({ value: speeds[i]!, error: logError })))!;
    const deviations = points.map(({ check, runs, logError }, i) => {
      return { startedAt: entries[check]!.startedAt, deviation: fit.residuals[i]!, runs, logError };
    });
    const degreesOfFreedom = Math.max(1, points.length - fit.parameters);
    return [{ cell, moved, unit, backend, kind: kindOf(series), deviations, degreesOfFreedom }];
  });
}

/** Failed checks: they measured a loss, or were wrong, which is no noise. */
const failedOutcomes: readonly string[] = ["regression", "failed", "mismatch"];

/**
 * The noise between occasions in a history's checks on one backend: for each kind a source for each machine, with each
 * series' mean deviation on each occasion, without the part that the host's memory explains. Failed checks are left
 * out. A series that an occasion lacks has fewer.
 */
export function historyCentres(
  entries: readonly HistoryEntry[],
  backend: HistoryEntry["backend"],
): Readonly<Record<string, readonly OccasionCentres[]>> {
  const before = known.get(entries)?.[backend];
  if (before !== undefined) return before;
  const usable = entries.filter(
    (entry) => entry.backend === backend && !failedOutcomes.includes(entry.outcome),
  );
  const byKind: Record<string, OccasionCentres[]> = {};
  for (const ofMachine of byMachine(usable)) {
    for (const [kind, centres] of Object.entries(centresOfMachine(ofMachine))) {
      byKind[kind] = [...(byKind[kind] ?? []), centres];
    }
  }
  known.set(entries, { ...known.get(entries), [backend]: byKind });
  return byKind;
}

/** Cache by the list of entries, which never changes: a check asks after each of its processes. */
const known = new WeakMap<
  readonly HistoryEntry[],
  Partial<Record<HistoryEntry["backend"], ReturnType<typeof historyCentres>>>
>();

/**
 * The entries by machine, in the order of first checks: by GPUs, or by host name if these are unknown. Entries of
 * unknown machines are together.
 */
export function byMachine<Entry extends Pick<HistoryEntry, "machine">>(entries: readonly Entry[]): Entry[][] {
  const machines = new Map<string, Entry[]>();
  for (const entry of entries) {
    const { gpuUuids, hostName } = entry.machine;
    const key = gpuUuids.length > 0 ? gpuSet(gpuUuids) : hostName.join();
    machines.set(key, [...(machines.get(key) ?? []), entry]);
  }
  return [...machines.values()];
}

function centresOfMachine(entries: readonly HistoryEntry[]): Readonly<Record<string, OccasionCentres>> {
  const all = occasionDeviations(entries);
  const host = new Map<string, number[]>();
  for (const { startedAt, deviation } of all.flatMap((one) => (one.kind === "host" ? one.deviations : []))) {
    host.set(startedAt, [...(host.get(startedAt) ?? []), deviation]);
  }
  const byKind: Record<string, number[][]> = {};
  for (const { kind, cell, deviations, degreesOfFreedom } of all) {
    // The fit of the course reduced the variance of the deviations by this.
    const inflation = Math.sqrt((deviations.length - 1) / degreesOfFreedom);
    const slope = isControlledByHost(cell) ? (recordedHostSlopes[kind]?.slope ?? 0) : 0;
    const unexplained = deviations.map(({ startedAt, deviation }) => ({
      startedAt,
      deviation: inflation * (deviation - slope * mean(host.get(startedAt) ?? [0])),
    }));
    const centres = groupByOccasion(unexplained).map((group) =>
      mean(group.map(({ deviation }) => deviation)),
    );
    byKind[kind] = [...(byKind[kind] ?? []), centres];
  }
  return byKind;
}
