import type { ArenaKind } from "../native/contract.js";
import type { Verifying } from "../settings/choices.js";
import { cellTime } from "./cell-time.js";
import type { PlanFacts } from "./facts.js";
import { arenaBytes, type PlannedArenas, type PlannedCell } from "./geometry.js";
import { type MachineSpeed, machineSpeed, type SpeedFacts } from "./machine-speed.js";
import { pinningRepetitions } from "./pinning.js";
import { loadSettlingNs } from "./sampling.js";

/** Estimated times of a run: of the whole, from the start of its process to the end, and of its parts. */
export interface DurationEstimate {
  /** What it presumably takes. */
  durationNs: number;
  /** Where every cell has converged with its first samples. */
  leastDurationNs: number;
  /** Where the whole budget is spent; the same with a fixed count of samples. */
  mostDurationNs: number;
  /** The part of each before the first cell: `startNs`, and then the devices, their memory and worker processes. */
  setUpNs: number;
  /** Starting the process and the driver. */
  startNs: number;
  /** Measuring, presumably. */
  measuringNs: number;
  /** The first samples of all cells, which no budget cuts short. */
  firstSamplesNs: number;
  /** The part of `setUpNs` in which the worker processes of one device start; 0 without any. */
  workersStartNs: number;
}

/** What is to be done. */
interface Work {
  cells: readonly PlannedCell[];
  arenas: PlannedArenas;
  processArenas: readonly PlannedArenas[];
  pinningSizesBytes: readonly number[];
  stopping: { precision: number; budgetNs: number; samplesPerCell: number | null };
  verify: Verifying;
  deviceCount: number;
}

type Facts = SpeedFacts & Pick<PlanFacts, "driverInitNs">;

/** Estimates how long the plan takes on such a machine. */
export function estimateDuration(work: Work, facts: SpeedFacts & { driverInitNs: number }): DurationEstimate {
  const speed = machineSpeed(facts);
  const { stopping, deviceCount } = work;
  const { firstNs, extraNs } = measuringTimes(work, speed);
  const workersStartNs = startingNs(work, speed, facts);
  const startNs = speed.processStartNs + facts.driverInitNs + deviceCount * speed.noticingNs;
  const setUpNs = startNs + deviceCount * (deviceNs(work, speed) + workersStartNs);
  const endNs = deviceCount * releasingNs(work, speed) + speed.endingNs;
  const budgetNs = stopping.samplesPerCell === null ? stopping.budgetNs : 0;
  const measuringNs = Math.max(firstNs, Math.min(budgetNs, firstNs + extraNs));
  const whole = (ns: number) => Math.round(setUpNs + ns + endNs);
  return {
    durationNs: whole(measuringNs),
    leastDurationNs: whole(firstNs),
    mostDurationNs: whole(Math.max(firstNs, budgetNs)),
    setUpNs: Math.round(setUpNs),
    startNs: Math.round(startNs),
    measuringNs: Math.round(measuringNs),
    firstSamplesNs: Math.round(firstNs),
    workersStartNs: Math.round(workersStartNs),
  };
}

/** Of all cells: their first samples, and what they take beyond these where no budget ends them. */
function measuringTimes({ cells, stopping, verify }: Work, speed: MachineSpeed) {
  let [firstNs, extraNs] = [0, 0];
  const startsOfLoad = new Map<string, number>();
  for (const cell of cells) {
    const time = cellTime(cell, { ...stopping, verify }, speed);
    // Devices that copy together share the time.
    const devices = cell.together?.length ?? 1;
    firstNs += time.firstNs / devices;
    extraNs += time.extraNs / devices;
    if (cell.beside === undefined) continue;
    // In each round every load of a device starts once.
    const load = `${cell.device}/${cell.beside}`;
    startsOfLoad.set(load, Math.max(startsOfLoad.get(load) ?? 0, time.firstVisits));
  }
  for (const starts of startsOfLoad.values()) firstNs += starts * (loadSettlingNs + speed.loadStartNs);
  return { firstNs, extraNs };
}

/** Opening a device, timing what memory costs there, and reserving that of its threads. */
function deviceNs({ arenas, pinningSizesBytes }: Work, speed: MachineSpeed): number {
  const pinnedBytes = pinningSizesBytes.reduce((sum, sizeBytes) => sum + sizeBytes, 0);
  const pinningNs = pinningRepetitions * speed.pinningNsPerByte * pinnedBytes;
  return speed.contextNs + pinningNs + reservingNs(arenas, speed);
}

/** Worker processes start at the same time, on a CPU each; the driver takes them in one after the other. */
function startingNs({ processArenas }: Work, speed: MachineSpeed, facts: Facts): number {
  const { cpusUsable, driverInitNs } = facts;
  const count = processArenas.length;
  if (count === 0) return 0;
  const turns = Math.ceil(count / cpusUsable);
  const reserving = processArenas.reduce((sum, arenas) => sum + reservingNs(arenas, speed), 0);
  const contextsNs = count * (driverInitNs + speed.contextNs);
  return turns * speed.workerStartNs + contextsNs + reserving / Math.min(count, cpusUsable);
}

function reservingNs({ host, device, deviceCopies }: PlannedArenas, { reserveGBps }: MachineSpeed): number {
  let ns = (deviceCopies * arenaBytes(device)) / reserveGBps.device;
  for (const kind of Object.keys(host) as ArenaKind[]) ns += arenaBytes(host[kind]!) / reserveGBps[kind];
  return ns;
}

/** Worker processes give back theirs at the same time as the threads' session. */
function releasingNs({ arenas: { host } }: Work, { releaseGBps }: MachineSpeed): number {
  const bytesOf = (...kinds: ArenaKind[]) =>
    kinds.reduce((sum, kind) => sum + (host[kind] === undefined ? 0 : arenaBytes(host[kind])), 0);
  return (
    bytesOf("pinned", "write-combined") / releaseGBps.pinned +
    bytesOf("pageable", "registered") / releaseGBps.other
  );
}
