import { describe, expect, it } from "vitest";
import { rates } from "../helpers/examination.js";
import { saysOf, slow, slowText } from "./cause-case.js";

/** Findings on a host's NUMA nodes: their wording and their thresholds. */

describe("NUMA nodes", () => {
  const far = {
    pinned: rates(41.2, 38.9),
    nodes: [
      { node: 0, rates: rates(55.6, 55.2) },
      { node: 1, rates: rates(41.2, 38.9) },
    ],
  };

  it("that are faster are reported with the rates of all nodes", () => {
    const path = { ports: [], numaNode: 1, iommuType: null };
    const found = saysOf("numa-far", {}, { measured: far, other: { path } });
    expect(found).toMatchObject([
      {
        summary:
          "Memory and CPUs of NUMA node 0 are nearer to the device than those of node 1, its own node according to the firmware.",
        evidence: [
          "where the system places memory: 41.2 GB/s to the device, 38.9 GB/s back",
          "on node 0: 55.6 GB/s to the device, 55.2 GB/s back",
          "on node 1: 41.2 GB/s to the device, 38.9 GB/s back",
        ],
        claim: {
          bound: "measured",
          leaves: { h2d: expect.closeTo(41.2 / 55.6), d2h: expect.closeTo(38.9 / 55.2) },
        },
      },
    ]);
    const [unknown] = saysOf("numa-far", {}, { measured: far, other: { path: { ...path, numaNode: null } } });
    expect(unknown!.summary).toBe("NUMA node 0 is nearer to the device than the node that the system chose.");
    expect(unknown!.evidence).toHaveLength(3);
  });

  it("are ranked by the sum of their gains in H2D and D2H, where a loss counts as 0", () => {
    const nodes = [
      { node: 0, rates: rates(41, 41) },
      { node: 1, rates: rates(51, 41) },
      { node: 2, rates: rates(49, 49) },
    ];
    const path = { ports: [], numaNode: 0, iommuType: null };
    const change = { measured: { pinned: rates(41, 41), nodes }, other: { path } };
    const [found] = saysOf("numa-far", {}, change);
    expect(found!.summary).toContain("NUMA node 2 ");
  });

  it("without CPUs are recommended for memory only", () => {
    const path = { ports: [], numaNode: 1, iommuType: null };
    const nodes = [
      { node: 0, cpus: [] },
      { node: 1, cpus: [0, 1] },
    ];
    const [found] = saysOf("numa-far", { nodes }, { measured: far, other: { path } });
    expect(found!.summary).toMatch(
      /^Memory of NUMA node 0 is nearer to the device than that of node 1, its own/,
    );
    expect(found!.fix).toBe(
      "Start programs that use the device with numactl --membind=0: the node has no CPUs.",
    );
  });

  it("are reported for a gain of more than a tenth, or of less with a more exact reference", () => {
    const gaining = (share: number, tolerance: number) => {
      const reference = { source: "a test", tolerance };
      const nodes = [{ node: 1, rates: rates(50 * (1 + share), 50) }];
      return saysOf("numa-far", {}, { measured: { pinned: rates(50, 50), nodes }, other: { reference } });
    };
    expect(gaining(0.12, 0.2)).toHaveLength(1);
    expect(gaining(0.08, 0.2)).toEqual([]);
    expect(gaining(0.08, 0.05)).toHaveLength(1);
    expect(gaining(0.04, 0.05)).toEqual([]);
  });

  it("next to the device whose CPUs the process may not use are a risk, or the cause of a loss", () => {
    const others = { host: { cpusAllowed: [4, 5] } };
    const nodes = [
      { node: 0, cpus: [0, 1, 2] },
      { node: 1, cpus: [4, 5] },
    ];
    const machine = { ...others, nodes };
    const evidence = "node 0 has 3 CPUs; this process's affinity mask or cpuset allows none of them";
    expect(saysOf("numa-far", machine)).toMatchObject([
      { weight: "risk", evidence: [evidence], sureness: "possible" },
    ]);
    expect(saysOf("numa-far", machine)[0]).not.toHaveProperty("claim");
    expect(saysOf("numa-far", machine, { measured: slow })).toMatchObject([
      {
        weight: "costs",
        evidence: [evidence, slowText()],
        claim: { leaves: { h2d: 0, d2h: 0 }, bound: "open" },
        sureness: "likely",
      },
    ]);
    expect(saysOf("numa-far", { ...others, nodes: nodes.slice(0, 1) })).toEqual([]);
    expect(saysOf("numa-far", { ...machine, host: { cpusAllowed: [2, 4] } })).toEqual([]);
    const memoryAlone = [{ ...nodes[0]!, cpus: [] }, nodes[1]!];
    expect(saysOf("numa-far", { ...others, nodes: memoryAlone })).toEqual([]);
  });
});
