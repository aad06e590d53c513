import { describe, expect, it } from "vitest";
import { CellProgress } from "../../src/measure/cell-progress.js";
import { RemainingTime } from "../../src/measure/remaining-time.js";
import { cellTime } from "../../src/plan/duration.js";
import { machineSpeed } from "../../src/plan/machine-speed.js";
import type { Plan } from "../../src/plan/plan.js";
import { h200, MiB, planOf } from "../plan/support.js";

const device = { ordinal: 0, integrated: false, coherent: false } as ConstructorParameters<
  typeof CellProgress
>[1];
const seconds = 1e9;

/** A run of this plan in which each visit takes `slowness` times as long as planned, on a clock of its own. */
class SimulatedRun {
  nowNs = 5 * seconds;
  readonly cells: CellProgress[];
  readonly time: RemainingTime;
  /** What was told at which moment, as if somebody had looked ten times a second. */
  readonly told: { nowNs: number; leftNs: number }[] = [];
  readonly #plan: Plan;
  readonly #slowness: number;

  constructor(plan: Plan, slowness: number) {
    this.#plan = plan;
    this.#slowness = slowness;
    this.cells = plan.cells.map((cell) => new CellProgress(cell, device));
    this.time = new RemainingTime(plan, this.cells, this.nowNs);
  }

  /** Sets up, measures the first samples of all cells in six rounds, and closes; everything as slow. */
  carryOut(): void {
    const { setUpNs, startNs, durationNs, measuringNs } = this.#plan.estimate;
    this.time.note({ kind: "activity", activity: "opening device 0" }, this.nowNs);
    this.#pass(this.#slowness * (setUpNs - startNs));
    for (let round = 0; round < 6; ++round) {
      for (const progress of this.cells) {
        this.time.note({ kind: "visit", progress, round }, this.nowNs);
        if (round === 0) this.#pass(this.#slowness * this.#speed.calibrationNs);
        const visitNs = this.#slowness * this.#visitNs(progress);
        this.#pass(visitNs);
        progress.visitNsPerSample = visitNs;
        takeSample(progress, round);
      }
      this.time.note({ kind: "round", round }, this.nowNs);
    }
    for (const progress of this.cells) progress.outcome = "budget";
    this.time.note({ kind: "activity", activity: "closing device 0" }, this.nowNs);
    this.#pass(this.#slowness * (durationNs - measuringNs - setUpNs));
  }

  #visitNs({ cell }: CellProgress): number {
    const { settings, stopping } = this.#plan;
    const timing = { ...stopping, verify: settings.verify };
    return (cellTime(cell, timing, this.#speed).firstNs - this.#speed.calibrationNs) / 6;
  }

  get #speed() {
    return machineSpeed(this.#plan.speedFacts);
  }

  #pass(ns: number): void {
    const endNs = this.nowNs + ns;
    for (; this.nowNs < endNs; this.nowNs = Math.min(endNs, this.nowNs + seconds / 10)) {
      this.told.push({ nowNs: this.nowNs, leftNs: this.time.leftNs(this.nowNs) });
    }
  }
}

function takeSample(progress: CellProgress, round: number): void {
  progress.copiesPerSample = 1;
  progress.add(
    {
      columns: [
        {
          direction: "h2d",
          startNs: new Float64Array([0]),
          // All over: none of the cells converges.
          durationNs: new Float64Array([1e6 * (1 + (round % 3))]),
        },
      ],
      verification: { checkedBytes: 0, mismatches: [], copies: 1, provenCopies: 1 },
      link: null,
      aborted: false,
      prepareNs: 0,
      verifyNs: 0,
    },
    round,
  );
}

/** Most of a minute of measuring, none of which is cut short by the budget. */
const plan = planOf({ sizesBytes: [MiB, 128 * MiB, 512 * MiB], workers: [1, 4, 8], budgetNs: 1e6 });

const simulate = (slowness: number) => {
  const run = new SimulatedRun(plan, slowness);
  run.carryOut();
  return run;
};

