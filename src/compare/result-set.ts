import { readdir, stat } from "node:fs/promises";
import { errorCode, PinbenchError } from "../errors.js";
import type { SharingRecord } from "../host/other-programs.js";
import { variantFields } from "../results/cell-id.js";
import type { Cell, CellResult, Distribution } from "../results/cell-schema.js";
import { listBegunRuns, listRuns, listRunsIfAny } from "../results/files/run-folder.js";
import type { MachineNames } from "../results/history-entry.js";
import { lostShare, overTimeGBps } from "../results/over-time.js";
import { parseResult } from "../results/parse.js";
import type { DeviceRecord, LoadRecord, ResultDocument } from "../results/schema.js";
import type { BackendName } from "../settings/choices.js";
import type { RunSettings } from "../settings/table.js";
import type { Thresholds } from "../settings/thresholds.js";
import { readTextFile } from "../text-file.js";
import type { CellComparison, Comparison } from "./comparison.js";

/** The runs of one side of a comparison, never empty. */
export interface ResultSet {
  /** Their file or folder; null if they were just measured. */
  path: string | null;
  runs: readonly RunFigures[];
}

/** What a comparison keeps of a run: each cell's medians, but no samples, because a folder of runs has millions. */
export interface RunFigures {
  /** The run's id; copies of the run have the same. */
  id: string;
  path: string | null;
  startedAt: string;
  /** Duration; null if unknown. */
  wallNs: number | null;
  status: ResultDocument["run"]["status"];
  /** The tool that measured it, unless it was pinbench. */
  importedFrom: string | null;
  backend: ResultDocument["backend"];
  fingerprint: ResultDocument["fingerprint"];
  machine: MachineNames;
  links: DeviceLink[];
  /** Settings of the measurement; null if unknown, as for an imported result. */
  settings: MeasuredSettings | null;
  load: LoadRecord | null;
  sharing: readonly SharingRecord[];
  /** Last-level cache of the host, which determines the buffers of cold cells; null if unknown. */
  lastLevelCacheBytes: number | null;
  cells: CellFigures[];
}

export interface NamedDevice {
  device: number;
  uuid: string | null;
  pciBusId: string | null;
}

/** A device and its best link under load in any cell; unknown values are null. */
export interface DeviceLink extends NamedDevice {
  name: string;
  generation: number | null;
  width: number | null;
}

export function deviceNames({ links }: Pick<RunFigures, "links">): string[] {
  return links.map(({ name }) => name);
}

export interface CellFigures {
  cell: Cell & { id: string };
  /** Its id in the run itself, if `matchDevices()` renumbered devices. */
  ownId?: string;
  figures: CellFigure[];
  /** Why it has no figures; null if it has some. */
  absence: Absence | null;
}

/** The median of a run's samples, in GB/s or in microseconds a copy. */
interface CellFigure extends Pick<CellComparison, "moved" | "unit"> {
  value: number;
  /**
   * Share of time lost to slow copies (`lostShare()`), which medians do not show; null if unknown. Latencies use the
   * mean, too: it includes all copies, a tail percentile only few.
   */
  lostShare: number | null;
  /** Variance of the value's logarithm, from the median's interval; 0 if unknown. */
  sampleVariance: number;
}

export interface Absence {
  /** Kind of failure; null for skipped and interrupted measurements. */
  failure: "failed" | "mismatch" | null;
  reason: string;
}

/** What a comparison keeps of a result. `path`: its name in messages; null if it was just measured. */
export function runFigures(document: ResultDocument, path: string | null): RunFigures {
  return {
    id: document.run.id,
    path,
    startedAt: document.run.startedAt,
    wallNs: document.run.wallNs,
    status: document.run.status,
    importedFrom: document.importedFrom?.tool ?? null,
    backend: document.backend,
    fingerprint: document.fingerprint,
    machine: machineNames(document),
    links: document.devices.map((device) => deviceLink(device, document.cells)),
    settings: settingsOfResult(document),
    load: document.run.load,
    sharing: document.run.sharing ?? [],
    lastLevelCacheBytes: document.host?.lastLevelCacheBytes ?? null,
    cells: document.cells.map((cell) => cellFigures(cell, document.run)),
  };
}

