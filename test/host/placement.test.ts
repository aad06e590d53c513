import { describe, expect, it } from "vitest";
import { choosePlacement } from "../../src/host/topology.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const twoNodes = {
  "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t0-7",
  "sys/devices/system/node/online": "0-2",
  "sys/devices/system/node/node0/cpulist": "0-3",
  "sys/devices/system/node/node1/cpulist": "4-7",
  "sys/devices/system/node/node2/cpulist": "",
  "sys/bus/pci/devices/0000:06:00.0/numa_node": "1",
  "sys/bus/pci/devices/0000:07:00.0/numa_node": "-1",
  "sys/bus/pci/devices/0000:08:00.0/numa_node": "2",
};
const onNode1 = "0000:06:00.0";
const everywhere = { numaNode: null, cpus: [0, 1, 2, 3, 4, 5, 6, 7], threads: 8 };

describe("choosePlacement, local", () => {
  const root = fixtureRoot(twoNodes);

  it("is the device's own node", () => {
    expect(choosePlacement(onNode1, "local", root)).toEqual({ numaNode: 1, cpus: [4, 5, 6, 7], threads: 4 });
  });

  it.each([
    ["the kernel does not know the device's node", "0000:07:00.0"],
    ["the node has memory alone", "0000:08:00.0"],
    ["there is no such device", "eeee:00:00.0"],
  ])("is no restriction if %s", (_, pciBusId) => {
    expect(choosePlacement(pciBusId, "local", root)).toEqual(everywhere);
  });

  it("is no restriction on a machine of one node", () => {
    const oneNode = fixtureRoot({
      ...twoNodes,
      "sys/devices/system/node/online": "1",
    });
    expect(choosePlacement(onNode1, "local", oneNode)).toEqual(everywhere);
  });

  it("is no restriction if this process may use none of the node's CPUs", () => {
    const elsewhere = fixtureRoot({ ...twoNodes, "proc/self/status": "Cpus_allowed_list:\t0-1" });
    expect(choosePlacement(onNode1, "local", elsewhere)).toEqual({
      numaNode: null,
      cpus: [0, 1],
      threads: 2,
    });
  });

  it("has as many threads as the cgroup's quota lets run", () => {
    const limited = fixtureRoot({
      ...twoNodes,
      "proc/self/cgroup": "0::/job",
      "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
      "sys/fs/cgroup/job/cpu.max": "150000 100000",
    });
    expect(choosePlacement(onNode1, "local", limited)).toMatchObject({ cpus: [4, 5, 6, 7], threads: 2 });
  });
});

it("choosePlacement for copies that name no node is the device's own", () => {
  const root = fixtureRoot({ ...twoNodes, "sys/devices/system/node/online": "0-1" });
  expect(choosePlacement(onNode1, "all", root)).toMatchObject({ numaNode: 1, threads: 4 });
});

describe("choosePlacement, a node by number", () => {
  const root = fixtureRoot(twoNodes);

  it("is that node, wherever the device is", () => {
    expect(choosePlacement(onNode1, 0, root)).toEqual({ numaNode: 0, cpus: [0, 1, 2, 3], threads: 4 });
  });

  it.each([
    [3, /has no NUMA node 3/],
    [2, /NUMA node 2 has no CPU that this process may use/],
  ])("is refused for node %i", (node, sentence) => {
    expect(() => choosePlacement(onNode1, node, root)).toThrow(
      expect.objectContaining({ kind: "usage", message: expect.stringMatching(sentence) }),
    );
  });
});
