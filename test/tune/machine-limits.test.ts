import { mkdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import type { ProbeFacts } from "../../src/tune/loader-probe.js";
import {
  cpusPerRank,
  limitsOfProcesses,
  type MachineLimits,
  machineLimits,
  misfit,
  needOf,
} from "../../src/tune/machine-limits.js";
import { settingThatFits } from "../../src/tune/search/search.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { SimulatedProbe, simulatedFacts } from "../helpers/simulated-loader.js";
import { limitsOf, trialsOf } from "../helpers/tune.js";

const machine = (files: Record<string, string> = {}) =>
  fixtureRoot({
    "proc/self/status": "Cpus_allowed_list:\t0-11",
    "proc/meminfo": "MemTotal: 2000 kB\nMemAvailable: 1000 kB",
    ...files,
  });

describe("what a loader's ranks share", () => {
  it("is the CPUs of the affinity mask, and the available memory", () => {
    expect(machineLimits(2, machine())).toEqual({
      usableCpus: 12,
      cpuQuota: null,
      memoryAvailableBytes: 1_024_000,
      sharedMemoryBytes: null,
      ranks: 2,
    });
  });

  it("is as many CPUs as a container's quota allows, rounded up", () => {
    const quota = { "proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "350000 100000" };
    expect(machineLimits(1, machine(quota))).toMatchObject({ usableCpus: 4, cpuQuota: 3.5 });
  });

  it("is the free space of /dev/shm", () => {
    const root = machine();
    mkdirSync(join(root, "dev/shm"), { recursive: true });
    const { bavail, bsize } = statfsSync(join(root, "dev/shm"));
    // Others write to the file system meanwhile.
    const share = machineLimits(1, root).sharedMemoryBytes! / (bavail * bsize);
    expect(share).toBeGreaterThan(0.5);
    expect(share).toBeLessThan(2);
  });
});

it("the CPUs to which a launcher has bound ranks are counted only if all ranks are known", () => {
  const limits = limitsOf({ ranks: 2, usableCpus: 16 });
  const rank = (number: number, cpus: number[]) => ({
    rank: number,
    place: { cpus, memoryPolicy: "default", pciBusId: null },
  });
  const both = [rank(0, [0, 1, 2]), rank(1, [2, 3])];
  expect(limitsOfProcesses(limits, both).usableCpus).toBe(4);
  expect(limitsOfProcesses(limits, both.slice(1)).usableCpus).toBe(16);
  // A quota may leave fewer than the processes are bound to.
  expect(limitsOfProcesses({ ...limits, usableCpus: 3 }, both).usableCpus).toBe(3);
});

it.each([
  [16, 1, 16],
  [16, 2, 8],
  [16, 3, 5],
  [2, 8, 1],
  [1, 1, 1],
])("%i CPUs shared by %i ranks are %i for each", (usableCpus, ranks, each) => {
  expect(cpusPerRank(limitsOf({ usableCpus, ranks }))).toBe(each);
});

const MiB = 2 ** 20;
const facts: ProbeFacts = { ...simulatedFacts, batch: { ...simulatedFacts.batch, bytes: 32 * MiB } };
const why = (
  setting: LoaderSetting,
  limits: Partial<MachineLimits>,
  { maxWorkers = 16, of = {} as Partial<ProbeFacts>, workerBytes = 0 } = {},
) => misfit(setting, { ...facts, ...of }, { limits: limitsOf(limits), maxWorkers }, workerBytes);

describe("what a setting needs", () => {
  it("is shared memory for the batches in flight and two more, and as much again pinned", () => {
    expect(needOf(usualSetting(4, false), facts, 0)).toMatchObject({
      sharedMemoryBytes: 10 * 32 * MiB,
      memoryBytes: 10 * 32 * MiB,
    });
    expect(needOf(usualSetting(4, true, 1), facts, 0)).toMatchObject({
      sharedMemoryBytes: 6 * 32 * MiB,
      memoryBytes: 2 * 6 * 32 * MiB,
    });
  });

  it("is pinned memory rounded up to powers of two", () => {
    const odd = { ...facts, batch: { ...facts.batch, bytes: 33 * MiB } };
    expect(needOf(usualSetting(0, true), odd, 0).memoryBytes).toBe(3 * 64 * MiB);
  });

  it("is no memory and no file without workers and without pinning", () => {
    expect(needOf(usualSetting(0, false), facts, 50e6)).toEqual({
      sharedMemoryBytes: 0,
      memoryBytes: 0,
      files: 0,
    });
  });

  it("includes the memory that each worker holds for itself, and the files of its pipes", () => {
    const need = needOf(usualSetting(4, false), { ...facts, filesPerBatch: 3 }, 50e6);
    expect(need.memoryBytes).toBe(10 * 32 * MiB + 200e6);
    expect(need.files).toBe(4 * 8 + 10 * 3);
  });
});

describe("why a setting does not fit", () => {
  it("is null for a setting that fits", () => {
    expect(why(usualSetting(16, true), {})).toBeNull();
  });

  it.each([
    [{}, 16, 17, "17 workers are more than 16, by the CPUs of each rank or --max-workers"],
    [{ ranks: 4 }, 4, 5, "5 workers are more than 4, by the CPUs of each rank or --max-workers"],
  ])("is the number of workers: %j and at most %i", (limits, maxWorkers, workers, reason) => {
    expect(why(usualSetting(workers, false), limits, { maxWorkers })).toBe(reason);
    expect(why(usualSetting(workers - 1, false), limits, { maxWorkers })).toBeNull();
  });

  it.each([
    [{ sharedMemoryBytes: 64 * MiB }, "batches in flight need 320 MiB of /dev/shm, and 64 MiB are free"],
    [
      { sharedMemoryBytes: 500 * MiB, ranks: 2 },
      "batches in flight need 320 MiB of /dev/shm for each of 2 ranks, and 500 MiB are free",
    ],
    [{ memoryAvailableBytes: 300 * MiB }, "it needs 320 MiB of memory, and 300 MiB are available"],
  ])("is too little memory: %j", (limits, reason) => {
    expect(why(usualSetting(4, false), limits)).toBe(reason);
  });

  it("is that all ranks together need more memory than is available", () => {
    const limits = { memoryAvailableBytes: 640 * MiB };
    expect(why(usualSetting(4, false), { ...limits, ranks: 2 })).toBeNull();
    expect(why(usualSetting(4, false), { ...limits, ranks: 3 })).toMatch(/memory.* 640 MiB are available/);
  });

  it("is memory that workers held for themselves in an earlier trial", () => {
    const limits = { memoryAvailableBytes: 500 * MiB };
    expect(why(usualSetting(4, false), limits)).toBeNull();
    expect(why(usualSetting(4, false), limits, { workerBytes: 64 * MiB })).toBe(
      "it needs 576 MiB of memory, and 500 MiB are available",
    );
    expect(why(usualSetting(4, false), limits, { workerBytes: 128 * MiB })).toBe(
      "it needs 832 MiB of memory (512 MiB of it memory that its workers copy over an epoch), and 500 MiB are available",
    );
  });

  it("is the limit of file descriptors", () => {
    expect(
      why(usualSetting(4, false), {}, { of: { filesPerBatch: 2, fileLimit: 100, filesInUse: 60 } }),
    ).toBe("it needs about 52 file descriptors, and 60 are in use: the limit is 100 (ulimit -n)");
    expect(why(usualSetting(4, false), {}, { of: { filesPerBatch: 2, fileLimit: null } })).toBeNull();
  });

  it("is never a missing /dev/shm, nor a small one with 0 workers", () => {
    expect(why(usualSetting(4, false), { sharedMemoryBytes: null })).toBeNull();
    expect(why(usualSetting(0, true), { sharedMemoryBytes: 0 })).toBeNull();
  });
});

describe("a small /dev/shm", () => {
  it("leads to prefetch_factor 1 only if nothing else fits", () => {
    const probe = new SimulatedProbe(
      { makeMs: 10, handOverMs: 1, handOverPinnedMs: 1, copyMs: 1, copyPinnedMs: 1 },
      facts,
    );
    const trials = trialsOf(probe, { limits: limitsOf({ sharedMemoryBytes: 10 * 32 * MiB }) });
    expect(settingThatFits(trials, 4, false)).toEqual(usualSetting(4, false));
    expect(settingThatFits(trials, 5, false)).toEqual(usualSetting(5, false, 1));
    expect(settingThatFits(trials, 8, true)).toEqual(usualSetting(8, true, 1));
    expect(settingThatFits(trials, 9, false)).toEqual(usualSetting(9, false));
  });
});
