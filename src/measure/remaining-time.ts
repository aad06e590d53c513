import { cellTime } from "../plan/duration.js";
import { machineSpeed } from "../plan/machine-speed.js";
import type { Plan } from "../plan/plan.js";
import { leastSamples } from "../plan/sampling.js";
import { idWithoutDevice } from "../results/cell-id.js";
import { median } from "../stats/order-statistics.js";
import type { CellProgress } from "./cell-progress.js";
import type { RunEvent } from "./rounds.js";

/** The known times of one cell. */
interface CellPace {
  progress: CellProgress;
  /** Number of samples that it gets whatever the budget. */
  least: number;
  /** The plan's estimates: of its calibration, and of a sample of all devices, including set-up and checks. */
  calibrationNs: number;
  plannedNsPerSample: number;
  plannedExtraNs: number;
  /**
   * Measured time of a sample in its visits, with the last one weighted like all earlier ones; null before the first.
   */
  seenNsPerSample: number | null;
  /** Number of devices measured together, including this one. */
  devices: number;
}

/** Weight of the plan's estimate, as measuring time, so that the first cells do not dominate. */
const priorNs = 1e9;

/**
 * Estimates the remaining time of a run: at first from its plan, then from the measured times of visits. Times are in
 * nanoseconds, on one steady clock.
 */
export class RemainingTime {
  readonly #plan: Plan;
  readonly #paces: Map<CellProgress, CellPace>;
  readonly #paceOf: (progress: CellProgress) => CellPace;
  readonly #end = new SteadyEnd();
  /** When the present opening or closing of devices began. */
  #sinceNs: number;
  #isSettingUp = true;
  readonly #measuredDevices = new Set<number>();
  #measuringNs = 0;
  /** The plan's estimate for all visits so far. */
  #plannedNs = 0;
  #visit: { pace: CellPace; taken: number; startedNs: number; calibrationNs: number } | null = null;

