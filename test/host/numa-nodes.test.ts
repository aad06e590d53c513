import { describe, expect, it } from "vitest";
import { isLocalPlace, numaPlaces, placementAt, readNumaNodes } from "../../src/host/numa-nodes.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

interface Tree {
  /** The CPUs of each node, as in sysfs. */
  nodes: readonly string[];
  withMemory?: string;
  cpusAllowed?: string;
  memoryAllowed?: string;
  distances?: readonly string[];
}

const sysfs = "sys/devices/system/node";

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

const placesOf = (tree: Tree) =>
  numaPlaces(readNumaNodes(treeOf(tree))).map(({ cpuNode, memoryNode }) => `${cpuNode}>${memoryNode}`);

describe("the places to compare", () => {
  it("are each node's memory with its own CPUs, then with those of the others", () => {
    expect(placesOf({ nodes: ["0-1", "2-3"] })).toEqual(["0>0", "1>1", "1>0", "0>1"]);
  });

  it("of a node without CPUs are those with the nearest CPUs", () => {
    const distances = ["10 21 40", "21 10 15", "40 15 10"];
    const places = placesOf({ nodes: ["0-1", "2-3", ""], distances });
    expect(places.slice(0, 3)).toEqual(["0>0", "1>1", "1>2"]);
  });

  it("are as near if the numbers of the nodes have gaps: distances are by position, not by number", () => {
    const nodes = [
      { node: 0, cpus: [0], distances: [10, 40, 80] },
      { node: 8, cpus: [1], distances: [40, 10, 20] },
      { node: 252, cpus: [], distances: [80, 20, 10] },
    ].map((one) => ({ ...one, hasMemory: true, isAllowed: true }));
    expect(numaPlaces(nodes)[2]).toEqual({ cpuNode: 8, memoryNode: 252 });
  });

  it("leave out a node without memory, but not its CPUs", () => {
    expect(placesOf({ nodes: ["0-1", "2-3", "4-5"], withMemory: "0,2" })).toEqual([
      "0>0",
      "2>2",
      "1>0",
      "2>0",
      "0>2",
      "1>2",
    ]);
  });

  it.each<[string, Tree]>([
    ["a machine with one node", { nodes: ["0-7"] }],
    ["a kernel without NUMA", { nodes: [] }],
    ["a process with memory of one node", { nodes: ["0-1", "2-3"], memoryAllowed: "1" }],
    ["a machine with memory on one node", { nodes: ["0-1", "2-3"], withMemory: "0" }],
  ])("are none on %s", (_, tree) => {
    expect(placesOf(tree)).toEqual([]);
  });

  it("use no CPU that this process may not use", () => {
    expect(placesOf({ nodes: ["0-1", "2-3"], cpusAllowed: "2-3" })).toEqual(["1>0", "1>1"]);
  });

  it("of four nodes are all combinations, and of five the nearest alone", () => {
    const of = (count: number) => placesOf({ nodes: Array.from({ length: count }, (_, node) => `${node}`) });
    expect([of(4).length, of(5)]).toEqual([16, ["0>0", "1>1", "2>2", "3>3", "4>4"]]);
  });

  it("are local with the CPUs that are nearest to the memory", () => {
    const distances = ["10 21 40", "21 10 15", "40 15 10"];
    const places = numaPlaces(readNumaNodes(treeOf({ nodes: ["0-1", "2-3", ""], distances })));
    const local = places.filter((place) => isLocalPlace(place, places));
    expect(local.map(({ cpuNode, memoryNode }) => [cpuNode, memoryNode])).toEqual([
      [0, 0],
      [1, 1],
      [1, 2],
    ]);
    // As near to both: the first of them.
    const alike = ["10 21 15", "21 10 15", "15 15 10"];
    expect(placesOf({ nodes: ["0-1", "2-3", ""], distances: alike })[2]).toBe("0>2");
  });

  it("of many nodes are not all combinations", () => {
    const nodes = Array.from({ length: 128 }, (_, node) => `${2 * node}-${2 * node + 1}`);
    expect(placesOf({ nodes })).toHaveLength(128);
  });
});

describe("a place", () => {
  const root = treeOf({ nodes: ["0-1", "2-3", ""], memoryAllowed: "0-1" });

  it("has the CPUs of one node and the memory of another, and as many threads as may run at once", () => {
    const place = { cpuNode: 1, memoryNode: 0 };
    expect(placementAt(place, root)).toEqual({ numaNode: 0, cpus: [2, 3], threads: 2 });
    const quota = { "proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "100000 100000" };
    const limited = treeOf({ nodes: ["0-1", "2-3"] }, quota);
    expect(placementAt(place, limited)).toEqual({ numaNode: 0, cpus: [2, 3], threads: 1 });
  });

  it.each([
    ["CPUs of NUMA node 2", { cpuNode: 2, memoryNode: 0 }],
    ["memory of NUMA node 2", { cpuNode: 0, memoryNode: 2 }],
    ["CPUs of NUMA node 9", { cpuNode: 9, memoryNode: 0 }],
  ])("is refused if the process cannot use %s", (what, place) => {
    expect(() => placementAt(place, root)).toThrow(`This process cannot use ${what}.`);
    const empty = treeOf({ nodes: ["0-1", "2-3", ""], withMemory: "0-1" });
    expect(() => placementAt(place, empty)).toThrow(`This process cannot use ${what}.`);
  });
});