function machineNames({ host, devices, backend }: ResultDocument): MachineNames {
  const isNamed = host !== null && host.container === null && host.hostname !== "unknown";
  const known = (names: readonly (string | null)[]) =>
    backend === "emulated" ? [] : names.filter((name) => name !== null);
  return {
    hostName: isNamed ? [host.hostname] : [],
    gpuUuids: known(devices.map(({ uuid }) => uuid)),
    pciAddresses: known(devices.map(({ pciBusId }) => pciBusId)),
  };
}

/** The best link over all cells, because an idle GPU lowers its link speed. */
function deviceLink(device: DeviceRecord, cells: readonly CellResult[]): DeviceLink {
  const { ordinal, name, uuid, pciBusId } = device;
  const ofCells = cells.filter((cell) => cell.device === ordinal).map(({ link }) => link);
  const links = [device.link, ...ofCells].filter((link) => link !== null);
  const best = (key: "generation" | "width") => {
    const known = links.flatMap((link) => link[key] ?? []);
    return known.length === 0 ? null : Math.max(...known);
  };
  return { device: ordinal, name, uuid, pciBusId, generation: best("generation"), width: best("width") };
}

/** The runs of a result: one per process with `run --runs`, otherwise one. `path` as in runFigures(). */
export function runsOf(document: ResultDocument, path: string | null): RunFigures[] {
  const whole = runFigures(document, path);
  const { runs } = document.run;
  if (runs == null || runs.length === 0) return [whole];
  return runs.map(({ id, startedAt, wallNs }, process) => ({
    ...whole,
    id,
    startedAt,
    wallNs,
    cells: document.cells.map((cell) => cellFigures(ofProcess(cell, process), document.run)),
  }));
}

/** A cell with one process' medians; a failure in one process fails the cell in all. */
function ofProcess(cell: CellResult, process: number): CellResult {
  const medianOf = <D extends Distribution>(distribution: D): D => ({
    ...distribution,
    median: distribution.processMedians?.[process] ?? distribution.median,
  });
  const stats = cell.stats.map((one) => ({
    ...one,
    bandwidthGBps: medianOf(one.bandwidthGBps),
    overTimeGBps: overTimeGBps(cell, one.direction, process),
    latencyUs: one.latencyUs && medianOf(one.latencyUs),
  }));
  return { ...cell, stats };
}

type CellFacts = Cell & Pick<CellResult, "id" | "stats" | "outcome" | "error" | "skipReason">;

export function cellFigures(
  cell: CellFacts,
  run: Pick<ResultDocument["run"], "status" | "error">,
): CellFigures {
  const { id, device, direction, memory, sizeBytes, workers, mode, cache } = cell;
  const absence = absenceOf(cell, run);
  return {
    cell: {
      id,
      device,
      direction,
      memory,
      sizeBytes,
      workers,
      mode,
      cache,
      ...variantFields(cell),
    },
    figures: absence === null ? figuresOf(cell) : [],
    absence,
  };
}

function absenceOf(
  { outcome, error, skipReason }: CellFacts,
  run: Pick<ResultDocument["run"], "status" | "error">,
): Absence | null {
  switch (outcome) {
    case "converged":
    case "budget":
      return null;
    case "mismatch":
      return { failure: "mismatch", reason: "the data came back wrong" };
    case "failed":
      return { failure: "failed", reason: `it failed: ${error?.message ?? "no reason is known"}` };
    case "skipped":
      return { failure: null, reason: `it was skipped: ${skipReason ?? "no reason is known"}` };
    case null:
      // If a device could not be opened, the run failed but none of its cells did: they were not left out on purpose.
      if (run.status === "failed") {
        return { failure: "failed", reason: `its run failed: ${run.error?.message ?? "no reason is known"}` };
      }
      return {
        failure: null,
        reason: `its run ${run.status === "aborted" ? "was interrupted" : "ended"} before it was finished`,
      };
  }
}

/** A cell has one figure. A bidir cell has one per direction, and in throughput mode one for their sum. */
function figuresOf({ stats, mode }: CellFacts): CellFigure[] {
  return stats.flatMap((one): CellFigure[] => {
    const measured = mode === "throughput" ? one.bandwidthGBps : one.latencyUs;
    if (measured === null) return [];
    return [
      {
        moved: one.direction,
        unit: mode === "throughput" ? "GB/s" : "us",
        value: measured.median,
        lostShare: lostShare(one),
        sampleVariance: varianceOf(measured),
      },
    ];
  });
}

