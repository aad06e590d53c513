import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import { keyOf } from "../../src/fleet/node-figures.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode } from "../helpers/plain-nodes.js";
import { seeded } from "../helpers/seeded.js";

/**
 * Fleets whose figures are drawn from those that 45 processes measured on an NVIDIA H200, outliers included. A short form of
 * `node bench fleet`, whose results are in results/bench-fleet.txt.
 */

interface Recorded {
  memory: string;
  direction: "h2d" | "d2h";
  sizeBytes: number;
  workers: number;
  mediansGBps: number[];
}

const { cells } = JSON.parse(
  readFileSync(new URL("../../results/nvidia-h200/noise.json", import.meta.url), "utf8"),
) as { cells: Recorded[] };
const kinds = cells
  .filter(({ workers, sizeBytes }) => workers === 1 && sizeBytes === 64 * 1024 ** 2)
  .map(({ memory, direction, sizeBytes, mediansGBps }) => ({
    memory,
    key: keyOf({
      cell: `${direction}/${memory}/${sizeBytes}/w1/throughput/cold`,
      moved: direction,
      unit: "GB/s",
    }),
    mediansGBps,
  }));

interface Spec {
  nodes: number;
  gpus?: number;
  speed?: (node: number, gpu: number, memory: string) => number;
  model?: (node: number) => string;
}

function simulated(
  { nodes, gpus = 8, speed = () => 1, model = () => "NVIDIA H200" }: Spec,
  uniform: () => number,
) {
  const figuresOf = (node: number, gpu: number) =>
    kinds.map(({ key, memory, mediansGBps }) => {
      const drawn = mediansGBps[Math.floor(uniform() * mediansGBps.length)]!;
      return [key, drawn * speed(node, gpu, memory)] as const;
    });
  return Array.from({ length: nodes }, (_, node) =>
    fleetNode(
      `n${node}`,
      Array.from({ length: gpus }, () => ({})),
      { facts: { backend: "cuda", gpu: model(node), gpuCount: String(gpus), linkCapability: "gen5 x16" } },
      (gpu) => ({ name: model(node), uuid: null, figures: new Map(figuresOf(node, gpu)) }),
    ),
  );
}

/** What is said of ten fleets like this. */
function tenFleets(spec: Spec, seed: number): FleetDocument[] {
  const { uniform } = seeded(seed);
  return Array.from({ length: 10 }, () => judged([], { nodes: simulated(spec, uniform) }));
}

const named = ({ outliers }: FleetDocument) => outliers.map(({ host, device }) => `${host} ${device}`).sort();

describe("ten fleets with the recorded noise", () => {
  it("have no outlier if 200 nodes of 8 GPUs are healthy, though pageable and staged copies are noisy", () => {
    expect(kinds.map(({ memory }) => memory).sort()).toEqual([
      ...["pageable", "pageable", "pinned", "pinned", "staged", "staged"],
    ]);
    expect(tenFleets({ nodes: 200 }, 1).map(named)).toEqual(Array(10).fill([]));
  });

  it("have the one GPU of 1600 named that is 10 % slow in pinned copies, and no other", () => {
    const speed = (node: number, gpu: number, memory: string) =>
      node === 100 && gpu === 3 && memory === "pinned" ? 0.9 : 1;
    expect(tenFleets({ nodes: 200, speed }, 2).map(named)).toEqual(Array(10).fill(["n100 3"]));
  });

  it("have all nodes named whose links are half as wide, and no other", () => {
    const speed = (node: number, _: number, memory: string) => (node < 6 && memory === "pinned" ? 0.5 : 1);
    const slow = [0, 1, 2, 3, 4, 5].map((node) => `n${node} null`);
    expect(tenFleets({ nodes: 200, speed }, 3).map(named)).toEqual(Array(10).fill(slow));
  });

  it("have no outlier if two models are mixed, one half as fast", () => {
    const isOld = (node: number) => node % 2 === 1;
    const mixed = {
      nodes: 200,
      speed: (node: number) => (isOld(node) ? 0.5 : 1),
      model: (node: number) => (isOld(node) ? "NVIDIA A100-SXM4-80GB" : "NVIDIA H200"),
    };
    const fleets = tenFleets(mixed, 4);
    expect(fleets.map(named)).toEqual(Array(10).fill([]));
    expect(fleets.every(({ groups }) => groups.length === 2)).toBe(true);
  });

  it("of five nodes have a slow GPU named in pinned copies, and say how slow one must be", () => {
    const speed = (node: number, gpu: number, memory: string) =>
      node === 1 && gpu === 0 && memory === "pinned" ? 0.9 : 1;
    const fleets = tenFleets({ nodes: 5, gpus: 1, speed }, 5);
    expect(fleets.map(named)).toEqual(Array(10).fill(["n1 0"]));
    for (const { groups } of fleets) {
      for (const { leastLoss } of groups[0]!.cells) expect(leastLoss).toBeGreaterThanOrEqual(0.05);
    }
    expect(tenFleets({ nodes: 5, gpus: 1 }, 6).map(named)).toEqual(Array(10).fill([]));
  });
});

describe("ten fleets whose pinned copies have a heavy tail that nobody recorded", () => {
  it.each([
    [2, 8],
    [8, 8],
    [8, 1],
    [64, 8],
  ])("have no outlier and no second level, with %i nodes of %i GPUs", (nodes, gpus) => {
    const { normal, chiSquare } = seeded(nodes * gpus);
    const speed = (_node: number, _gpu: number, memory: string) =>
      memory === "pinned" ? Math.exp((0.02 * normal()) / Math.sqrt(chiSquare(3) / 3)) : 1;
    const fleets = tenFleets({ nodes, gpus, speed }, 7);
    expect(fleets.map(named)).toEqual(Array(10).fill([]));
    expect(fleets.map(({ groups }) => groups[0]!.slowPart)).toEqual(Array(10).fill(null));
  });
});