  /** `nowNs` is the start of the run. */
  constructor(plan: Plan, cells: readonly CellProgress[], nowNs: number) {
    this.#plan = plan;
    this.#sinceNs = nowNs;
    const speed = machineSpeed(plan.speedFacts);
    const timing = { ...plan.stopping, verify: plan.settings.verify };
    this.#paceOf = (progress) => {
      const { cell } = progress;
      const { firstNs, extraNs } = cellTime(cell, timing, speed);
      const least = leastSamples(cell.mode, timing.samplesPerCell);
      const devices = cell.together?.length ?? 1;
      const { calibrationNs } = speed;
      // A visit is one of all devices together, which are calibrated one after the other.
      const ofAll = devices / speed.gainAtOnce(devices);
      const plannedNsPerSample = (ofAll * (firstNs - calibrationNs)) / least;
      const planned = { calibrationNs, plannedNsPerSample, plannedExtraNs: ofAll * extraNs };
      return { progress, least, ...planned, seenNsPerSample: null, devices };
    };
    this.#paces = new Map(cells.map((progress) => [progress, this.#paceOf(progress)]));
  }

  /** Takes note of an event, which also ends the previous one. */
  note(event: RunEvent, nowNs: number): void {
    this.#endVisit(nowNs);
    if (event.kind === "visit") {
      // A search adds cells during the run.
      const pace = this.#paces.get(event.progress) ?? this.#paceOf(event.progress);
      this.#paces.set(event.progress, pace);
      this.#isSettingUp = false;
      for (const device of pace.progress.cell.together ?? [pace.progress.cell.device]) {
        this.#measuredDevices.add(device);
      }
      const calibrationNs = isCalibrated(pace) ? 0 : pace.devices * pace.calibrationNs;
      this.#visit = { pace, taken: pace.progress.taken, startedNs: nowNs, calibrationNs };
    } else if (event.kind === "activity" && !this.#isSettingUp) {
      this.#isSettingUp = true;
      this.#sinceNs = nowNs;
    }
  }

  /** Estimated remaining time of the run. Consecutive estimates differ little. */
  leftNs(nowNs: number): number {
    return this.#end.leftNs(this.#setUpLeftNs(nowNs) + this.#measuringLeftNs(nowNs), nowNs);
  }

  #endVisit(nowNs: number): void {
    if (this.#visit === null) return;
    const { pace, taken, startedNs, calibrationNs } = this.#visit;
    this.#visit = null;
    const samples = pace.progress.taken - taken;
    this.#measuringNs += nowNs - startedNs;
    if (samples <= 0) return;
    // Without the calibration, which no later visit has: that of many devices takes longer than a sample.
    const nsPerSample = pace.progress.visitNsPerSample || (nowNs - startedNs) / samples;
    pace.seenNsPerSample = (nsPerSample + (pace.seenNsPerSample ?? nsPerSample)) / 2;
    this.#plannedNs += calibrationNs + samples * pace.plannedNsPerSample;
    for (const other of this.#companionsOf(pace)) other.seenNsPerSample = pace.seenNsPerSample;
  }

  /** The cells of other devices that are measured in the same visits. */
  #companionsOf({ progress, devices }: CellPace): CellPace[] {
    if (devices === 1) return [];
    const shared = idWithoutDevice(progress.cell);
    return [...this.#paces.values()].filter((pace) => idWithoutDevice(pace.progress.cell) === shared);
  }

  /** Time for opening the remaining devices, and for closing all. */
  #setUpLeftNs(nowNs: number): number {
    const { setUpNs, startNs, durationNs, measuringNs, devicesAtOnce } = this.#plan.estimate;
    const closingNs = durationNs - measuringNs - setUpNs;
    const ordinals = new Set([...this.#paces.keys()].map(({ cell }) => cell.device));
    const isOpen = devicesAtOnce > 1 && this.#measuredDevices.size > 0;
    const unopened = isOpen ? 0 : ordinals.size - this.#measuredDevices.size;
    const openingNs = ((setUpNs - startNs) * unopened) / ordinals.size;
    const passedNs = this.#isSettingUp ? nowNs - this.#sinceNs : 0;
    return Math.max(0, openingNs + closingNs - passedNs);
  }

  #measuringLeftNs(nowNs: number): number {
    const { precision, budgetNs, samplesPerCell, isHard } = this.#plan.stopping;
    // Ratio of measured to planned durations of visits.
    const factor = (this.#measuringNs + priorNs) / (this.#plannedNs + priorNs);
    let [firstNs, extraNs] = [0, 0];
    for (const pace of this.#paces.values()) {
      const { progress, least, devices } = pace;
      if (!progress.isOpen) continue;
      const nsPerSample = (pace.seenNsPerSample ?? factor * pace.plannedNsPerSample) / devices;
      firstNs += Math.max(0, least - progress.taken) * nsPerSample;
      if (!isCalibrated(pace)) firstNs += factor * pace.calibrationNs;
      const { halfWidth, taken } = progress;
      // An interval narrows with the square root of the number of samples.
      extraNs += Number.isFinite(halfWidth)
        ? Math.max(0, (halfWidth / precision) ** 2 - 1) * taken * nsPerSample
        : (factor * pace.plannedExtraNs) / devices;
    }
    const visitingNs = this.#visit === null ? 0 : nowNs - this.#visit.startedNs;
    const budgetLeftNs = samplesPerCell === null ? budgetNs - this.#measuringNs : 0;
    const withinNs = Math.min(budgetLeftNs, firstNs + extraNs);
    const leftNs = isHard ? withinNs : Math.max(firstNs, withinNs);
    return Math.max(0, leftNs - visitingNs);
  }
}

function isCalibrated({ progress }: CellPace): boolean {
  return progress.copiesPerSample > 0;
}

/** A new estimate replaces the old one within a few times this. */
const settlingNs = 2e9;

/** The same as a share of the remaining time: the end of a long run may shift by seconds. */
const settlingShare = 0.05;

/** Smooths the displayed end of a task whose estimates vary. Times are in nanoseconds, on one steady clock. */
export class SteadyEnd {
  #endNs: number | null = null;
  #seenNs = Number.NEGATIVE_INFINITY;

  /** The remaining time to display for a new estimate of `estimatedNs`. */
  leftNs(estimatedNs: number, nowNs: number): number {
    const estimatedEndNs = nowNs + Math.max(0, estimatedNs);
    if (this.#endNs === null) this.#endNs = estimatedEndNs;
    const paceNs = Math.max(settlingNs, settlingShare * (this.#endNs - nowNs));
    const followed = 1 - Math.exp(-Math.max(0, nowNs - this.#seenNs) / paceNs);
    this.#endNs += followed * (estimatedEndNs - this.#endNs);
    this.#seenNs = nowNs;
    return Math.max(0, this.#endNs - nowNs);
  }
}

/**
 * Remaining time of a series of similar tasks, such as runs in fresh processes. Times are in nanoseconds, on one steady
 * clock.
 */
export class SeriesTime {
  readonly #expectedNs: number | null;
  readonly #tookNs: number[] = [];
  readonly #end = new SteadyEnd();
  readonly #count: number;
  #startedNs: number | null = null;

  /** `expectedNs` is the estimate for one before any is done; null if unknown. */
  constructor(count: number, expectedNs: number | null) {
    this.#count = count;
    this.#expectedNs = expectedNs;
  }

  /** Takes note that the next one begins, and the one before has ended. */
  next(nowNs: number): void {
    this.finish(nowNs);
    this.#startedNs = nowNs;
  }

  /** Takes note that the current one has ended. */
  finish(nowNs: number): void {
    if (this.#startedNs !== null) this.#tookNs.push(nowNs - this.#startedNs);
    this.#startedNs = null;
  }

  /** Estimated time of the remaining ones; null while unknown. */
  leftNs(nowNs: number): number | null {
    const eachNs = this.#tookNs.length > 0 ? median(this.#tookNs) : this.#expectedNs;
    if (eachNs === null) return null;
    const inProgress = this.#startedNs === null ? 0 : 1;
    const waiting = Math.max(0, this.#count - this.#tookNs.length - inProgress);
    const currentNs = this.#startedNs === null ? 0 : Math.max(0, eachNs - (nowNs - this.#startedNs));
    return this.#end.leftNs(waiting * eachNs + currentNs, nowNs);
  }
}
