import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cpusPerRank, machineLimits } from "../../src/tune/machine.js";
import { limitsOf } from "../helpers/tune.js";
import { fixtureRoot } from "../host/support.js";

const machine = (files: Record<string, string> = {}) =>
  fixtureRoot({
    "proc/self/status": "Cpus_allowed_list:\t0-11",
    "proc/meminfo": "MemTotal: 2000 kB\nMemAvailable: 1000 kB",
    ...files,
  });

describe("what loaders have to share", () => {
  it("are the CPUs of the affinity mask, and available memory", () => {
    expect(machineLimits(2, machine())).toEqual({
      usableCpus: 12,
      cpuQuota: null,
      memoryAvailableBytes: 1_024_000,
      sharedMemoryBytes: null,
      ranks: 2,
    });
  });

  it("are the CPUs of a container's quota, of which a part counts as a whole", () => {
    const quota = { "proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "350000 100000" };
    expect(machineLimits(1, machine(quota))).toMatchObject({ usableCpus: 4, cpuQuota: 3.5 });
  });

  it("is the free space of /dev/shm", () => {
    const root = machine();
    mkdirSync(join(root, "dev/shm"), { recursive: true });
    expect(machineLimits(1, root).sharedMemoryBytes).toBeGreaterThan(0);
  });
});

it.each([
  [16, 1, 16],
  [16, 2, 8],
  [16, 3, 5],
  [2, 8, 1],
  [1, 1, 1],
])("%i CPUs of %i ranks are %i for each", (usableCpus, ranks, each) => {
  expect(cpusPerRank(limitsOf({ usableCpus, ranks }))).toBe(each);
});
