import { describe, expect, it } from "vitest";
import { changeOf, judgedTogether } from "../../src/compare/evidence/change-estimate.js";
import {
  areJudgedTogether,
  judgeTogether,
  tellOwnFromShared,
} from "../../src/compare/evidence/shared-changes.js";
import { caseOf, times } from "./evidence-case.js";

const occasionNoise = {
  shared: { variance: 4e-4, degreesOfFreedom: 12 },
  own: { variance: 1e-6, degreesOfFreedom: 20 },
};

/** Cells of these speeds in the candidate's runs, whose occasion may have shifted all by some 2 %. */
const evidenceOf = (speeds: readonly number[], fresh: readonly number[] = []) =>
  speeds.map(
    (speed) =>
      caseOf({ first: times(5, speed), fresh: fresh.map((one) => one * speed), occasionNoise }).evidence,
  );

describe("a cell that falls behind the others of its kind", () => {
  it("is judged by its change relative to their median, of which only its own offset is uncertain", () => {
    const evidence = evidenceOf([0.94, 0.98, 0.99, 0.98, 0.97, 0.98]);
    const [own] = tellOwnFromShared(evidence);
    const change = Math.log(0.94);
    // 0.001² a run, 5 on each side; the median of 5 others adds π / 2 / 5 of everything; two occasions.
    const scale = 1 + Math.PI / 2 / 5;
    const aboutOthers = changeOf(
      Math.log(0.94 / 0.98),
      [
        { variance: 1e-6 * (2 / 5) * scale, degreesOfFreedom: 100 },
        { variance: 0, degreesOfFreedom: 100 },
        { variance: 2 * 1e-6 * scale, degreesOfFreedom: 20 },
      ],
      (1e-6 * scale) / 5,
    );
    const halfWidth = (aboutOthers.high - aboutOthers.low) / 2;
    const { overall, confirmation } = own!;
    expect(confirmation).toBeNull();
    expect(overall!.change).toBeCloseTo(change, 12);
    expect(overall!.low).toBeCloseTo(change - halfWidth, 10);
    expect(overall!.high).toBeCloseTo(change + halfWidth, 10);
    expect(overall!.error).toBeCloseTo(aboutOthers.error, 12);
    expect(overall!.shareOfRuns).toBeCloseTo(aboutOthers.shareOfRuns, 10);
    expect(overall!.pSlower / (2 * aboutOthers.pSlower)).toBeCloseTo(1, 8);
    expect(overall!.pFaster).toBe(1);
    expect(overall!.chances).toBe(2);
  });

  it("is judged by all of its change, if that is mostly the others'", () => {
    const evidence = evidenceOf([0.95, 0.96, 0.96, 0.96, 0.96, 0.96]);
    const [one] = tellOwnFromShared(evidence);
    const { overall } = evidence[0]!;
    expect(one!.overall).toMatchObject({ error: overall!.error, chances: 2 });
    expect(one!.overall!.low).toBeCloseTo(overall!.low, 10);
    expect(one!.overall!.high).toBeCloseTo(overall!.high, 10);
    expect(one!.overall!.pSlower).toBeCloseTo(2 * overall!.pSlower, 10);
  });

  it("is judged by the others' first runs in its confirmation too", () => {
    const evidence = evidenceOf([0.94, 0.98, 0.98, 0.98, 0.98, 0.98], [1, 1]);
    const { overall, confirmation } = tellOwnFromShared(evidence)[0]!;
    const scale = 1 + Math.PI / 2 / 5;
    const errorOver = (runs: number) => Math.sqrt(1e-6 * scale * (1 / 5 + 1 / runs + 2));
    expect(confirmation!.change).toBeCloseTo(Math.log(0.94), 12);
    expect(confirmation!.error).toBeCloseTo(errorOver(2), 12);
    // All of the candidate's runs count for the whole: five first ones and two that confirm.
    expect(overall!.error).toBeCloseTo(errorOver(7), 12);
    const part = (variance: number) => ({ change: 0, variance });
    const explained = evidence.map((one) => ({
      ...one,
      runs: { ...one.runs, explained: part(1e-5), explainedOfFresh: part(4e-5) },
    }));
    const [withHost] = tellOwnFromShared(explained);
    expect(withHost!.overall!.error ** 2).toBeCloseTo(errorOver(7) ** 2 + 1e-5, 12);
    expect(withHost!.confirmation!.error ** 2).toBeCloseTo(errorOver(2) ** 2 + 4e-5, 12);
  });

  it("needs five others, and known noise between occasions", () => {
    const five = evidenceOf([0.94, 0.98, 0.98, 0.98, 0.98]);
    expect(tellOwnFromShared(five)).toEqual(five);
    const unknown = times(6, 0).map((_, i) => caseOf({ first: times(5, i === 0 ? 0.94 : 1) }).evidence);
    expect(tellOwnFromShared(unknown)).toEqual(unknown);
    const withoutChange = [...five, caseOf({ deviation: null, occasionNoise }).evidence];
    expect(tellOwnFromShared(withoutChange)).toEqual(withoutChange);
  });
});

