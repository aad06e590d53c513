import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Plan, retimed } from "../../src/plan/plan.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { facts, h200, MiB, planOf } from "./support.js";

describe("worker processes in the estimate", () => {
  const request = {
    sizesBytes: [MiB],
    workers: [4],
    memory: ["pinned" as const],
    directions: ["h2d" as const],
  };
  const estimates = (changes: Parameters<typeof planOf>[1] = {}) =>
    (["thread", "process"] as const).map(
      (kind) => planOf({ ...request, workerKinds: [kind] }, changes).estimate,
    );

  it("have the buffers of threads, and contexts and a start of their own", () => {
    const [threads, processes] = estimates();
    expect(threads).toMatchObject({ contextBytes: 0, workersStartNs: 0 });
    expect(processes!.pinnedBytes).toBe(threads!.pinnedBytes);
    expect(processes!.contextBytes).toBe(4 * 640 * MiB);
    expect(processes!.deviceBytes).toBe(threads!.deviceBytes + processes!.contextBytes);
    expect(processes!.hostBytes).toBeGreaterThan(threads!.hostBytes);
    // Threads have their memory reserved by the session itself.
    expect(processes!.setUpNs - threads!.setUpNs).toBeGreaterThan(0.9 * processes!.workersStartNs);
    expect(processes!.setUpNs - threads!.setUpNs).toBeLessThan(processes!.workersStartNs);
    expect(processes!.workersStartNs).toBeGreaterThan(1e9);
  });

  it("have no context that takes memory on the emulated device", () => {
    const [threads, processes] = estimates({ emulated: true });
    expect(processes).toMatchObject({ contextBytes: 0, deviceBytes: threads!.deviceBytes });
  });
});

/** The plan of a recorded result's cells, on the machine on which they were measured. */
function planOfRecord({ plan: recorded, cells, devices, host, coldStart }: ResultDocument): Plan {
  const ordinals = devices.map(({ ordinal }) => ordinal);
  const { budgetNs, precision, samplesPerCell, verify } = recorded!;
  const measured = cells.filter(({ outcome }) => outcome !== "skipped").map(({ id }) => id);
  return planOf(
    { cells: measured, budgetNs, precision, samplesPerCell, verify },
    {
      devices: devices.map((device) => ({
        ...h200,
        ordinal: device.ordinal,
        peers: ordinals.filter((ordinal) => ordinal !== device.ordinal),
      })),
      cpusUsable: host!.cpusAllowed.length,
      lastLevelCacheBytes: host!.lastLevelCacheBytes,
      memoryAvailableBytes: host!.memoryAvailableBytes,
      driverInitNs: coldStart[0]!.initNs,
    },
  );
}

describe("the estimate for a run that was recorded on a GPU", () => {
  // default.json and quick.json are of a state of pinbench that took fewer copies in a sample, and timed allocations once.
  it.each([
    "pinned.json",
    "fresh-process.json",
    "at-once-together.json",
    "at-once-beside.json",
    "every-copy.json",
  ])("is within a quarter of the time of %s", async (name) => {
    const path = fileURLToPath(new URL(`../../results/nvidia-h200/${name}`, import.meta.url));
    const record = parseResult(await readFile(path, "utf8"), name);
    const ratio = planOfRecord(record).estimate.durationNs / record.run.wallNs!;
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.25);
  });
});

describe("the estimate on an emulated device", () => {
  const planned = planOf({ sizesBytes: [16 * MiB], workers: [1], samplesPerCell: 20 }, { emulated: true });
  const atSpeed = (firstTouchGBps: number, copyGBps: number) =>
    retimed(planned, { firstTouchGBps, copyGBps }, facts().driverInitNs).estimate;

  it("follows the speed of the host's memory", () => {
    const [slow, fast] = [atSpeed(0.5, 2), atSpeed(5, 20)];
    expect(slow.measuringNs / fast.measuringNs).toBeGreaterThan(2.5);
    expect(slow.setUpNs).toBeGreaterThan(fast.setUpNs);
  });

  it("is that of a usual machine if nobody has measured it", () => {
    expect(planned.estimate).toEqual(atSpeed(1.4, 14));
  });
});

