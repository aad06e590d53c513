import { describe, expect, it } from "vitest";
import { cpusOfNode, lastLevelCache, numaNodeOfPciDevice, numaNodes } from "../../src/host/topology.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const MiB = 1024 * 1024;

function cache(cpu: number, index: number, level: number, type: string, size: string, sharedBy: string) {
  const path = `sys/devices/system/cpu/cpu${cpu}/cache/index${index}`;
  return {
    [`${path}/level`]: `${level}`,
    [`${path}/type`]: type,
    [`${path}/size`]: size,
    [`${path}/shared_cpu_list`]: sharedBy,
  };
}

/** Four CPUs, two for each of two level 3 caches of 32 MiB. */
const twoCaches = Object.assign(
  {},
  ...[0, 1, 2, 3].map((cpu) => ({
    ...cache(cpu, 0, 1, "Data", "48K", `${cpu}`),
    ...cache(cpu, 1, 1, "Instruction", "64K", `${cpu}`),
    ...cache(cpu, 2, 2, "Unified", "2048K", `${cpu}`),
    ...cache(cpu, 3, 3, "Unified", "32768K", cpu < 2 ? "0-1" : "2-3"),
  })),
) as Record<string, string>;

describe("lastLevelCache", () => {
  it("adds up the instances that the CPUs use, each once", () => {
    const root = fixtureRoot(twoCaches);
    expect(lastLevelCache([0, 1, 2, 3], root)).toEqual({ bytes: 64 * MiB, source: "sysfs index3 x2" });
    expect(lastLevelCache([2, 3], root)).toEqual({ bytes: 32 * MiB, source: "sysfs index3 x1" });
    expect(lastLevelCache([1], root)).toEqual({ bytes: 32 * MiB, source: "sysfs index3 x1" });
  });

  it("takes level 2 if there is no level 3", () => {
    const root = fixtureRoot({
      ...cache(0, 2, 2, "Unified", "1M", "0"),
      ...cache(1, 2, 2, "Unified", "1M", "1"),
    });
    expect(lastLevelCache([0, 1], root)).toEqual({ bytes: 2 * MiB, source: "sysfs index2 x2" });
  });

  it("has those of the highest level alone, by the kernel's units", () => {
    const root = fixtureRoot({
      ...cache(0, 3, 3, "Unified", "1G", "0"),
      ...cache(1, 2, 2, "Unified", "4M", "1"),
      ...cache(2, 3, 3, "Unified", "2097152", "2"),
    });
    expect(lastLevelCache([0, 1, 2], root)).toEqual({ bytes: 1026 * MiB, source: "sysfs index3 x2" });
  });

  it.each([
    { what: "more than there can be", files: cache(0, 3, 3, "Unified", "9999G", "0") },
    { what: "nothing", files: {} },
    { what: "level 1 alone", files: cache(0, 0, 1, "Data", "32K", "0") },
    { what: "a size of 0", files: cache(0, 3, 3, "Unified", "0K", "0") },
  ])("assumes 64 MiB if the kernel tells $what", ({ files }) => {
    expect(lastLevelCache([0], fixtureRoot(files))).toEqual({ bytes: 64 * MiB, source: "assumed" });
  });
});

describe("NUMA", () => {
  const root = fixtureRoot({
    "sys/devices/system/node/online": "0-1",
    "sys/devices/system/node/node0/cpulist": "0-3,8-11",
    "sys/devices/system/node/node1/cpulist": "",
    "sys/bus/pci/devices/0000:06:00.0/numa_node": "1",
    "sys/bus/pci/devices/0000:07:00.0/numa_node": "-1",
    "sys/bus/pci/devices/10000:01:00.0/numa_node": "0",
  });

  it("nodes and their CPUs", () => {
    expect(numaNodes(root)).toEqual([0, 1]);
    expect(cpusOfNode(0, root)).toEqual([0, 1, 2, 3, 8, 9, 10, 11]);
    expect(cpusOfNode(1, root)).toEqual([]);
    expect(cpusOfNode(2, root)).toBeNull();
  });

  it("nodes by their directories, or node 0, if the kernel gives no list", () => {
    const files = {
      "sys/devices/system/node/node2/cpulist": "1",
      "sys/devices/system/node/node0/cpulist": "0",
      "sys/devices/system/node/node10/cpulist": "2",
    };
    expect(numaNodes(fixtureRoot(files))).toEqual([0, 2, 10]);
    expect(numaNodes(fixtureRoot())).toEqual([0]);
  });

  it.each([
    ["0000:06:00.0", 1],
    ["00000000:06:00.0", 1],
    ["00010000:01:00.0", 0],
    ["0000:07:00.0", null],
    ["0000:08:00.0", null],
    ["not an id", null],
  ])("the node of PCI device %s is %s", (id, node) => {
    expect(numaNodeOfPciDevice(id, root)).toBe(node);
  });

  it("takes PCI ids in either case", () => {
    const upper = fixtureRoot({ "sys/bus/pci/devices/0000:ab:00.0/numa_node": "3" });
    expect(numaNodeOfPciDevice("0000:AB:00.0", upper)).toBe(3);
  });
});
