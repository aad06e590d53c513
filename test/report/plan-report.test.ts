import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { PreparedRun } from "../../src/measure/prepare.js";
import type { DeviceFacts } from "../../src/native/device-contract.js";
import type { Plan } from "../../src/plan/plan.js";
import { budgetNote, notesOn, planDocument, planReport } from "../../src/report/plan-report.js";
import { GiB, h200, KiB, MiB, planOf } from "../plan/support.js";

const seconds = 1e9;

/** A plan of two cells of which it is estimated that they take so long. */
function planTaking(estimate: Partial<Plan["estimate"]>, given: Parameters<typeof planOf>[0] = {}): Plan {
  const plan = planOf({ sizesBytes: [MiB], workers: [1], memory: ["pinned"], ...given });
  return { ...plan, estimate: { ...plan.estimate, ...estimate } };
}

const factsOf = (name: string, plan: Plan, processes = 1) =>
  planReport(plan, devices, processes, fileScreen({ columns: 500 }))
    .split("\n")
    .filter((line) => line.startsWith(`  ${name} `))
    .map((line) => line.slice(name.length + 2).trim());

const factOf = (...args: Parameters<typeof factsOf>) => factsOf(...args)[0];

const devices = [1, 3].map((ordinal) => ({ ...h200, ordinal }) as unknown as DeviceFacts);

describe("what a plan measures", () => {
  it("is said by axis, each value once and in order", () => {
    const plan = planTaking(
      { hostBytes: 3 * MiB, pinnedBytes: 2 * MiB, deviceBytes: 5 * GiB },
      { sizesBytes: [MiB, 4 * MiB], memory: ["pinned", "pageable"], workers: [1, 2] },
    );
    const backwards = { ...plan, cells: plan.cells.toReversed() };
    expect(factOf("Sizes", backwards)).toBe("1 MiB, 4 MiB");
    expect(factOf("Memory", backwards)).toBe("pageable, host, pinned");
    expect(factOf("Devices", plan)).toBe("1 (NVIDIA H200), 3 (NVIDIA H200)");
    expect(factOf("Workers", plan)).toBe("1, 2");
    expect(factOf("Host memory", plan)).toBe("3 MiB, of which 2 MiB pinned");
    expect(factOf("On device", plan)).toBe("5 GiB");
    expect(factOf("Worker processes", plan)).toBeUndefined();
  });

  it("has every reason to skip some of it, once", () => {
    const plan = planTaking({});
    const reasons = [null, "no kernels", "too large", "too large"];
    const [cell] = plan.cells;
    const cells = reasons.map((skipReason) => ({ ...cell!, skipReason }));
    expect(factsOf("Skipped", { ...plan, cells })).toEqual(["no kernels", "too large"]);
  });

  it("has the start of its worker processes, and what their contexts take of a device", () => {
    const plan = planTaking(
      { workersStartNs: 2 * seconds, contextBytes: 500 * MiB },
      { workerKinds: ["process"], workers: [2] },
    );
    expect(factOf("Worker kinds", plan)).toBe("process");
    const count = plan.processArenas.length;
    expect(factOf("Worker processes", plan)).toBe(
      `${count} a device: about 2 s to start, 500 MiB of each device for their contexts`,
    );
    const without = { ...plan, estimate: { ...plan.estimate, contextBytes: 0 } };
    expect(factOf("Worker processes", without)).toBe(`${count} a device: about 2 s to start`);
  });

  it("has blocks and memory nodes of cells that have them", () => {
    const plan = planTaking({});
    const [cell] = plan.cells;
    const cells = [{ ...cell!, sizeBytes: MiB, blockBytes: 4 * KiB, memoryNode: 1, cpuNode: 0 }];
    expect(factOf("Blocks", { ...plan, cells })).toBe("256 × 4 KiB");
    expect(factOf("Memory of nodes", { ...plan, cells })).toBe("1");
    expect(factOf("CPUs of nodes", { ...plan, cells })).toBe("0");
  });

  it("has in JSON how staged copies are made", () => {
    const plan = planTaking({}, { stagingChunkBytes: 4 * MiB, stagingSlots: 5, seed: 7 });
    expect(planDocument(plan, 1)).toMatchObject({
      staging: { chunkBytes: 4 * MiB, slots: 5 },
      seed: 7,
      processes: 1,
    });
  });
});

