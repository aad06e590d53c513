import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { PreparedRun } from "../../src/measure/prepare.js";
import type { DeviceFacts } from "../../src/native/device-contract.js";
import type { Plan } from "../../src/plan/plan.js";
import { notesOn, planDocument, planReport } from "../../src/report/plan-report.js";
import { GiB, h200, KiB, MiB, planOf } from "../plan/support.js";

/** A plan of two cells, with this memory. */
function planTaking(need: Partial<Plan["need"]>, given: Parameters<typeof planOf>[0] = {}): Plan {
  const plan = planOf({ sizesBytes: [MiB], workers: [1], memory: ["pinned"], ...given });
  return { ...plan, need: { ...plan.need, ...need } };
}

const factsOf = (name: string, plan: Plan, processes = 1) =>
  planReport(plan, devices, processes, fileScreen({ columns: 500 }))
    .split("\n")
    .filter((line) => line.startsWith(`  ${name} `))
    .map((line) => line.slice(name.length + 2).trim());

const factOf = (...args: Parameters<typeof factsOf>) => factsOf(...args)[0];

const devices = [1, 3].map((ordinal) => ({ ...h200, ordinal }) as unknown as DeviceFacts);

describe("the text of a plan", () => {
  it("shows each size, memory, device and number of workers once and in order", () => {
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

  it("shows each reason for skipped cells once", () => {
    const plan = planTaking({});
    const reasons = [null, "no kernels", "too large", "too large"];
    const [cell] = plan.cells;
    const cells = reasons.map((skipReason) => ({ ...cell!, skipReason }));
    expect(factsOf("Skipped", { ...plan, cells })).toEqual(["no kernels", "too large"]);
  });

  it("shows the worker processes and the device memory of their contexts", () => {
    const plan = planTaking({ contextBytes: 500 * MiB }, { workerKinds: ["process"], workers: [2] });
    expect(factOf("Worker kinds", plan)).toBe("process");
    const count = plan.processArenas.length;
    expect(factOf("Worker processes", plan)).toBe(
      `${count} a device, 500 MiB of each device for their contexts`,
    );
    const without = { ...plan, need: { ...plan.need, contextBytes: 0 } };
    expect(factOf("Worker processes", without)).toBe(`${count} a device`);
  });

  it("shows the block sizes and NUMA nodes of cells that have them", () => {
    const plan = planTaking({});
    const [cell] = plan.cells;
    const cells = [{ ...cell!, sizeBytes: MiB, blockBytes: 4 * KiB, memoryNode: 1, cpuNode: 0 }];
    expect(factOf("Blocks", { ...plan, cells })).toBe("256 × 4 KiB");
    expect(factOf("Memory of nodes", { ...plan, cells })).toBe("1");
    expect(factOf("CPUs of nodes", { ...plan, cells })).toBe("0");
  });

  it("has, as JSON, which copies are compared and the number of processes", () => {
    expect(planDocument(planTaking({}, { verify: "every" }), 1)).toMatchObject({
      verify: "every",
      runs: 1,
    });
  });
});

it.each<[string, Parameters<typeof planOf>[0], string]>([
  ["precision and the preset's budget", {}, "±1 % or 8 s in all"],
  ["a requested precision and budget", { precision: 0.02, budgetNs: 4e9 }, "±2 % or 4 s in all"],
  [
    "a fixed number of samples, whatever the budget",
    { budgetNs: 4e9, samplesPerCell: 9 },
    "9 samples a cell",
  ],
])("a plan shows when cells stop: %s", (_, given, stopping) => {
  expect(factOf("Stopping", planTaking({}, given))).toBe(stopping);
});

it("a plan shows its processes if there are several", () => {
  expect(factOf("Runs", planTaking({}), 4)).toBe("4 fresh processes, one after the other");
  expect(factOf("Runs", planTaking({}))).toBeUndefined();
  expect(planDocument(planTaking({}), 4)).toMatchObject({ runs: 4 });
});

it("a plan's notes name an unused addon, why the device is emulated, and sizes left out", () => {
  const plan = planTaking({});
  const failure = { kind: "missing", reason: "there is no such file" } as const;
  const opened = {
    plan: { ...plan, notes: ["256 MiB is left out."] },
    passedOver: [{ path: "/a/addon.node", isBuiltHere: true, failure }],
    backend: { fallbackReason: "there is no driver" },
  } as unknown as PreparedRun;
  const [passedOver, fallback, left] = notesOn(opened);
  expect(passedOver).toMatch(/^not used: .*\/a\/addon\.node.*there is no such file\.$/);
  expect(fallback).toBe("using the emulated device, because there is no driver.");
  expect(left).toBe("256 MiB is left out.");
});
