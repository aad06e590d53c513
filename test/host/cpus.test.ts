import { describe, expect, it } from "vitest";
import { allowedCpus, cpuQuota, parseCpuList, usableCpuCount } from "../../src/host/cpus.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const status = (list: string) => ({
  "proc/self/status": `Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${list}`,
});

describe("a CPU list of the kernel", () => {
  it.each([
    ["0", [0]],
    ["0-3", [0, 1, 2, 3]],
    ["0-1,8,10-11", [0, 1, 8, 10, 11]],
    ["8,0-1", [0, 1, 8]],
    ["", []],
  ])("%j is read as CPUs %j", (text, cpus) => {
    expect(parseCpuList(text)).toEqual(cpus);
  });

  it.each(["abc", "1-", "-1", "0x3", "0-99999999"])("%j is invalid and read as null", (text) => {
    expect(parseCpuList(text)).toBeNull();
  });
});

describe("allowedCpus", () => {
  it("are the CPUs of the process's affinity mask", () => {
    expect(allowedCpus(fixtureRoot(status("2-3,6")))).toEqual([2, 3, 6]);
  });

  it("are the online CPUs if the mask is unknown, and never empty", () => {
    expect(allowedCpus(fixtureRoot({ "sys/devices/system/cpu/online": "0-1" }))).toEqual([0, 1]);
    expect(allowedCpus(fixtureRoot()).length).toBeGreaterThanOrEqual(1);
  });
});

describe("cpuQuota", () => {
  it.each([
    {
      layout: "version 2, its own group",
      files: { "proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "150000 100000" },
      quota: 1.5,
    },
    {
      layout: "version 2, a parent's is smaller",
      files: {
        "proc/self/cgroup": "0::/slice/job",
        "sys/fs/cgroup/slice/job/cpu.max": "400000 100000",
        "sys/fs/cgroup/slice/cpu.max": "200000 100000",
      },
      quota: 2,
    },
    {
      layout: "version 2, unlimited",
      files: { "proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "max 100000" },
      quota: null,
    },
    {
      layout: "version 2 in a container, whose group is the mount",
      files: { "proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "300000 100000" },
      quota: 3,
    },
    {
      layout: "version 2, a group outside of the namespace",
      files: { "proc/self/cgroup": "0::/../../job", "sys/fs/cgroup/cpu.max": "300000 100000" },
      quota: 3,
    },
    {
      layout: "version 1",
      files: {
        "proc/self/cgroup": "4:cpu,cpuacct:/job\n3:memory:/job",
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "250000",
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
      },
      quota: 2.5,
    },
    {
      layout: "version 1 in a container that sees the host's path",
      files: {
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/0123456789ab",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
      },
      quota: 1,
    },
    {
      layout: "version 2 beside version 1, without a quota of 0",
      files: {
        "proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/job",
        "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "0",
        "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/unified/job/cpu.max": "200000 100000",
      },
      quota: 2,
    },
    { layout: "none", files: {}, quota: null },
  ])("in cgroups of $layout is $quota CPUs (null: no limit)", ({ files, quota }) => {
    expect(cpuQuota(fixtureRoot(files))).toBe(quota);
  });
});

describe("usableCpuCount", () => {
  it.each([
    { allowed: "0-7", quota: "max 100000", usable: 8 },
    { allowed: "0-7", quota: "250000 100000", usable: 3 },
    { allowed: "0-1", quota: "800000 100000", usable: 2 },
    { allowed: "0-7", quota: "10000 100000", usable: 1 },
  ])("with CPUs $allowed and cpu.max $quota is $usable", ({ allowed, quota, usable }) => {
    const files = { ...status(allowed), "proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": quota };
    expect(usableCpuCount(fixtureRoot(files))).toBe(usable);
  });
});
