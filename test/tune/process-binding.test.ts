import { describe, expect, it } from "vitest";
import { bindingFaults } from "../../src/tune/process-binding.js";
import { emulatedNodes } from "../helpers/emulated-nodes.js";

/** Two nodes of two CPUs, and what sysfs says of four GPUs. */
const root = emulatedNodes({ sysfs: [0, 1, 1, -1], GBps: Array(4).fill([1, 1]) }).PINBENCH_EMULATED_ROOT!;

const gpu = (ordinal: number) => `EEEE:0${ordinal}:00.0`;

/** Ranks with a GPU each. */
const faultsOf = (...places: [gpu: number, cpus: number[], memoryPolicy?: string | null][]) =>
  bindingFaults(
    places.map(([ordinal, cpus, memoryPolicy = "default"], rank) => ({
      rank,
      place: { cpus, memoryPolicy, pciBusId: gpu(ordinal) },
    })),
    root,
  );

describe("the binding of training processes", () => {
  it("is right if they run on their GPU's node, and their memory is not taken elsewhere", () => {
    expect(faultsOf([0, [0, 1]], [1, [2]])).toEqual([]);
    expect(faultsOf([0, [0], "bind:0"], [1, [2], "prefer:1"], [2, [3], null], [2, [3], "local"])).toEqual([]);
  });

  const fault = (uses: string, node: number) =>
    `${uses}, GPU on node ${node} by sysfs: bind it with numactl --cpunodebind=${node} --membind=${node}; \`pinbench run --numa all\` shows the gain`;

  it.each<[string, Parameters<typeof faultsOf>, string[]]>([
    ["with CPUs of another node", [[0, [2, 3]]], [fault("rank 0: CPUs of NUMA node 1", 0)]],
    ["with memory of another node", [[1, [2], "bind:0"]], [fault("rank 0: memory of NUMA node 0", 1)]],
    ["if it prefers a wrong node", [[1, [2], "prefer:0"]], [fault("rank 0: memory of NUMA node 0", 1)]],
    [
      "with memory of several nodes",
      [[1, [2], "interleave:0-1"]],
      [fault("rank 0: memory of NUMA node 0 and 1", 1)],
    ],
    [
      "with both CPUs and memory of another node",
      [[1, [0], "bind=static:0"]],
      [fault("rank 0: CPUs of NUMA node 0 and memory of NUMA node 0", 1)],
    ],
    [
      "for several ranks in one line",
      [
        [0, [0, 1]],
        [1, [0, 2]],
        [2, [0, 1, 2, 3]],
      ],
      [fault("rank 1 and 2: CPUs of NUMA node 0 and 1", 1)],
    ],
    [
      "if sysfs names no node",
      [
        [3, [0]],
        [0, [0]],
      ],
      ["rank 0: sysfs names no NUMA node for its GPU; `pinbench run --numa all` finds the nearest"],
    ],
  ])("is reported %s", (_, places, faults) => {
    expect(faultsOf(...places)).toEqual(faults);
  });

  it("is not checked without a GPU, and on one node", () => {
    const place = { cpus: [0], memoryPolicy: "bind:1", pciBusId: null };
    expect(bindingFaults([{ rank: 0, place }], root)).toEqual([]);
    const one = emulatedNodes({ sysfs: [-1], GBps: [[1]] }).PINBENCH_EMULATED_ROOT!;
    expect(bindingFaults([{ rank: 0, place: { ...place, pciBusId: gpu(0) } }], one)).toEqual([]);
  });

  it("does not require CPUs of a node without any", () => {
    const nodes = [{ cpus: [0, 1] }, { cpus: [] }];
    const machine = emulatedNodes({ sysfs: [1], GBps: [[1, 1]], nodes }).PINBENCH_EMULATED_ROOT!;
    const faults = (memoryPolicy: string) =>
      bindingFaults([{ rank: 0, place: { cpus: [0], memoryPolicy, pciBusId: gpu(0) } }], machine);
    expect(faults("bind:1")).toEqual([]);
    expect(faults("bind:0")[0]).toMatch(
      /memory of NUMA node 0, GPU on node 1 by sysfs: bind it with numactl --membind=1; `/,
    );
  });
});