describe("the estimate", () => {
  it("adds up the arenas: pageable and staged share one, pinned and mapped another", () => {
    const { estimate } = planOf({
      sizesBytes: [64 * MiB],
      workers: [2],
      memory: ["pageable", "staged", "pinned", "mapped", "registered"],
    });
    const arena = 2 * 2 * 64 * MiB;
    const ring = 2 * 3 * 2 * MiB;
    expect(estimate).toMatchObject({
      hostBytes: 3 * arena + ring,
      pinnedBytes: 2 * arena + ring,
      deviceBytes: arena,
    });
  });

  it("doubles device memory for d2d, which needs none on the host", () => {
    const { estimate } = planOf({ sizesBytes: [64 * MiB], workers: [1], directions: ["d2d"] });
    expect(estimate).toMatchObject({ hostBytes: 0, pinnedBytes: 0, deviceBytes: 256 * MiB });
  });

  it("of the duration lies between the first samples and the budget", () => {
    const { cells, estimate } = planOf({ budgetNs: 60e9 });
    // Six samples of 5 ms a cell.
    expect(estimate.leastDurationNs).toBeGreaterThan(cells.length * 6 * 5e6);
    expect(estimate.leastDurationNs).toBeLessThan(60e9);
    expect(estimate.durationNs).toBe(estimate.mostDurationNs);
    expect(estimate.mostDurationNs).toBeGreaterThan(60e9);
    expect(estimate.mostDurationNs).toBeLessThan(65e9);
  });

  it("of the duration does not spend a budget on copies that all take the same", () => {
    const { estimate } = planOf({
      sizesBytes: [64 * MiB],
      workers: [1],
      memory: ["pinned"],
      budgetNs: 60e9,
    });
    expect(estimate.durationNs).toBe(estimate.leastDurationNs);
    expect(estimate.mostDurationNs).toBeGreaterThan(60e9);
  });

  it("of the duration has what no budget cuts short: the first samples of all cells", () => {
    const { estimate } = planOf({ sizesBytes: [256 * MiB], workers: [4], budgetNs: 1e6 });
    expect(estimate.measuringNs).toBe(estimate.firstSamplesNs);
    expect(estimate.firstSamplesNs).toBeGreaterThan(1e9);
    expect(estimate.durationNs).toBeGreaterThan(estimate.setUpNs + estimate.firstSamplesNs);
  });

  it("of the duration counts what timing allocations takes", () => {
    const leastNs = (sizesBytes: number[]) =>
      planOf({ sizesBytes, workers: [1], memory: ["pinned"], samplesPerCell: 1, verify: false }).estimate
        .leastDurationNs;
    // In three ways of 80 to 200 ms, three times.
    expect(leastNs([256 * MiB]) - leastNs([MiB])).toBeGreaterThan(0.9e9);
  });

  it("of the duration has what loads take that start in each of the six rounds, and are looked at by themselves", () => {
    const leastNs = (...besides: ("none" | "compute" | "host")[]) =>
      planOf({ sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"], besides }).estimate
        .leastDurationNs;
    const oneNs = leastNs("compute") - leastNs("none");
    expect(oneNs).toBeGreaterThan(6 * (300e6 + 2 * 50e6));
    expect(oneNs).toBeLessThan(6 * 500e6);
    expect(leastNs("compute", "host") - leastNs("none")).toBeCloseTo(2 * oneNs, -7);
  });

  it("of the duration has devices that copy together share the time", () => {
    const devices = [h200, { ...h200, ordinal: 1 }];
    const given = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
    const leastNs = (more: object) =>
      planOf({ ...given, samplesPerCell: 1000, devices: [0, 1], ...more }, { devices }).estimate
        .leastDurationNs;
    expect(leastNs({ together: true }) / leastNs({})).toBeCloseTo(1.5, 1);
  });

  it("of the duration has emulated devices that copy together share the CPUs too", () => {
    const devices = Array.from({ length: 8 }, (_, ordinal) => ({ ...h200, ordinal }));
    const given = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
    const leastNs = (cpusUsable: number, together: boolean) =>
      planOf(
        { ...given, samplesPerCell: 1000, devices: "all", together },
        { devices, emulated: true, cpusUsable },
      ).estimate.leastDurationNs;
    expect(leastNs(2, true) / leastNs(2, false)).toBeCloseTo(1 + 1 / 1.4, 1);
    expect(leastNs(64, true) / leastNs(64, false)).toBeCloseTo(1 + 1 / 8, 1);
  });

  it("of the duration with a fixed count of samples knows no budget", () => {
    const few = planOf({ samplesPerCell: 10 }).estimate;
    expect(few.mostDurationNs).toBe(few.durationNs);
    const many = planOf({ samplesPerCell: 1000 }).estimate;
    expect(few.durationNs).toBe(few.leastDurationNs);
    expect(many.durationNs).toBeGreaterThan(10 * few.durationNs);
  });
});
