import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { Plan } from "../../src/plan/plan.js";
import { budgetNote, planDocument, planReport } from "../../src/report/plan-report.js";
import { MiB, planOf } from "../plan/support.js";

const seconds = 1e9;

/** A plan of two cells of which it is estimated that they take so long. */
function planTaking(estimate: Partial<Plan["estimate"]>, given: Parameters<typeof planOf>[0] = {}): Plan {
  const plan = planOf({ sizesBytes: [MiB], workers: [1], memory: ["pinned"], ...given });
  return { ...plan, estimate: { ...plan.estimate, ...estimate } };
}

const factOf = (name: string, plan: Plan, processes = 1) =>
  planReport(plan, [], processes, fileScreen({ columns: 500 }))
    .split("\n")
    .find((line) => line.startsWith(`  ${name} `))
    ?.replace(/^ +\w+ +/, "");

describe("the time of a plan", () => {
  const even = { leastDurationNs: 9 * seconds, durationNs: 9 * seconds, mostDurationNs: 9 * seconds };

  it("is one figure of two digits", () => {
    expect(factOf("Time", planTaking({ ...even, durationNs: 9.04 * seconds }))).toBe(
      "about 9 s (an estimate)",
    );
    expect(factOf("Time", planTaking(mapped(even, () => 268 * seconds)))).toBe("about 4.5 min (an estimate)");
  });

  it("has its bounds if samples decide how many of them are taken", () => {
    const bounds = { leastDurationNs: seconds, mostDurationNs: 61 * seconds };
    expect(factOf("Time", planTaking({ ...even, ...bounds }))).toBe(
      "about 9 s (an estimate; 1 s if samples hardly differ; 61 s if they differ much)",
    );
  });

  it("of several processes is that of each, one after the other, while another one waits", () => {
    const plan = planTaking({ ...even, startNs: 0.5 * seconds });
    const { estimate } = planDocument(plan, 4) as Pick<Plan, "estimate">;
    expect(estimate).toMatchObject(mapped(even, (ns) => 4 * ns + 0.5 * seconds));
    expect(factOf("Time", plan, 4)).toBe("about 37 s (an estimate)");
  });
});

describe("a budget that is too short", () => {
  const floor = { firstSamplesNs: 20 * seconds, leastDurationNs: 23 * seconds };
  const warning =
    "The first samples of 2 cells take longer than the budget of 4 s: the run cannot end before about 23 s. Ask for fewer or smaller sizes, or fewer workers, to be done sooner.";

  it("is said with the least time that the run takes", () => {
    expect(budgetNote(planTaking(floor, { budgetNs: 4 * seconds }))).toBe(warning);
    expect(factOf("Stopping", planTaking(floor, { budgetNs: 4 * seconds }))).toBe(
      "±1 % or 4 s in all; the first samples of every cell take about 20 s in any case",
    );
  });

  it("that ends the first samples as well says that what is left is skipped", () => {
    const plan = planTaking(floor, { budgetNs: 4 * seconds });
    const hard = { ...plan, stopping: { ...plan.stopping, isHard: true } };
    expect(budgetNote(hard)).toBe(
      "The first samples of 2 cells take about 20 s: what the budget of 4 s leaves no time for is skipped, kind by kind.",
    );
    expect(factOf("Stopping", hard)).toBe(
      "±1 % or 4 s in all; the first samples of every cell would take about 20 s",
    );
  });

  it("is none that holds, nor one that is a little off", () => {
    for (const budgetNs of [60 * seconds, 19 * seconds]) {
      expect(budgetNote(planTaking(floor, { budgetNs }))).toBeNull();
    }
    expect(factOf("Stopping", planTaking(floor, { budgetNs: 60 * seconds }))).toBe("±1 % or 60 s in all");
  });

  it("which nobody asked for is said if the run takes long", () => {
    expect(budgetNote(planTaking(floor))).toBeNull();
    const long = { firstSamplesNs: 200 * seconds, leastDurationNs: 210 * seconds };
    expect(budgetNote(planTaking(long))).toMatch(/the budget of 8 s: .* before about 3\.5 min\./);
  });

  it("has no part in a fixed count of samples", () => {
    expect(budgetNote(planTaking(floor, { budgetNs: 4 * seconds, samplesPerCell: 9 }))).toBeNull();
  });
});

/** Each of the times changed in the same way. */
function mapped<Times extends Record<string, number>>(times: Times, change: (ns: number) => number): Times {
  return Object.fromEntries(Object.entries(times).map(([key, ns]) => [key, change(ns)])) as Times;
}
