import { describe, expect, it } from "vitest";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildRuns, compareRuns } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

/** Daily checks of pinned copies, with the noise between days of a real machine. */

const cells = [1, 2, 4, 8].map((workers) => ({ GBps: 50, workers }));
const { normal } = seeded(11);

interface Day {
  /** Days after the baseline. */
  day: number;
  speed?: number;
  /** UUID of the checked GPU. */
  gpu?: string;
}

/** The runs of one day, a minute apart, with a common random offset of 0.3 %. */
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

/** The outcome of a day's check, whose fresh runs are as fast as its first ones. */
function outcomeOf(baseline: readonly ResultDocument[], day: Day): string {
  const candidate = runsOf(day);
  const fresh = runsOf(day).map((one, i) => ({
    ...one,
    run: {
      ...one.run,
      id: `${one.run.id}-again`,
      startedAt: new Date(Date.UTC(2026, 10, 1 + day.day, 5, 10 + i)).toISOString(),
    },
  }));
  return compareRuns(baseline, candidate, { command: "check", fresh }).outcome;
}

const daysFrom = (first: number, count: number, speed = 1): Day[] =>
  Array.from({ length: count }, (_, i) => ({ day: first + i, speed }));
const baseline = runsOf({ day: 0 }, 10);
const rerun = Array.from({ length: 10 }, () => ({ day: 9, speed: 0.93 }));
const ofTenDays = daysFrom(0, 10).flatMap((day) => runsOf(day.day === 4 ? { ...day, speed: 0.9 } : day, 2));

describe("a loss that stays fails each check", () => {
  it.each<[string, ResultDocument[], Day[]]>([
    ["of 30 % on ten days", baseline, daysFrom(9, 10, 0.7)],
    ["of 7 % on ten days", baseline, daysFrom(1, 10, 0.93)],
    ["of 7 % in ten checks of the same day", baseline, rerun],
    ["of half the speed, with one disturbed day of ten in the baseline", ofTenDays, daysFrom(20, 5, 0.5)],
  ])("%s", (_, before, days) => {
    expect(days.map((day) => outcomeOf(before, day))).toEqual(days.map(() => "regression"));
  });
});

it("an unchanged machine raises no alarm in 20 checks", () => {
  expect(new Set(daysFrom(1, 20).map((day) => outcomeOf(baseline, day)))).toEqual(new Set(["pass"]));
});
