import { describe, expect, it } from "vitest";
import { compareResults } from "../../src/compare/compare-results.js";
import type { Comparison } from "../../src/compare/comparison.js";
import { checkRecord } from "../../src/compare/history/check-record.js";
import type { HistoryEntry } from "../../src/results/history-entry.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildRuns, comparisonRequest, resultSet } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

/** A machine whose pinned copies are checked once a day, each day a little off, as machines are. */

const cells = [1, 2, 4, 8].map((workers) => ({ GBps: 50, workers }));
const { normal } = seeded(11);

interface Day {
  /** Days after the baseline. */
  day: number;
  speed?: number;
  /** Of the GPU that is checked. */
  gpu?: string;
}

/** The runs of one day, a minute apart, with an offset of 0.3 % that they share. */
function runsOf({ day, speed = 1, gpu = "GPU-a" }: Day, count = 5): ResultDocument[] {
  const today = speed * Math.exp(0.003 * normal());
  return buildRuns({ cells, count, speed: today, seed: day + 50 }).map((document, i) => ({
    ...document,
    devices: document.devices.map((device) => ({ ...device, uuid: gpu })),
    run: {
      ...document.run,
      id: `${gpu}-${day}-${i}`,
      startedAt: new Date(Date.UTC(2026, 10, 1 + day, 5, i)).toISOString(),
    },
  }));
}

/** The check of a day, whose fresh processes are as fast as its first ones, and what a history keeps of it. */
function check(
  baseline: readonly ResultDocument[],
  day: Day,
  history: readonly HistoryEntry[],
): { comparison: Comparison; entry: HistoryEntry } {
  const candidate = runsOf(day);
  const fresh = runsOf(day).map((one, i) => ({
    ...one,
    run: {
      ...one.run,
      id: `${one.run.id}-again`,
      startedAt: new Date(Date.UTC(2026, 10, 1 + day.day, 5, 10 + i)).toISOString(),
    },
  }));
  const request = comparisonRequest(baseline, candidate, { command: "check", fresh });
  const comparison = compareResults({ ...request, history });
  return { comparison, entry: checkRecord(resultSet(candidate).runs, comparison) };
}

/** The outcomes of checks, one a day, each with the history of those before. */
function outcomesOf(
  baseline: readonly ResultDocument[],
  days: readonly Day[],
  past: readonly HistoryEntry[] = [],
): string[] {
  const history = [...past];
  return days.map((day) => {
    const { comparison, entry } = check(baseline, day, history);
    history.push(entry);
    return comparison.outcome;
  });
}

/** What a history has of healthy checks, some of which were measured at another speed without anybody noticing. */
function pastOf(days: readonly Day[]): HistoryEntry[] {
  return days.map((day) => {
    const { runs } = resultSet(runsOf(day));
    return checkRecord(runs, { outcome: "pass", tool: { name: "pinbench", version: "0.1.0" } });
  });
}

const daysFrom = (first: number, count: number, speed = 1): Day[] =>
  Array.from({ length: count }, (_, i) => ({ day: first + i, speed }));
const failing = (count: number) => Array.from({ length: count }, () => "regression");
const baseline = runsOf({ day: 0 }, 10);

describe("a loss that stays", () => {
  it("fails the check on each of ten days after eight healthy ones", () => {
    const outcomes = outcomesOf(baseline, [...daysFrom(1, 8), ...daysFrom(9, 10, 0.7)]);
    expect(outcomes).toEqual([...Array.from({ length: 8 }, () => "pass"), ...failing(10)]);
  });

  it("fails every rerun of the same day too", () => {
    const rerun = Array.from({ length: 10 }, () => ({ day: 9, speed: 0.93 }));
    expect(outcomesOf(baseline, rerun, pastOf(daysFrom(1, 8)))).toEqual(failing(10));
  });

  it("fails without a history as well, if it is 7 %", () => {
    for (const day of daysFrom(1, 10, 0.93))
      expect(check(baseline, day, []).comparison.outcome).toBe("regression");
  });
});

describe("a history does not hide a loss of 7 %", () => {
  it.each([
    [
      "one outlying check in 30",
      daysFrom(1, 30).map((day) => (day.day === 12 ? { ...day, speed: 0.5 } : day)),
    ],
    [
      "three outlying checks in 30",
      daysFrom(1, 30).map((day) => ([5, 12, 13].includes(day.day) ? { ...day, speed: 0.6 } : day)),
    ],
    [
      "two machines that take turns, 40 % apart",
      daysFrom(1, 30).map((day) => (day.day % 2 === 0 ? { ...day, speed: 0.6, gpu: "GPU-b" } : day)),
    ],
  ])("with %s in it", (_, past) => {
    expect(outcomesOf(baseline, daysFrom(31, 5, 0.93), pastOf(past))).toEqual(failing(5));
  });

  it("with a daily pattern of 15 % in it, if the loss is 30 %", () => {
    const pattern = daysFrom(1, 30).map(({ day }) => ({
      day,
      speed: 1 - 0.075 * (1 + Math.sin((day * Math.PI) / 2)),
    }));
    expect(outcomesOf(baseline, daysFrom(31, 5, 0.7), pastOf(pattern))).toEqual(failing(5));
  });
});

describe("a baseline of ten days with a disturbed one", () => {
  it.each([
    ["half as fast", 0.5],
    ["7 % slower", 0.93],
  ])("does not hide that all copies are %s", (_, speed) => {
    const sessions = daysFrom(0, 10).flatMap((day) =>
      runsOf(day.day === 4 ? { ...day, speed: 0.5 } : day, 2),
    );
    expect(outcomesOf(sessions, daysFrom(20, 5, speed))).toEqual(failing(5));
  });
});

describe("a history of an unchanged machine", () => {
  it("raises no alarm in 20 checks", () => {
    expect(outcomesOf(baseline, daysFrom(1, 20))).toEqual(Array.from({ length: 20 }, () => "pass"));
  });
});