describe("the time of a plan", () => {
  const even = { leastDurationNs: 9 * seconds, durationNs: 9 * seconds, mostDurationNs: 9 * seconds };

  it("is one figure of two digits", () => {
    expect(factOf("Time", planTaking({ ...even, durationNs: 9.04 * seconds }))).toBe(
      "about 9 s (an estimate)",
    );
    expect(factOf("Time", planTaking(mapped(even, () => 268 * seconds)))).toBe("about 4.5 min (an estimate)");
    expect(factOf("Time", planTaking(mapped(even, () => 100 * seconds)))).toBe("about 100 s (an estimate)");
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
  const of = (budgetNs: number) => planTaking(floor, { budgetNs });
  const plan = of(4 * seconds);
  const [first, ...others] = plan.cells;
  const hard = { ...plan, stopping: { ...plan.stopping, isHard: true } };
  const named = { ...plan, settings: { ...plan.settings, cells: [first!.id] } } as Plan;
  const skipping = { ...plan, cells: [{ ...first!, skipReason: "no kernels" }, ...others] };
  const least = "; the first samples of every cell";

  it.each<[string, Plan, string | null, string]>([
    [
      "has the least time that the run takes",
      plan,
      "The first samples of 2 cells take longer than the budget of 4 s: the run cannot end before about 23 s. Ask for fewer or smaller sizes, or fewer workers, to be done sooner.",
      `±1 % or 4 s in all${least} take about 20 s in any case`,
    ],
    [
      "that is hard has what it leaves no time for",
      hard,
      "The first samples of 2 cells take about 20 s: what the budget of 4 s leaves no time for is skipped, kind by kind.",
      `±1 % or 4 s in all${least} would take about 20 s`,
    ],
    [
      "counts only the cells that are measured",
      skipping,
      "first samples of 1 cell take",
      "±1 % or 4 s in all",
    ],
    ["which nobody asked for is none", planTaking(floor), null, "±1 % or 8 s in all"],
    [
      "which nobody asked for is one if the run takes long",
      planTaking({ firstSamplesNs: 200 * seconds, leastDurationNs: 210 * seconds }),
      "the run cannot end before about 3.5 min.",
      "±1 % or 8 s in all",
    ],
    ["is none that holds", of(60 * seconds), null, "±1 % or 60 s in all"],
    ["is none that is a little off", of(19 * seconds), null, "±1 % or 19 s in all"],
    ["is none of cells that were asked for by name", named, null, "±1 % or 4 s in all"],
    [
      "is none if all is short",
      planTaking({ firstSamplesNs: 1.5e9, leastDurationNs: 2e9 }, { budgetNs: 1e9 }),
      null,
      "±1 % or 1 s",
    ],
    [
      "has no part in a fixed count of samples",
      planTaking(floor, { budgetNs: 4e9, samplesPerCell: 9 }),
      null,
      "9 samples",
    ],
  ])("%s", (_, one, note, stopping) => {
    if (note === null) expect(budgetNote(one)).toBeNull();
    else expect(budgetNote(one)).toContain(note);
    expect(factOf("Stopping", one)).toContain(stopping);
  });
});

it("notes what was not used for measuring, why a device is emulated, and what the plan and the budget leave out", () => {
  const plan = planTaking(
    { firstSamplesNs: 20 * seconds, leastDurationNs: 23 * seconds },
    { budgetNs: seconds },
  );
  const failure = { kind: "missing", reason: "there is no such file" } as const;
  const opened = {
    plan: { ...plan, notes: ["256 MiB is left out."] },
    passedOver: [{ path: "/a/addon.node", isBuiltHere: true, failure }],
    backend: { fallbackReason: "there is no driver" },
  } as unknown as PreparedRun;
  const [passedOver, fallback, left, budget] = notesOn(opened);
  expect(passedOver).toMatch(/^not used: .*\/a\/addon\.node.*there is no such file\.$/);
  expect(fallback).toBe("measuring the emulated device, because there is no driver.");
  expect(left).toBe("256 MiB is left out.");
  expect(budget).toContain("take longer than the budget of 1 s");
});

/** Each of the times changed in the same way. */
function mapped<Times extends Record<string, number>>(times: Times, change: (ns: number) => number): Times {
  return Object.fromEntries(Object.entries(times).map(([key, ns]) => [key, change(ns)])) as Times;
}
