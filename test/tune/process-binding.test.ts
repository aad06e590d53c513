import { describe, expect, it } from "vitest";
import { bindingFaults, type ProcessPlace } from "../../src/tune/process-binding.js";
import { emulatedNodes } from "../helpers/emulated-nodes.js";

/** Two nodes of two CPUs, and what sysfs says of four GPUs. */
const root = emulatedNodes({ sysfs: [0, 1, 1, -1], GBps: Array(4).fill([1, 1]) }).PINBENCH_EMULATED_ROOT!;

const gpu = (ordinal: number) => `EEEE:0${ordinal}:00.0`;

/** Ranks with a GPU each. */
const faultsOf = (...places: [gpu: number, cpus: number[], memoryPolicy?: string | null][]) =>
  bindingFaults(
    places.map(([ordinal, cpus, memoryPolicy = "default"], rank): { rank: number; place: ProcessPlace } => ({
      rank,
      place: { cpus, memoryPolicy, pciBusId: gpu(ordinal) },
    })),
    root,
  );

const advice = (node: number, them: string) =>
  `bind ${them} with numactl --cpunodebind=${node} --membind=${node}, or torchrun --numa-binding=node; \`pinbench run --numa all\` shows what that gains`;

describe("the binding of training processes", () => {
  it("is right if they run on their GPU's node, and their memory is not taken elsewhere", () => {
    expect(faultsOf([0, [0, 1]], [1, [2]])).toEqual([]);
    expect(faultsOf([0, [0], "bind:0"], [1, [2], "prefer:1"], [2, [3], null], [2, [3], "local"])).toEqual([]);
  });

  it("is wrong on CPUs of another node", () => {
    expect(faultsOf([0, [2, 3]])).toEqual([
      `the training process uses CPUs of NUMA node 1, and its GPU is on node 0, as sysfs says: ${advice(0, "it")}`,
    ]);
  });

  it("is wrong with memory of another node, or of several", () => {
    expect(faultsOf([1, [2], "bind:0"])[0]).toContain(
      "process uses memory of NUMA node 0, and its GPU is on node 1",
    );
    expect(faultsOf([1, [2], "prefer:0"])[0]).toContain("process uses memory of NUMA node 0, and its GPU");
    expect(faultsOf([1, [2], "interleave:0-1"])[0]).toContain(
      "uses memory of NUMA nodes 0 and 1, and its GPU",
    );
    expect(faultsOf([1, [0], "bind=static:0"])[0]).toContain(
      "uses CPUs of NUMA node 0 and memory of NUMA node 0, and",
    );
  });

  it("is missing if CPUs of several nodes are allowed, which ranks have in common", () => {
    expect(faultsOf([0, [0, 1]], [1, [0, 2]], [2, [0, 1, 2, 3]])).toEqual([
      `ranks 1 and 2 use CPUs of NUMA nodes 0 and 1, and their GPUs are on node 1, as sysfs says: ${advice(1, "them")}`,
    ]);
    const apart = faultsOf([0, [2]], [1, [0]], [2, [2], "bind:0"]);
    expect(apart.map((text) => text.slice(0, 33))).toEqual([
      "rank 0 uses CPUs of NUMA node 1, ",
      "rank 1 uses CPUs of NUMA node 0, ",
      "rank 2 uses memory of NUMA node 0",
    ]);
    expect(faultsOf([0, [0, 2]], [1, [0, 2]])).toHaveLength(2);
    expect(faultsOf([0, [0, 2]], [1, [2]])[0]).toMatch(
      /^rank 0 uses CPUs of NUMA nodes 0 and 1, and its GPU is/,
    );
  });

  it("is not judged if sysfs names no node, without a GPU, and on one node", () => {
    expect(faultsOf([3, [0]], [0, [0]])).toEqual([
      "sysfs names no NUMA node for the GPU of rank 0: `pinbench run --numa all` finds the nearest",
    ]);
    expect(faultsOf([3, [0]], [3, [2]])[0]).toMatch(
      /^sysfs names no NUMA node for the GPUs of ranks 0 and 1: /,
    );
    const place = { cpus: [0], memoryPolicy: "bind:1", pciBusId: null };
    expect(bindingFaults([{ rank: 0, place }], root)).toEqual([]);
    const one = emulatedNodes({ sysfs: [-1], GBps: [[1]] }).PINBENCH_EMULATED_ROOT!;
    expect(bindingFaults([{ rank: 0, place: { ...place, pciBusId: gpu(0) } }], one)).toEqual([]);
  });

  it("does not ask for CPUs of a node that has none", () => {
    const nodes = [{ cpus: [0, 1] }, { cpus: [] }];
    const machine = emulatedNodes({ sysfs: [1], GBps: [[1, 1]], nodes }).PINBENCH_EMULATED_ROOT!;
    const faults = (memoryPolicy: string) =>
      bindingFaults([{ rank: 0, place: { cpus: [0], memoryPolicy, pciBusId: gpu(0) } }], machine);
    expect(faults("bind:1")).toEqual([]);
    expect(faults("bind:0")[0]).toMatch(
      /uses memory of NUMA node 0, and its GPU is on node 1, .*: bind it with numactl --membind=1; `/,
    );
  });
});
