import type { DeviceFigures, NodeFigures } from "../../src/fleet/node-figures.js";
import { keyOf } from "../../src/fleet/node-figures.js";

/** Nodes with a test's own figures, without noise. */

const cellOf = (rest: string, moved: "h2d" | "d2h" = "h2d", unit: "GB/s" | "us" = "GB/s") =>
  keyOf({ cell: `${moved}/${rest}/cold`, moved, unit });

/** Keys of figures: pinned and pageable copies of 64 MiB to the device, pinned ones back, and a small copy's latency. */
export const keys = {
  pinned: cellOf("pinned/67108864/w1/throughput"),
  back: cellOf("pinned/67108864/w1/throughput", "d2h"),
  pageable: cellOf("pageable/67108864/w1/throughput"),
  latency: cellOf("pinned/4096/w1/latency", "h2d", "us"),
};

/** A GPU's figures: only of pinned copies, or by `keys`; empty if it has none. */
export type GpuFigures = number | Partial<Record<keyof typeof keys, number>>;

export const facts = {
  backend: "cuda",
  gpu: "NVIDIA H200",
  cpu: "Xeon",
  linkCapability: "gen5 x16",
  driver: "580",
};

/** A node with these GPUs. */
export function fleetNode(
  host: string,
  gpus: readonly GpuFigures[],
  changes: Partial<NodeFigures> = {},
  device: (gpu: number) => Partial<DeviceFigures> = () => ({}),
): NodeFigures {
  return {
    host,
    isNamed: true,
    state: "measured",
    reason: null,
    file: null,
    runId: `run-of-${host}`,
    startedAt: "2026-11-20T09:00:00.000Z",
    wallNs: 1e9,
    labels: {},
    notice: null,
    facts: { ...facts, gpuCount: String(gpus.length) },
    devices: gpus.map((figures, gpu) => ({
      ordinal: gpu,
      name: "NVIDIA H200",
      uuid: `GPU-${host}-${gpu}`,
      pciBusId: `0000:${gpu + 1}0:00.0`,
      link: { generation: 5, width: 16 },
      linkCapability: { generation: 5, width: 16 },
      figures: new Map(
        Object.entries(typeof figures === "number" ? { pinned: figures } : figures).map(([name, figure]) => [
          keys[name as keyof typeof keys],
          figure,
        ]),
      ),
      failures: new Map(),
      ...device(gpu),
    })),
    notes: [],
    ...changes,
  };
}

/** Nodes n00 and on, each with these GPUs. */
export const fleetNodes = (gpus: readonly (readonly GpuFigures[])[]): NodeFigures[] =>
  nodesOf(gpus.length, (node) => gpus[node]!);

/** This many nodes, n00 and on. */
export const nodesOf = (
  count: number,
  gpusOf: (node: number) => readonly GpuFigures[],
  changes: (node: number) => Partial<NodeFigures> = () => ({}),
): NodeFigures[] =>
  Array.from({ length: count }, (_, node) => fleetNode(hostOf(node), gpusOf(node), changes(node)));

export const hostOf = (node: number) => `n${String(node).padStart(2, "0")}`;

/** Nodes differ by 0.01 %, so that the noise is the floor. */
export const wobble = (node: number) => 1 + 0.0001 * ((node % 3) - 1);