describe("the host's own copies of a device", () => {
  const hostCell = (device: number, speed: number, rates: readonly number[] | undefined = times(5, 20)) =>
    caseOf({
      memory: "host",
      device,
      first: times(5, speed),
      hostRates: rates && { baseline: times(5, 10), first: rates, fresh: [] },
    });

  it("are judged by their mean: each keeps its change, with the error and the interval of all", () => {
    const cells = [hostCell(0, 0.9), hostCell(1, 0.8), hostCell(0, 0.95)];
    const asked: { device: number; cells: number; values: number[] }[] = [];
    const whole = caseOf({ first: times(5, 0.92), deviation: 0.01 }).evidence;
    const judged = judgeTogether(
      cells.map(({ series }) => series),
      cells.map(({ evidence }) => evidence),
      ({ cell, baseline, first }, count) => {
        asked.push({ device: cell.device, cells: count, values: [baseline[0]!.value, first[0]!.value] });
        return whole;
      },
    );
    expect(asked).toEqual([
      { device: 0, cells: 2, values: [expect.closeTo(10, 10), expect.closeTo(20, 10)] },
    ]);
    for (const [i, speed] of [
      [0, 0.9],
      [2, 0.95],
    ] as const) {
      const change = Math.log(speed);
      const { low, high } = judgedTogether({ ...whole.overall!, change, ofWhole: whole.overall!.change }, 1);
      const { overall } = judged[i]!;
      expect(overall!.change).toBeCloseTo(change, 12);
      expect(overall!.low).toBeCloseTo(low, 12);
      expect(overall!.high).toBeCloseTo(high, 12);
      expect(overall).toMatchObject({ error: whole.overall!.error, ofWhole: whole.overall!.change });
      expect(judged[i]!.confirmation).toBeNull();
    }
    // The other device has one cell.
    expect(judged[1]).toEqual(cells[1]!.evidence);
  });

  it("are judged by the mean of the confirming runs as well", () => {
    const [fresh, hostRates] = [
      times(2, 0.9),
      { baseline: times(5, 10), first: times(5, 20), fresh: [30, 40] },
    ];
    const cells = [0.9, 0.95].map((speed) =>
      caseOf({ memory: "host", first: times(5, speed), fresh, hostRates }),
    );
    const whole = caseOf({ fresh, deviation: 0.01 }).evidence;
    const judged = judgeTogether(
      cells.map(({ series }) => series),
      cells.map(({ evidence }) => evidence),
      (mean) => {
        expect(mean.fresh.map(({ value }) => value)).toEqual(
          [30, 40].map((rate) => expect.closeTo(rate, 10)),
        );
        return whole;
      },
    );
    expect(judged.map(({ confirmation }) => confirmation!.error)).toEqual(
      times(2, whole.confirmation!.error),
    );
  });

  it("are judged each by itself if a run has no mean", () => {
    const cells = [hostCell(0, 0.9), caseOf({ memory: "host", first: times(5, 0.9) })];
    const series = cells.map((one) => one.series);
    expect(areJudgedTogether(series)).toBe(false);
    expect(areJudgedTogether(series.slice(0, 1))).toBe(true);
    const evidence = cells.map((one) => one.evidence);
    expect(judgeTogether(series, evidence, () => expect.fail("no mean is judged"))).toEqual(evidence);
  });
});
