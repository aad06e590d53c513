import { describe, expect, it } from "vitest";
import {
  cgroupMemoryLimitBytes,
  memlockLimitBytes,
  memoryAvailableBytes,
  memoryTotalBytes,
  systemAvailableBytes,
} from "../../src/host/memory.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
const machine = {
  "proc/meminfo": `MemTotal:       ${16 * 1024 * 1024} kB\nMemFree:        1024 kB\nMemAvailable:   ${8 * 1024 * 1024} kB`,
};

describe("memory of the machine", () => {
  it("is MemTotal and MemAvailable if no cgroup limits it", () => {
    const root = fixtureRoot(machine);
    expect(memoryTotalBytes(root)).toBe(16 * GiB);
    expect(memoryAvailableBytes(root)).toBe(8 * GiB);
    expect(cgroupMemoryLimitBytes(root)).toBeNull();
  });

  it("is MemFree on an old kernel; system-wide memory ignores a cgroup's limit", () => {
    const old = { "proc/meminfo": "MemTotal: 4000 kB\nMemFree: 1000 kB" };
    expect(memoryAvailableBytes(fixtureRoot(old))).toBe(1000 * 1024);
    expect(systemAvailableBytes(fixtureRoot(old))).toBeNull();
    const limit = { "proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "1000" };
    expect(systemAvailableBytes(fixtureRoot({ ...machine, ...limit }))).toBe(8 * GiB);
    const cached = { "sys/fs/cgroup/memory.current": "10", "sys/fs/cgroup/memory.stat": "inactive_file 500" };
    expect(memoryAvailableBytes(fixtureRoot({ ...machine, ...limit, ...cached }))).toBe(1000);
  });

  it("falls back to Node's own figures without /proc", () => {
    const root = fixtureRoot();
    expect(memoryTotalBytes(root)).toBeGreaterThan(0);
    expect(memoryAvailableBytes(root)).toBeGreaterThan(0);
  });
});

describe("memory within the cgroup's limit", () => {
  it("is what the tightest level leaves, inactive page cache not counted as used (version 2)", () => {
    const root = fixtureRoot({
      ...machine,
      "proc/self/cgroup": "0::/slice/job",
      "sys/fs/cgroup/slice/job/memory.max": "max",
      "sys/fs/cgroup/slice/job/memory.current": `${1 * GiB}`,
      "sys/fs/cgroup/slice/memory.max": `${4 * GiB}`,
      "sys/fs/cgroup/slice/memory.current": `${3 * GiB}`,
      "sys/fs/cgroup/slice/memory.stat": `anon 5\ninactive_file ${2 * GiB}\nactive_file 7`,
    });
    expect(cgroupMemoryLimitBytes(root)).toBe(4 * GiB);
    expect(memoryAvailableBytes(root)).toBe(3 * GiB);
  });

  it("is limited by the smallest limit, and what the fullest level leaves is available", () => {
    const root = fixtureRoot({
      ...machine,
      "proc/self/cgroup": "0::/slice/job",
      "sys/fs/cgroup/slice/job/memory.max": `${3 * GiB}`,
      "sys/fs/cgroup/slice/job/memory.current": `${1 * GiB}`,
      "sys/fs/cgroup/slice/memory.max": `${5 * GiB}`,
      "sys/fs/cgroup/slice/memory.current": `${4.5 * GiB}`,
    });
    expect(cgroupMemoryLimitBytes(root)).toBe(3 * GiB);
    expect(memoryAvailableBytes(root)).toBe(0.5 * GiB);
  });

  it("is read from cgroup version 1 too, where a huge limit means none", () => {
    const files = {
      ...machine,
      "proc/self/cgroup": "9:memory:/job",
      "sys/fs/cgroup/memory/job/memory.limit_in_bytes": `${2 * GiB}`,
      "sys/fs/cgroup/memory/job/memory.usage_in_bytes": `${1 * GiB}`,
      "sys/fs/cgroup/memory/job/memory.stat": `inactive_file 1\ntotal_inactive_file ${512 * MiB}`,
      "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    };
    expect(cgroupMemoryLimitBytes(fixtureRoot(files))).toBe(2 * GiB);
    expect(memoryAvailableBytes(fixtureRoot(files))).toBe(1.5 * GiB);
  });

  it("is never negative, nor more than the machine has", () => {
    const group = { ...machine, "proc/self/cgroup": "0::/" };
    const over = { "sys/fs/cgroup/memory.max": "1000", "sys/fs/cgroup/memory.current": "2000" };
    expect(memoryAvailableBytes(fixtureRoot({ ...group, ...over }))).toBe(0);
    const wide = { "sys/fs/cgroup/memory.max": `${64 * GiB}`, "sys/fs/cgroup/memory.current": "0" };
    expect(memoryAvailableBytes(fixtureRoot({ ...group, ...wide }))).toBe(8 * GiB);
  });
});

describe("memlockLimitBytes", () => {
  const limits = (soft: string) => ({
    "proc/self/limits": [
      "Limit                     Soft Limit           Hard Limit           Units     ",
      `Max locked memory         ${soft}              unlimited            bytes     `,
    ].join("\n"),
  });

  it.each([
    ["8388608", 8_388_608],
    ["0", 0],
    ["unlimited", null],
  ])("reads a soft limit of %s as %s", (soft, bytes) => {
    expect(memlockLimitBytes(fixtureRoot(limits(soft)))).toBe(bytes);
  });

  it("is null if the kernel does not report it", () => {
    expect(memlockLimitBytes(fixtureRoot())).toBeNull();
  });
});
