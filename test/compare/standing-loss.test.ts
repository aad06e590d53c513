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
const baseline = runsOf({ day: 0 }, 10);

const healthy = daysFrom(1, 8);
const rerun = Array.from({ length: 10 }, () => ({ day: 9, speed: 0.93 }));
const month = daysFrom(1, 30);
const slowOn = (days: number[], speed: number) =>
  month.map((day) => (days.includes(day.day) ? { ...day, speed } : day));
const ofTwo = month.map((day) => (day.day % 2 === 0 ? { ...day, speed: 0.6, gpu: "GPU-b" } : day));
const daily = month.map(({ day }) => ({ day, speed: 1 - 0.075 * (1 + Math.sin((day * Math.PI) / 2)) }));
const ofTenDays = daysFrom(0, 10).flatMap((day) => runsOf(day.day === 4 ? { ...day, speed: 0.5 } : day, 2));

describe("a loss that stays fails each check", () => {
  it.each<[string, ResultDocument[], Day[], Day[]]>([
    ["of ten days after eight healthy ones", baseline, healthy, daysFrom(9, 10, 0.7)],
    ["of ten on the same day", baseline, healthy, rerun],
    ["of 7 % with one outlying check in a month", baseline, slowOn([12], 0.5), daysFrom(31, 5, 0.93)],
    ["of 7 % with three of them", baseline, slowOn([5, 12, 13], 0.6), daysFrom(31, 5, 0.93)],
    ["of 7 % with two machines that take turns, 40 % apart", baseline, ofTwo, daysFrom(31, 5, 0.93)],
    ["of 30 % with a daily pattern of 15 %", baseline, daily, daysFrom(31, 5, 0.7)],
    ["of half the speed against ten days with a disturbed one", ofTenDays, [], daysFrom(20, 5, 0.5)],
    ["of 7 % against these", ofTenDays, [], daysFrom(20, 5, 0.93)],
  ])("%s", (_, before, past, days) => {
    expect(outcomesOf(before, days, pastOf(past))).toEqual(days.map(() => "regression"));
  });

  it("of 7 % without a history", () => {
    for (const day of daysFrom(1, 10, 0.93))
      expect(check(baseline, day, []).comparison.outcome).toBe("regression");
  });
});

it("a history of an unchanged machine raises no alarm in 20 checks", () => {
  expect(new Set(outcomesOf(baseline, daysFrom(1, 20)))).toEqual(new Set(["pass"]));
});