/** Half-width of a normal 95 % interval, in standard deviations. */
const halfWidthOf95 = 1.96;

function varianceOf({ low, high }: Pick<Distribution, "low" | "high">): number {
  return low === null || high === null ? 0 : (Math.log(high / low) / 2 / halfWidthOf95) ** 2;
}

/**
 * Reads the runs of a result file or a folder, in order of measurement, one file in memory at a time. Throws a usage
 * error with the file's name, or "notComparable" without a baseline.
 */
export async function readResultSet(path: string, role: "baseline" | "candidate"): Promise<ResultSet> {
  const runs = (await isFolder(path, role)) ? await readFolder(path, role) : await readRuns([path]);
  return inOrder(path, runs);
}

/** A baseline's original runs; null if none were replaced. Throws like readResultSet(). */
export async function readBegunRuns(folder: string): Promise<ResultSet | null> {
  const paths = await listBegunRuns(folder);
  return paths === null ? null : inOrder(folder, await readRuns(paths));
}

function inOrder(path: string, runs: RunFigures[]): ResultSet {
  refuseCopies(runs);
  return { path, runs: runs.sort((a, b) => a.startedAt.localeCompare(b.startedAt)) };
}

async function readRuns(paths: readonly string[]): Promise<RunFigures[]> {
  const runs: RunFigures[] = [];
  for (const file of paths) runs.push(...runsOf(parseResult(await readTextFile(file), file), file));
  return runs;
}

/** Reads again if the list changed in between: check --update may just have replaced runs. */
async function readFolder(folder: string, role: "baseline" | "candidate"): Promise<RunFigures[]> {
  if (role === "baseline" && (await listRunsIfAny(folder)).length === 0) {
    // A baseline needs an empty folder.
    throw noBaseline(folder, "in ", undefined, (await readdir(folder)).length > 0 ? "FOLDER" : folder);
  }
  const paths = await listRuns(folder);
  return readRuns(paths).catch(async (error: unknown) => {
    const now = await listRuns(folder);
    if (now.join() === paths.join()) throw error;
    return readFolder(folder, role);
  });
}

/** Rejects copies of a run: they would make the noise look smaller than it is. */
function refuseCopies(runs: readonly RunFigures[]): void {
  const paths = new Map<string, string | null>();
  for (const { id, path } of runs) {
    if (paths.has(id)) {
      throw new PinbenchError("usage", `${path} is the same run as ${paths.get(id)}.`, {
        hint: "Remove one of them: a folder holds runs that were measured one by one.",
      });
    }
    paths.set(id, path);
  }
}

function noBaseline(
  path: string,
  preposition: "" | "in ",
  cause?: unknown,
  toMake: string = path,
): PinbenchError {
  return new PinbenchError("notComparable", `there is no baseline ${preposition}${path}.`, {
    hint: path.endsWith(".json")
      ? "Give a file that `pinbench run --output FILE.json` wrote, or a folder that `pinbench baseline FOLDER` made."
      : `Make one with \`pinbench baseline ${toMake}\`${toMake === path ? "" : ", in a new folder"}.`,
    cause,
  });
}

async function isFolder(path: string, role: "baseline" | "candidate"): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    if (errorCode(cause) === "ENOENT" && role === "baseline") {
      throw noBaseline(path, "", cause);
    }
    return false;
  }
}

/** A run's settings with its actual backend and time budget (of the preset, if it was not set). */
export type MeasuredSettings = RunSettings & { backend: BackendName; budgetNs: number };

/** Settings to repeat a result's cells; null for results of other tools, which do not record them. */
export function settingsOfResult({ backend, plan }: ResultDocument): MeasuredSettings | null {
  if (plan === null) return null;
  return { ...plan.settings, backend, budgetNs: plan.settings.budgetNs ?? plan.budgetNs };
}

export interface Rule {
  thresholds: Thresholds;
  allowMismatch: boolean;
  strict: boolean;
}

export interface ComparisonRequest {
  version: string;
  command: Comparison["command"];
  baseline: ResultSet;
  candidate: ResultSet;
  /** Runs of fresh processes that measured suspects again; may be empty. */
  fresh: readonly RunFigures[];
  suspects: readonly string[];
  rule: Rule;
  /** Failures that the runs do not record. */
  failures?: readonly string[];
}