describe("what is left of a run", () => {
  it("is what the plan says, if all goes as planned", () => {
    const { told, nowNs } = simulate(1);
    expect(nowNs).toBeGreaterThan(15 * seconds);
    for (const { leftNs, nowNs: atNs } of told) {
      expect(Math.abs(leftNs - (nowNs - atNs))).toBeLessThan(0.05 * nowNs);
    }
  });

  it.each([
    ["all of their first samples", { budgetNs: 1e6 }, false],
    ["more than these", { budgetNs: 3600 * seconds, precision: 0.05 }, false],
    ["a fixed count", { samplesPerCell: 100 }, false],
    ["emulated ones, which share CPUs", { samplesPerCell: 100 }, true],
  ])("is what the plan says of two devices that copy together, for %s", (_, given, emulated) => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const request = {
      sizesBytes: [MiB],
      memory: ["pageable", "pinned"],
      devices: [0, 1],
      together: true,
    } as const;
    const both = planOf({ ...request, ...given }, { devices, emulated, cpusUsable: 2 });
    const { cells, time, nowNs } = new SimulatedRun(both, 1);
    expect(cells.some(({ cell }) => cell.together?.length === 2)).toBe(true);
    const { durationNs, startNs } = both.estimate;
    expect(time.leftNs(nowNs) / (durationNs - startNs)).toBeCloseTo(1, 6);
  });

  it("does not expect the calibrations of a first visit again", () => {
    const devices = Array.from({ length: 8 }, (_, ordinal) => ({ ...h200, ordinal }));
    const given = { sizesBytes: [MiB], memory: ["pinned"], directions: ["h2d"], workers: [1] } as const;
    const plan = planOf({ ...given, devices: "all", together: true, samplesPerCell: 6 }, { devices });
    const run = new SimulatedRun(plan, 1);
    const party = run.cells.filter(({ cell }) => cell.together !== undefined);
    for (const progress of run.cells) if (!party.includes(progress)) progress.outcome = "converged";
    run.time.note({ kind: "visit", progress: party[0]!, round: 0 }, run.nowNs);
    for (const progress of party) {
      takeSample(progress, 0);
      progress.visitNsPerSample = 0.1 * seconds;
    }
    const afterNs = run.nowNs + 8 * 2 * seconds + 0.1 * seconds;
    run.time.note({ kind: "round", round: 0 }, afterNs);
    expect(run.time.leftNs(afterNs + 60 * seconds)).toBeLessThan(1 * seconds);
  });

  it("has half of the set-up once one of two devices is done, and none once both that copy together are open", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const given = { sizesBytes: [MiB], memory: ["pinned"], devices: [0, 1], samplesPerCell: 6 } as const;
    const leftOnceMeasured = (together: boolean) => {
      const { estimate, ...rest } = planOf({ ...given, together }, { devices });
      const run = new SimulatedRun({ ...rest, estimate }, 1);
      run.time.note({ kind: "visit", progress: run.cells[0]!, round: 0 }, run.nowNs);
      for (const progress of run.cells) progress.outcome = "converged";
      const { setUpNs, startNs, durationNs, measuringNs } = estimate;
      return (run.time.leftNs(run.nowNs) - (durationNs - measuringNs - setUpNs)) / (setUpNs - startNs);
    };
    expect(leftOnceMeasured(false)).toBeCloseTo(0.5, 6);
    expect(leftOnceMeasured(true)).toBeCloseTo(0, 6);
  });

  it("has the set-up of the second device from when that begins to be opened, however long the first took", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const given = { sizesBytes: [MiB], memory: ["pinned"], devices: [0, 1], samplesPerCell: 6 } as const;
    const { estimate, ...rest } = planOf(given, { devices });
    const run = new SimulatedRun({ ...rest, estimate }, 1);
    run.time.note({ kind: "visit", progress: run.cells[0]!, round: 0 }, run.nowNs);
    for (const progress of run.cells) progress.outcome = "converged";
    const openingNs = run.nowNs + 600 * seconds;
    run.time.note({ kind: "activity", activity: "opening device 1" }, openingNs);
    const { setUpNs, startNs, durationNs, measuringNs } = estimate;
    const leftNs = (setUpNs - startNs) / 2 + durationNs - measuringNs - setUpNs;
    expect(run.time.leftNs(openingNs)).toBeCloseTo(leftNs, 0);
  });

  it.each([0.4, 3])("is learned from the visits if they take %d times as long", (slowness) => {
    const { told, nowNs } = simulate(slowness);
    const beginsNs = told[0]!.nowNs;
    const late = told.filter(({ nowNs: atNs }) => (atNs - beginsNs) / (nowNs - beginsNs) > 0.4);
    expect(late.length).toBeGreaterThan(20);
    for (const { leftNs, nowNs: atNs } of late) {
      expect(Math.abs(leftNs - (nowNs - atNs))).toBeLessThan(0.25 * (nowNs - beginsNs));
    }
  });

  it.each([0.4, 1, 3])("changes little from one moment to the next, at %d times the time", (slowness) => {
    const { told } = simulate(slowness);
    for (const [i, { leftNs, nowNs }] of told.entries()) {
      if (i === 0) continue;
      const before = told[i - 1]!;
      const expectedNs = Math.max(0, before.leftNs - (nowNs - before.nowNs));
      expect(Math.abs(leftNs - expectedNs)).toBeLessThan(0.3 * seconds + 0.1 * before.leftNs);
    }
  });

  it("is never less than nothing, and is as good as nothing at the end", () => {
    for (const slowness of [0.4, 1, 3]) {
      const { told } = simulate(slowness);
      expect(Math.min(...told.map(({ leftNs }) => leftNs))).toBeGreaterThanOrEqual(0);
      expect(told.at(-1)!.leftNs).toBeLessThan(3 * seconds);
    }
  });

  const one = { sizesBytes: [64 * MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
  /** What is left long after a visit of these cells, so that nothing remains of the earlier answer. */
  const leftAfter = (
    run: SimulatedRun,
    cells: CellProgress[],
    nsPerSample: number,
    lastsNs = nsPerSample,
  ) => {
    run.time.note({ kind: "visit", progress: cells[0]!, round: 0 }, run.nowNs);
    for (const progress of cells) {
      takeSample(progress, 0);
      progress.visitNsPerSample = nsPerSample;
    }
    run.nowNs += lastsNs;
    run.time.note({ kind: "round", round: 0 }, run.nowNs);
    run.nowNs += 600 * seconds;
    return run.time.leftNs(run.nowNs);
  };

  it("weights the last visit of a cell as much as all before it", () => {
    const run = new SimulatedRun(planOf({ ...one, samplesPerCell: 100 }), 1);
    leftAfter(run, run.cells, 1 * seconds);
    expect(leftAfter(run, run.cells, 3 * seconds) / (98 * 2 * seconds)).toBeCloseTo(1, 1);
  });

  it("takes what a visit of several devices took for each of them", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const run = new SimulatedRun(
      planOf({ ...one, devices: "all", together: true, samplesPerCell: 12 }, { devices }),
      1,
    );
    const party = run.cells.filter(({ cell }) => cell.together !== undefined);
    for (const progress of run.cells) if (!party.includes(progress)) progress.outcome = "converged";
    expect(leftAfter(run, party, 10 * seconds) / (11 * 10 * seconds)).toBeCloseTo(1, 1);
  });

  it("is less the time of the visit under way, and no more than what is left of the budget", () => {
    const fixed = new SimulatedRun(planOf({ ...one, samplesPerCell: 1000 }), 1);
    expect(fixed.time.leftNs(fixed.nowNs)).toBeGreaterThan(3 * seconds);
    fixed.time.note({ kind: "visit", progress: fixed.cells[0]!, round: 0 }, fixed.nowNs);
    expect(fixed.time.leftNs(fixed.nowNs + 600 * seconds)).toBeLessThan(1 * seconds);
    const unsteady = { ...one, memory: ["pageable"], precision: 0.001, budgetNs: 60 * seconds } as const;
    const run = new SimulatedRun(planOf(unsteady), 1);
    const leftNs = leftAfter(run, [run.cells[0]!], 0.01 * seconds, 50 * seconds);
    expect(leftNs / (10 * seconds)).toBeCloseTo(1, 0.5);
    const hard = planOf(
      { numa: "all", budgetNs: 0.1 * seconds },
      { numaPlaces: [0, 1].map((node) => ({ cpuNode: node, memoryNode: node })) },
    );
    const { time, nowNs } = new SimulatedRun(hard, 1);
    const { durationNs, startNs, firstSamplesNs } = hard.estimate;
    expect(firstSamplesNs).toBeGreaterThan(0.2 * seconds);
    expect(time.leftNs(nowNs) / (durationNs - startNs)).toBeCloseTo(1, 6);
  });

  it("has the rest of the budget while cells are open, and none of it once all have converged", () => {
    const patient = planOf({
      sizesBytes: [MiB],
      workers: [1],
      memory: ["pageable"],
      budgetNs: 60 * seconds,
      precision: 0.001,
    });
    const run = new SimulatedRun(patient, 1);
    run.time.note({ kind: "visit", progress: run.cells[0]!, round: 0 }, run.nowNs);
    expect(run.time.leftNs(run.nowNs)).toBeGreaterThan(50 * seconds);
    for (const progress of run.cells) progress.outcome = "converged";
    // Long after that, so that nothing is left of the earlier answer.
    expect(run.time.leftNs(run.nowNs + 40 * seconds)).toBeLessThan(seconds);
  });
});
