import {
  type FigureKind,
  type FleetDocument,
  type FleetGroupCell,
  type FleetNode,
  type FleetOutlier,
  fleetSchema,
} from "../../src/fleet/fleet-document.js";
import { actionOnNode } from "../../src/fleet/judge-fleet.js";
import { median } from "../../src/stats/order-statistics.js";
import { seeded } from "./seeded.js";

/** Builds fleets by parts: each part has sensible defaults, and a test sets only what matters to it. */

export const pinnedTo: FigureKind = {
  cell: "h2d/pinned/67108864/w1/throughput/cold",
  moved: "h2d",
  unit: "GB/s",
};
export const pinnedFrom: FigureKind = {
  cell: "d2h/pinned/67108864/w1/throughput/cold",
  moved: "d2h",
  unit: "GB/s",
};
export const smallCopy: FigureKind = {
  cell: "h2d/pinned/4096/w1/latency/cold",
  moved: "h2d",
  unit: "us",
};

/** Healthy GPUs' figures in each cell. */
const usualCells = [
  { kind: pinnedTo, level: 55.4 },
  { kind: pinnedFrom, level: 53.1 },
  { kind: smallCopy, level: 7.2 },
];

export function buildNode(host: string, part: Partial<FleetNode> = {}): FleetNode {
  return {
    host,
    state: "measured",
    reason: null,
    action: "none",
    file: `results/${host}.json`,
    runId: `run-${host}`,
    startedAt: "2026-11-22T09:00:00.000Z",
    wallNs: 40e9,
    labels: {},
    group: 0,
    compared: true,
    devices: [0, 1].map((ordinal) => ({
      ordinal,
      name: "NVIDIA H200",
      uuid: `GPU-${host}-${ordinal}`,
      pciBusId: `0000:0${ordinal}:00.0`,
      link: "gen5 x16",
    })),
    notes: [],
    ...part,
  };
}

/** A node without figures. */
export function buildLacking(
  host: string,
  state: Exclude<FleetNode["state"], "measured">,
  reason: string,
): FleetNode {
  return buildNode(host, {
    state,
    reason,
    action: actionOnNode(state),
    file: null,
    runId: null,
    startedAt: null,
    wallNs: null,
    group: null,
    compared: false,
    devices: [],
  });
}

export function buildOutlier(host: string, part: Partial<FleetOutlier> = {}): FleetOutlier {
  return {
    host,
    group: 0,
    device: 1,
    uuid: `GPU-${host}-1`,
    against: "group",
    cells: [{ ...pinnedTo, figure: 27.7, expected: 55.4, change: -0.5 }],
    since: null,
    confirmed: null,
    action: part.confirmed === false ? "none" : "isolate",
    evidence: [],
    ...part,
  };
}

export interface FleetPart {
  /** Measured hosts, or nodes of any kind. */
  nodes?: readonly (string | FleetNode)[];
  outliers?: readonly FleetOutlier[];
  group?: Partial<FleetDocument["groups"][number]>;
}

/** A fleet of one group with usual figures, except those of its outliers. */
export function buildFleet(
  part: FleetPart & Partial<Omit<FleetDocument, "nodes" | "groups">> = {},
): FleetDocument {
  const { nodes = ["n01", "n02", "n03", "n04"], outliers = [], group = {}, ...rest } = part;
  const all = nodes.map((one) => (typeof one === "string" ? buildNode(one) : one));
  const members = all.filter((node) => node.group === 0);
  const { normals } = seeded(15);
  const gpus = members.flatMap(({ host, devices }) => devices.map(({ ordinal }) => ({ host, ordinal })));
  const cells = usualCells.map(({ kind, level }): FleetGroupCell => {
    const noise = normals(gpus.length);
    const values = gpus.map(({ host, ordinal }, i) => {
      const slow = outliers
        .filter((one) => one.host === host && (one.device === null || one.device === ordinal))
        .flatMap((one) => one.cells.filter(({ cell }) => cell === kind.cell));
      return slow[0]?.figure ?? level * (1 + 0.002 * noise[i]!);
    });
    return {
      ...kind,
      values,
      figures: values.length,
      median: values.length === 0 ? level : median(values),
      lowest: Math.min(level, ...values),
      highest: Math.max(level, ...values),
      shareOfReference: kind.unit === "us" ? null : 0.994,
    };
  });
  return fleetSchema.parse({
    schemaVersion: 1,
    kind: "fleet",
    tool: { name: "pinbench", version: "0.1.0" },
    createdAt: "2026-11-22T09:10:00.000Z",
    notice: null,
    rule: { pinned: 0.04, copiesByCpu: 0.1 },
    nodes: all,
    groups: [
      {
        facts: { gpu: "NVIDIA H200", driver: "580.159.04", cpu: "Intel Xeon Platinum 8480+" },
        nodes: members.length,
        devices: gpus.length,
        cells,
        slowPart: null,
        bounds: [
          { copies: "pinned H2D", kind: "pinned", node: 0.04, gpu: 0.058, reference: 0.05 },
          { copies: "pinned D2H", kind: "pinned", node: 0.041, gpu: 0.058, reference: 0.05 },
          { copies: "pinned H2D latency", kind: "copiesByCpu", node: 0.181, gpu: 0.259, reference: null },
        ],
        notes: [],
        ...group,
      },
    ],
    outliers,
    cleared: [],
    notes: [],
    suspects: [...new Set(outliers.map(({ host }) => host))],
    ...rest,
  });
}

/** A hundred nodes, some slow and some without figures, to look at tables and pages. */
export function buildMixedFleet(): FleetDocument {
  const hosts = Array.from({ length: 96 }, (_, i) => `n${String(i + 1).padStart(3, "0")}`);
  return buildFleet({
    nodes: [
      ...hosts,
      buildLacking("n097", "late", "It had not ended when the deadline of 60 s was over."),
      ...["n098", "n099"].map((host) => buildLacking(host, "missing", "The launcher started nothing there.")),
      buildLacking("n100", "wrong data", "copies of GPU 0 came back wrong at 2026-11-22 09:00 UTC"),
    ],
    outliers: [
      buildOutlier("n007", {
        confirmed: true,
        since: { startedAt: "2026-11-20T09:00:00.000Z", lastHealthy: "2026-11-19T09:00:00.000Z" },
        evidence: ["its link ran at gen5 x8, and those of its group at gen5 x16"],
      }),
      buildOutlier("n042", {
        device: null,
        uuid: null,
        confirmed: true,
        since: { startedAt: "2026-11-22T09:00:00.000Z", lastHealthy: null },
        cells: [
          { ...pinnedFrom, figure: 47.2, expected: 53.1, change: -0.111 },
          { ...smallCopy, figure: 7.9, expected: 7.2, change: -0.089 },
        ],
      }),
    ],
    cleared: [
      buildOutlier("n063", {
        confirmed: false,
        cells: [{ ...pinnedTo, figure: 51.9, expected: 55.4, change: -0.063 }],
      }),
    ],
    group: { notes: ["GPU 1 of each node is 2 % slower to the device than GPU 0: compared with its like"] },
  });
}
