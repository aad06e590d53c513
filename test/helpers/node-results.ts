import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import type { FleetManifest, LaunchedNode } from "../../src/fleet/fleet-manifest.js";
import { type FleetRequest, judgeFleet } from "../../src/fleet/judge-fleet.js";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import type { Cell } from "../../src/results/cell-schema.js";
import type { DeviceRecord, ResultDocument } from "../../src/results/schema.js";
import { buildCell, buildDevice, buildDocument, type DocumentPart, KiB, MiB } from "./result-document.js";
import { seeded } from "./seeded.js";

/** Builds results of similar nodes, and judges them. */

export interface NodePart {
  gpus?: number;
  /** A GPU's speed factor in a cell. */
  speed?: (gpu: number, cell: Cell) => number;
  device?: (gpu: number) => Partial<DeviceRecord>;
  document?: DocumentPart;
  /** Seed of a node's figures; by default from its name. */
  seed?: number;
}

/** Relative deviation of a figure. */
const noise: Readonly<Record<string, number>> = { pinned: 0.001, pageable: 0.02 };

/** A node's result with GPUs of 55 GB/s: pinned and pageable copies to the device, and small copies' latency. */
export function nodeResult(host: string, part: NodePart = {}): ResultDocument {
  const { gpus = 2, speed = () => 1, device = () => ({}), document = {} } = part;
  const { normal } = seeded(part.seed ?? [...host].reduce((sum, sign) => 31 * sum + sign.charCodeAt(0), 7));
  const indices = Array.from({ length: gpus }, (_, gpu) => gpu);
  const figure = (gpu: number, cell: Cell, healthy: number) =>
    healthy * speed(gpu, cell) * Math.exp(noise[cell.memory]! * normal());
  const cells = indices.flatMap((gpu) => {
    const pinned = buildCell({ device: gpu, sizeBytes: 64 * MiB });
    const pageable = buildCell({ device: gpu, sizeBytes: 64 * MiB, memory: "pageable" });
    const latency = buildCell({ device: gpu, sizeBytes: 4 * KiB, mode: "latency" });
    const us = 2 / figure(gpu, latency, 1);
    return [
      buildCell({ ...pinned, GBps: figure(gpu, pinned, 55) }),
      buildCell({ ...pageable, GBps: figure(gpu, pageable, 10) }),
      buildCell({ ...latency, GBps: 2, latencyUs: { median: us, p99: 2 * us } }),
    ];
  });
  const devices = indices.map((ordinal) =>
    buildDevice({
      ...{ ordinal, uuid: `GPU-${host}-${ordinal}`, pciBusId: `0000:${ordinal + 1}0:00.0` },
      ...device(ordinal),
    }),
  );
  return buildDocument({
    ...{ devices, cells },
    ...document,
    host: { hostname: host, ...document.host },
    run: { id: `run-of-${host}`, ...document.run },
  });
}

/** Results of this many nodes, n00 and on, some with their own parts. */
export function nodeResults(count: number, parts: Readonly<Record<string, NodePart>> = {}): ResultDocument[] {
  return Array.from({ length: count }, (_, node) => {
    const host = `n${String(node).padStart(2, "0")}`;
    return nodeResult(host, parts[host]);
  });
}

/** The judgement of these results, by the usual rule unless `request` has another one. */
export function judged(
  results: readonly ResultDocument[],
  request: Partial<FleetRequest> = {},
): FleetDocument {
  return judgeFleet({
    version: "0.1.0",
    createdAt: "2026-11-20T12:00:00.000Z",
    nodes: results.map((result) => figuresOfNode(result, null)),
    ...{ fresh: [], notes: [] },
    rule: { threshold: null },
    referenceOf: null,
    ...request,
  });
}

/** A speed only in pinned copies of 64 MiB, of one GPU or of all. */
export function pinnedAt(times: number, of: number | "all" = "all"): (gpu: number, cell: Cell) => number {
  return (gpu, { memory, mode }) =>
    memory === "pinned" && mode === "throughput" && (of === "all" || of === gpu) ? times : 1;
}

/** The list of a launch with these nodes. */
export function manifest(nodes: readonly (Partial<LaunchedNode> & { host: string })[]): FleetManifest {
  return {
    schemaVersion: 1,
    kind: "fleet-run",
    startedAt: "2026-11-20T10:00:00.000Z",
    finishedAt: "2026-11-20T10:01:00.000Z",
    nodes: nodes.map((node) => ({ state: "measured", reason: null, file: null, ...node })),
  };
}
