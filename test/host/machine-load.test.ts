import { describe, expect, it } from "vitest";
import { type LoadReading, loadBetween, readLoad } from "../../src/host/machine-load.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const stat = [
  "cpu  100 20 30 4000 50 6 7 80 9 1",
  "cpu0 50 10 15 2000 25 3 4 40 5 1",
  "cpu1 50 10 15 2000 25 3 3 40 4 0",
  "intr 12345 0 1 2",
].join("\n");
const pressure = (someUs: number) =>
  `some avg10=0.00 avg60=0.10 avg300=1.00 total=${someUs}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9`;

describe("readLoad", () => {
  it("reads the busy and stolen time of all CPUs, and how long some task waited", () => {
    const root = fixtureRoot({
      "proc/stat": stat,
      "proc/pressure/cpu": pressure(1500),
      "proc/pressure/memory": pressure(0),
      "proc/pressure/io": pressure(7),
    });
    const { cpus, stalledNs } = readLoad(root);
    // user, nice, system, irq and softirq; guests are in user and nice already.
    const busyTicks = 100 + 20 + 30 + 6 + 7;
    expect(cpus).toEqual({ count: 2, totalTicks: busyTicks + 4000 + 50 + 80, stolenTicks: 80, busyTicks });
    expect(stalledNs).toEqual({ cpu: 1.5e6, memory: 0, io: 7000 });
  });

  it.each([
    ["no /proc", {}],
    ["a kernel without these counters", { "proc/stat": "cpu  1 2 3 4", "proc/pressure/io": "" }],
    ["nonsense", { "proc/stat": "cpu  a b c d e f g h\ncpu0 1", "proc/pressure/cpu": "some avg10=1" }],
  ])("is null for what the kernel does not report: %s", (_, files) => {
    const reading = readLoad(fixtureRoot(files));
    expect(reading).toMatchObject({ cpus: null, stalledNs: { cpu: null, memory: null, io: null } });
    expect(reading.atNs).toBeGreaterThan(0);
    expect(reading.ownCpuNs).toBeGreaterThan(0);
  });

  it("counts the CPU time of running worker processes as its own, and none of ended ones", () => {
    const fields = ["S", ...Array(10).fill("7"), "150", "50", "1", "1"].join(" ");
    const root = fixtureRoot({ "proc/4242/stat": `4242 (a worker) (1) ${fields}` });
    const without = readLoad(root, [4243]).ownCpuNs;
    const withWorker = readLoad(root, [4242, 4243]).ownCpuNs;
    // 200 ticks of 10 ms.
    expect(withWorker - without).toBeGreaterThanOrEqual(2e9);
    expect(withWorker - without).toBeLessThan(3e9);
  });

  it("reads counters of this machine that never decrease", () => {
    const before = readLoad();
    const after = readLoad();
    expect(after.atNs).toBeGreaterThanOrEqual(before.atNs);
    expect(after.ownCpuNs).toBeGreaterThanOrEqual(before.ownCpuNs);
    for (const share of Object.values(loadBetween([[before, after]]))) {
      if (share !== null) expect(share).toBeLessThanOrEqual(1);
    }
  });
});

const start: LoadReading = {
  atNs: 1e9,
  ownCpuNs: 5e9,
  cpus: { count: 4, totalTicks: 10_000, stolenTicks: 100, busyTicks: 2000 },
  stalledNs: { cpu: 1e6, memory: 2e6, io: 3e6 },
};

/** Two seconds later, of four CPUs with 100 ticks a second each. */
function later(changes: Partial<LoadReading> = {}): LoadReading {
  return {
    atNs: 3e9,
    ownCpuNs: 7e9,
    cpus: { count: 4, totalTicks: 10_800, stolenTicks: 108, busyTicks: 2600 },
    stalledNs: { cpu: 1e6 + 0.5e9, memory: 2e6, io: 3e6 + 2e9 },
    ...changes,
  };
}

describe("loadBetween", () => {
  it("gives the shares of CPU time used by others, and of time in which tasks waited", () => {
    const load = loadBetween([[start, later()]]);
    // 600 of 800 ticks were busy; 2 s of 4 x 2 s were this process' own.
    expect(load.otherCpuShare).toBeCloseTo(0.75 - 0.25, 12);
    expect(load.stealShare).toBeCloseTo(0.01, 12);
    expect(load).toMatchObject({ cpuPressureShare: 0.25, memoryPressureShare: 0, ioPressureShare: 1 });
  });

  it("weights several measured intervals by their length", () => {
    const idle = later({ atNs: 9e9, ownCpuNs: 5e9, stalledNs: start.stalledNs });
    const { cpuPressureShare } = loadBetween([
      [start, later()],
      [start, idle],
    ]);
    expect(cpuPressureShare).toBeCloseTo(0.5 / (2 + 8), 12);
  });

  it("is never negative, even if a counter decreases", () => {
    const spinning = later({ ownCpuNs: 5e9 + 7e9 });
    const backwards = later({ cpus: { count: 4, totalTicks: 10_800, stolenTicks: 90, busyTicks: 2000 } });
    expect(loadBetween([[start, spinning]]).otherCpuShare).toBe(0);
    expect(loadBetween([[start, backwards]])).toMatchObject({ stealShare: 0, otherCpuShare: 0 });
    // A decrease in one interval is not subtracted from another.
    const { stealShare } = loadBetween([
      [start, later()],
      [start, backwards],
    ]);
    expect(stealShare).toBeCloseTo(8 / (800 + 800), 12);
  });

  it("is null if a counter is missing or did not change", () => {
    const untold = later({ cpus: null, stalledNs: { cpu: null, memory: 1e9, io: null } });
    expect(loadBetween([[start, untold]])).toEqual({
      stealShare: null,
      otherCpuShare: null,
      cpuPressureShare: null,
      memoryPressureShare: expect.any(Number),
      ioPressureShare: null,
    });
    expect(Object.values(loadBetween([[start, start]]))).toEqual([null, null, null, null, null]);
  });
});
