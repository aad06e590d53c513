import { describe, expect, it } from "vitest";
import {
  awaitsGroups,
  compareCell,
  compareGroups,
  withVerdictOfGroup,
} from "../../src/compare/compare-cell.js";
import type { CellComparison, GroupComparison } from "../../src/compare/comparison.js";
import { lossThatWouldShow } from "../../src/compare/evidence/change-estimate.js";
import { joinedSeries } from "../../src/compare/evidence/evidence.js";
import { studentQuantile } from "../../src/stats/hypothesis-tests.js";
import { usualRule } from "../helpers/runs.js";
import { caseOf, times } from "./evidence-case.js";

/** A member, at `scale` times the others' speeds; of one whose unit is us, these are inverse times. */
const member = (first: readonly number[], part: { scale?: number; fresh?: number[]; unit?: "us" } = {}) =>
  caseOf({ ...part, baseline: [1, 1.02, 0.98].map((one) => one * (part.scale ?? 1)), first }).series;

const values = (figures: readonly { value: number }[]) => figures.map(({ value }) => +value.toFixed(10));

describe("a group as a whole", () => {
  it("has the median of its members' speeds, each relative to the median of its baseline", () => {
    const whole = joinedSeries([
      member([0.9, 1]),
      member([4 * 0.8, 4 * 1.1], { scale: 4 }),
      member([0.5 * 0.7, 0.5 * 1.2], { scale: 0.5, unit: "us" }),
    ]);
    expect(whole).toMatchObject({ unit: "GB/s", fresh: [] });
    expect(values(whole.baseline)).toEqual([1, 1.02, 0.98]);
    expect(values(whole.first)).toEqual([0.8, 1.1]);
  });

  it("has the fresh runs that measured all of its members", () => {
    const all = [member([1], { fresh: [0.9, 0.8] }), member([1], { fresh: [0.9, 0.8] })];
    expect(values(joinedSeries(all).fresh)).toEqual([0.9, 0.8]);
    expect(joinedSeries([...all, member([1], { fresh: [0.9] })]).fresh).toEqual([]);
    expect(joinedSeries([member(times(1, 1)), ...all]).fresh).toEqual([]);
  });
});

describe("a group with a control", () => {
  it("lost speed with the host's memory if its own device's did", () => {
    const hosts = [0, 1].map((device) =>
      caseOf({ memory: "host", device, first: times(5, 1 - 0.2 * device) }),
    );
    const copies = { memory: "pageable", device: 1 };
    const member = caseOf(copies);
    const withHost = caseOf({ ...copies, first: times(5, 0.8), deviation: 0.01 }).evidence;
    const cases = [...hosts, member];
    const series = cases.map((one) => one.series);
    const facts = { kind: "pageable", moved: "h2d", members: [member.series], whole: member.series } as const;
    const terms = { rule: usualRule, needsConfirmation: false, isBlocked: false };
    const compared = [0, 1].map((device) => {
      const group = { ...facts, members: [...facts.members], device, evidence: member.evidence, withHost };
      const evidence = { cells: cases.map((one) => one.evidence), groups: [group] };
      return compareGroups({ series, evidence }, terms)[0]!;
    });
    const ids = [member.series.cell.id];
    const of = (change: number) => expect.closeTo(change, 10);
    const interval = (log: number, deviation: number) => {
      const halfWidth = deviation * Math.sqrt(2 / 5) * studentQuantile(0.025, 100);
      const [low, high] = [Math.expm1(log - halfWidth), Math.expm1(log + halfWidth)];
      return { change: of(Math.expm1(log)), low: of(low), high: of(high) };
    };
    // The loss of the copies alone.
    const wouldShow = of(lossThatWouldShow(member.evidence.overall, -Math.log(0.95))!);
    expect(compared).toMatchObject([
      { verdict: "not slower", isWithHost: false, ids, wouldShow, ...interval(0, 0.001) },
      { verdict: "slower", isWithHost: true, ids, wouldShow, ...interval(Math.log(0.8), 0.01) },
    ]);
  });
});

it("the loss of a cell that would show is that of all of its runs", () => {
  const { series, evidence } = caseOf({ first: times(5, 0.99), fresh: [0.99] });
  const terms = { rule: usualRule, needsConfirmation: true, isBlocked: false };
  const expected = lossThatWouldShow(evidence.overall, -Math.log(0.97))!;
  expect(compareCell(series, evidence, terms)!.wouldShow).toBeCloseTo(expected, 12);
});

describe("a group whose drop noise may be", () => {
  const members = [0, 1].map((device) => caseOf({ device, first: times(5, 0.95), deviation: 0.04 }));
  const series = members.map((one) => one.series);
  const [{ evidence }] = members as [ReturnType<typeof caseOf>];
  const facts = { kind: "pinned", device: 0, moved: "h2d", withHost: null } as const;
  const group = { ...facts, members: series, whole: series[0]!, evidence };
  const gathered = { series, evidence: { cells: members.map((one) => one.evidence), groups: [group] } };
  const awaits = (...ids: string[]) => awaitsGroups(gathered, usualRule, new Set(ids));

  it("awaits more runs if these measure all of its cells", () => {
    const [one, other] = series.map(({ cell }) => cell.id) as [string, string];
    expect([awaits(one, other), awaits(one), awaits()]).toEqual([true, false, false]);
  });
});

describe("a cell of a slower group", () => {
  const judged = (
    change: number,
    part: Partial<CellComparison> = {},
    ofGroup: Partial<GroupComparison> = {},
  ) => {
    const lost = { moved: "d2h", ids: ["a"], verdict: "slower", reason: "by 9 %", isWithHost: false };
    const group = { ...lost, ...ofGroup };
    const open = { id: "a", moved: "d2h", unit: "GB/s", verdict: "inconclusive", slowRuns: null };
    const cell = { ...open, threshold: 0.05, candidate: { change }, ...part } as CellComparison;
    return withVerdictOfGroup(cell, [group as GroupComparison]);
  };
  const verdictOf = (...args: Parameters<typeof judged>) => judged(...args).verdict;

  const slow = {} as CellComparison["slowRuns"];

  it("is slower too if it was undecided and lost as much, in the group's direction", () => {
    expect(judged(-0.1)).toMatchObject({ verdict: "slower", reason: "with the others of its kind by 9 %" });
    expect(verdictOf(-0.05)).toBe("slower");
    expect(verdictOf(0.1, { unit: "us" })).toBe("slower");
    expect(verdictOf(-0.1, { verdict: "not slower" })).toBe("not slower");
    for (const change of [-0.04, 0.1]) expect(verdictOf(change)).toBe("inconclusive");
    for (const part of [{ moved: "h2d" }, { id: "b" }, { unit: "us" }, { slowRuns: slow }] as const)
      expect(verdictOf(-0.1, part)).toBe("inconclusive");
    for (const part of [{ isWithHost: true }, { verdict: "not slower" }] as const)
      expect(verdictOf(-0.1, {}, part)).toBe("inconclusive");
  });
});
