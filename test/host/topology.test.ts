import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isNear, placementAt, placementsOn, readNumaNodes } from "../../src/host/numa-nodes.js";
import {
  choosePlacement,
  cpusOfNode,
  lastLevelCache,
  numaNodeOfPciDevice,
  numaNodes,
  upstreamPath,
} from "../../src/host/topology.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const MiB = 1024 * 1024;
const sysfs = "sys/devices/system/node";

function cache(cpu: number, index: number, level: number, type: string, size: string, sharedBy: string) {
  const path = `sys/devices/system/cpu/cpu${cpu}/cache/index${index}`;
  return {
    ...{ [`${path}/level`]: `${level}`, [`${path}/type`]: type },
    ...{ [`${path}/size`]: size, [`${path}/shared_cpu_list`]: sharedBy },
  };
}

describe("the last-level cache", () => {
  /** Four CPUs, two for each of two level 3 caches of 32 MiB. */
  const twoCaches = [0, 1, 2, 3].map((cpu) => ({
    ...cache(cpu, 0, 1, "Data", "48K", `${cpu}`),
    ...cache(cpu, 1, 1, "Instruction", "64K", `${cpu}`),
    ...cache(cpu, 2, 2, "Unified", "2048K", `${cpu}`),
    ...cache(cpu, 3, 3, "Unified", "32768K", cpu < 2 ? "0-1" : "2-3"),
  }));
  const levels = [
    cache(0, 3, 3, "Unified", "1G", "0"),
    cache(1, 2, 2, "Unified", "4M", "1"),
    cache(2, 3, 3, "Unified", "2097152", "2"),
  ];
  const twoOfLevel2 = [0, 1].map((cpu) => cache(cpu, 2, 2, "Unified", "1M", `${cpu}`));

  it.each([
    ["the sum of both instances, each counted once", twoCaches, [0, 1, 2, 3], 64, "sysfs index3 x2"],
    ["only the instance that these CPUs use", twoCaches, [2, 3], 32, "sysfs index3 x1"],
    ["only the instance that this CPU shares", twoCaches, [1], 32, "sysfs index3 x1"],
    ["level 2 if there is no level 3", twoOfLevel2, [0, 1], 2, "sysfs index2 x2"],
    ["the highest level alone, in the kernel's units", levels, [0, 1, 2], 1026, "sysfs index3 x2"],
    ["64 MiB if its size is impossible", [cache(0, 3, 3, "Unified", "9999G", "0")], [0], 64, "assumed"],
    ["64 MiB if none is reported", [], [0], 64, "assumed"],
    ["64 MiB if only level 1 is reported", [cache(0, 0, 1, "Data", "32K", "0")], [0], 64, "assumed"],
    ["64 MiB if its size is 0", [cache(0, 3, 3, "Unified", "0K", "0")], [0], 64, "assumed"],
  ])("is %s", (_, caches, cpus, size, source) => {
    const root = fixtureRoot(Object.assign({}, ...caches));
    expect(lastLevelCache(cpus, root)).toEqual({ bytes: size * MiB, source });
  });
});

describe("NUMA", () => {
  const root = fixtureRoot({
    [`${sysfs}/online`]: "0-1",
    [`${sysfs}/node0/cpulist`]: "0-3,8-11",
    [`${sysfs}/node1/cpulist`]: "",
    "sys/bus/pci/devices/0000:06:00.0/numa_node": "1",
    "sys/bus/pci/devices/0000:07:00.0/numa_node": "-1",
    "sys/bus/pci/devices/0000:ab:00.0/numa_node": "3",
    "sys/bus/pci/devices/10000:01:00.0/numa_node": "0",
  });

  it("nodes are read from the kernel's list, else from their folders, else node 0 is assumed", () => {
    expect(numaNodes(root)).toEqual([0, 1]);
    const cpus = [0, 1, 2].map((node) => cpusOfNode(node, root));
    expect(cpus).toEqual([[0, 1, 2, 3, 8, 9, 10, 11], [], null]);
    const folders = Object.fromEntries([2, 0, 10].map((node) => [`${sysfs}/node${node}/cpulist`, `${node}`]));
    expect(numaNodes(fixtureRoot(folders))).toEqual([0, 2, 10]);
    expect(numaNodes(fixtureRoot())).toEqual([0]);
  });

  it.each([
    ["0000:06:00.0", 1],
    ["00000000:06:00.0", 1],
    ["00010000:01:00.0", 0],
    ["0000:AB:00.0", 3],
    ["0000:07:00.0", null],
    ["0000:08:00.0", null],
    ["not an id", null],
  ])("the node of PCI device %s is %s", (id, node) => {
    expect(numaNodeOfPciDevice(id, root)).toBe(node);
  });
});

describe("the bridges above a PCI device", () => {
  const root = fixtureRoot();
  for (const path of [
    "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0",
    "pci0000:00/0000:00:06.0",
    "pci10000:e0/10000:e0:01.0/10000:e1:00.0",
  ]) {
    // As sysfs has it: each is a folder below its bridge, and a link in the list of all devices.
    mkdirSync(join(root, "sys/devices", path), { recursive: true });
    const link = join(root, "sys/bus/pci/devices", path.split("/").at(-1)!);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(`../../../devices/${path}`, link);
  }
  const behindSwitch = ["pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"];

  it.each([
    ["0000:03:00.0", behindSwitch],
    ["00000000:03:00.0", behindSwitch],
    ["00010000:E1:00.0", ["pci10000:e0", "10000:e0:01.0"]],
    // Right below the host bridge, as virtual machines have them.
    ["0000:00:06.0", null],
    ["0000:09:00.0", null],
    ["GPU-1", null],
  ])("%s are %j, from the host bridge down", (id, bridges) => {
    expect(upstreamPath(id, root)).toEqual(bridges);
  });
});

describe("where the threads of a device's copies run", () => {
  const machine = {
    "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t0-7",
    [`${sysfs}/online`]: "0-2",
    [`${sysfs}/node0/cpulist`]: "0-3",
    [`${sysfs}/node1/cpulist`]: "4-7",
    [`${sysfs}/node2/cpulist`]: "",
    "sys/bus/pci/devices/0000:06:00.0/numa_node": "1",
    "sys/bus/pci/devices/0000:07:00.0/numa_node": "-1",
    "sys/bus/pci/devices/0000:08:00.0/numa_node": "2",
  };
  const [onNode1, onNode2, ofNoNode] = ["0000:06:00.0", "0000:08:00.0", "0000:07:00.0"];
  const everywhere = { numaNode: null, cpus: [0, 1, 2, 3, 4, 5, 6, 7], threads: 8 };
  const node1 = { numaNode: 1, cpus: [4, 5, 6, 7], threads: 4 };
  const quota = { "proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "150000 100000" };
  const elsewhere = { "proc/self/status": "Cpus_allowed_list:\t0-1" };

  it.each<[string, string, "local" | "all" | number, Record<string, string>, object]>([
    ["on the device's own node", onNode1, "local", {}, node1],
    ["on the device's own node with --numa all too", onNode1, "all", { [`${sysfs}/online`]: "0-1" }, node1],
    ["anywhere if the kernel does not know the node", ofNoNode, "local", {}, everywhere],
    ["anywhere if the node has only memory", onNode2, "local", {}, everywhere],
    ["anywhere if there is no such device", "eeee:00:00.0", "local", {}, everywhere],
    ["anywhere on a machine of one node", onNode1, "local", { [`${sysfs}/online`]: "1" }, everywhere],
    [
      "on the allowed CPUs if none of them is on the device's node",
      onNode1,
      "local",
      elsewhere,
      { numaNode: null, cpus: [0, 1], threads: 2 },
    ],
    ["limited to as many as the cgroup's quota allows", onNode1, "local", quota, { ...node1, threads: 2 }],
    ["on the requested node", onNode1, 0, {}, { numaNode: 0, cpus: [0, 1, 2, 3], threads: 4 }],
  ])("is %s", (_, device, numa, files, placement) => {
    expect(choosePlacement(device, numa, fixtureRoot({ ...machine, ...files }))).toEqual(placement);
  });

  it.each([
    [3, /has no NUMA node 3/],
    [2, /NUMA node 2 has no CPU that this process may use/],
  ])("cannot be node %i, which does not exist or has no usable CPU: a usage error", (node, sentence) => {
    expect(() => choosePlacement(onNode1, node, fixtureRoot(machine))).toThrow(
      expect.objectContaining({ kind: "usage", message: expect.stringMatching(sentence) }),
    );
  });
});

interface Tree {
  /** The CPUs of each node, as in sysfs. */
  nodes: readonly string[];
  withMemory?: string;
  cpusAllowed?: string;
  memoryAllowed?: string;
  distances?: readonly string[];
}

function treeOf(
  { nodes, withMemory, cpusAllowed = "0-255", memoryAllowed, distances = [] }: Tree,
  others: Readonly<Record<string, string>> = {},
): string {
  const allowed = memoryAllowed === undefined ? "" : `\nMems_allowed_list:\t${memoryAllowed}`;
  return fixtureRoot({
    ...others,
    "proc/self/status": `Name:\tnode\nCpus_allowed_list:\t${cpusAllowed}${allowed}`,
    [`${sysfs}/online`]: `0-${nodes.length - 1}`,
    ...(withMemory === undefined ? {} : { [`${sysfs}/has_memory`]: withMemory }),
    ...Object.fromEntries(nodes.map((cpus, node) => [`${sysfs}/node${node}/cpulist`, cpus])),
    ...Object.fromEntries(distances.map((text, node) => [`${sysfs}/node${node}/distance`, text])),
  });
}

describe("the CPU and memory nodes that --numa all compares", () => {
  const textOf = ({ cpuNode, memoryNode }: { cpuNode: number; memoryNode: number }) =>
    `${cpuNode}>${memoryNode}`;
  const placesOf = (tree: Tree) => placementsOn(readNumaNodes(treeOf(tree))).map(textOf);
  const nodes = ["0-1", "2-3"];
  const withoutCpus = [...nodes, ""];
  const distances = ["10 21 40", "21 10 15", "40 15 10"];
  const ofMany = (count: number) => ({ nodes: Array.from({ length: count }, (_, node) => `${node}`) });

  it.each<[string, Tree, string]>([
    ["each node's memory with its own CPUs, then with those of the others", { nodes }, "0>0 1>1 1>0 0>1"],
    [
      "with the nearest CPUs for the memory of a node without CPUs",
      { nodes: withoutCpus, distances },
      "0>0 1>1 1>2 1>0 0>1 0>2",
    ],
    [
      "without memory of a node that has none",
      { nodes: [...nodes, "4-5"], withMemory: "0,2" },
      "0>0 2>2 1>0 2>0 0>2 1>2",
    ],
    ["without CPUs that this process may not use", { nodes, cpusAllowed: "2-3" }, "1>0 1>1"],
    ["only each node with itself on a machine of five nodes", ofMany(5), "0>0 1>1 2>2 3>3 4>4"],
    ["none on a machine with one node", { nodes: ["0-7"] }, ""],
    ["none for a kernel without NUMA", { nodes: [] }, ""],
    ["none for a process with memory of one node", { nodes, memoryAllowed: "1" }, ""],
    ["none on a machine with memory on one node", { nodes, withMemory: "0" }, ""],
  ])("are %s", (_, tree, places) => {
    expect(placesOf(tree).join(" ")).toBe(places);
  });

  it("are all combinations of four nodes, and only local ones of 128 nodes", () => {
    expect([4, 128].map((count) => placesOf(ofMany(count)).length)).toEqual([16, 128]);
  });

  it("use distances by a node's position, not by its number, if the numbers have gaps", () => {
    const apart = [
      { node: 0, cpus: [0], distances: [10, 40, 80] },
      { node: 8, cpus: [1], distances: [40, 10, 20] },
      { node: 252, cpus: [], distances: [80, 20, 10] },
    ].map((one) => ({ ...one, hasMemory: true, isAllowed: true }));
    expect(placementsOn(apart)[2]).toEqual({ cpuNode: 8, memoryNode: 252 });
  });

  it("count as local with the CPUs nearest to the memory, the first of equally near ones", () => {
    const places = placementsOn(readNumaNodes(treeOf({ nodes: withoutCpus, distances })));
    const local = places.filter((place) => isNear(place, places));
    expect(local.map(textOf)).toEqual(["0>0", "1>1", "1>2"]);
    const alike = ["10 21 15", "21 10 15", "15 15 10"];
    expect(placesOf({ nodes: withoutCpus, distances: alike })[2]).toBe("0>2");
  });

  it("take CPUs of one node, memory of another, and as many threads as may run at once", () => {
    const place = { cpuNode: 1, memoryNode: 0 };
    expect(placementAt(place, treeOf({ nodes }))).toEqual({ numaNode: 0, cpus: [2, 3], threads: 2 });
    const quota = { "proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "100000 100000" };
    expect(placementAt(place, treeOf({ nodes }, quota))).toMatchObject({ cpus: [2, 3], threads: 1 });
  });

  it.each([
    ["CPUs of NUMA node 2", { cpuNode: 2, memoryNode: 0 }],
    ["memory of NUMA node 2", { cpuNode: 0, memoryNode: 2 }],
    ["CPUs of NUMA node 9", { cpuNode: 9, memoryNode: 0 }],
  ])("are refused if the process cannot use %s", (what, place) => {
    for (const part of [{ memoryAllowed: "0-1" }, { withMemory: "0-1" }]) {
      const root = treeOf({ nodes: withoutCpus, ...part });
      expect(() => placementAt(place, root)).toThrow(`This process cannot use ${what}.`);
    }
  });
});

it.each([
  ["Grace", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", [true, false]],
  ["another CPU with a memory expander", "vendor_id\t: GenuineIntel\n", [true, true]],
])("a node without CPUs is GPU memory on Grace, else host memory: %s", (_, cpuinfo, hasMemory) => {
  const root = fixtureRoot({
    "proc/self/status": "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0-1\n",
    "proc/cpuinfo": cpuinfo,
    [`${sysfs}/online`]: "0-1\n",
    [`${sysfs}/has_memory`]: "0-1\n",
    [`${sysfs}/node0/cpulist`]: "0-1\n",
    [`${sysfs}/node1/cpulist`]: "\n",
  });
  const nodes = readNumaNodes(root);
  expect(nodes.map((node) => node.hasMemory)).toEqual(hasMemory);
  expect(placementsOn(nodes)).toHaveLength(hasMemory[1] ? 2 : 0);
});
