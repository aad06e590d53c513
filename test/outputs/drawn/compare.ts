import { awaitsMoreRuns, compareResults, findSuspects } from "../../../src/compare/compare-results.js";
import type { Comparison } from "../../../src/compare/comparison.js";
import { baselineReport } from "../../../src/compare/report/baseline-report.js";
import { comparisonCharts } from "../../../src/compare/report/comparison-charts.js";
import { comparisonKind } from "../../../src/compare/report/comparison-report.js";
import { runsOf } from "../../../src/compare/result-set.js";
import { sensitivityOf } from "../../../src/compare/sensitivity.js";
import { groupBySession } from "../../../src/compare/sessions.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { CellResult } from "../../../src/results/cell-schema.js";
import type { DeviceRecord, ResultDocument } from "../../../src/results/schema.js";
import { defaultThresholds, type Thresholds } from "../../../src/settings/thresholds.js";
import { drawn } from "../../helpers/drawn.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildLink,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
} from "../../helpers/result-document.js";
import { seeded } from "../../helpers/seeded.js";
import { draws, refusalOf } from "../draws.js";

const threeSizes = (part: CellPart): CellPart[] =>
  [64 * KiB, MiB, 16 * MiB].map((sizeBytes) => ({ sizeBytes, ...part }));
const inBoth = (part: CellPart) =>
  (["h2d", "d2h"] as const).flatMap((direction) => threeSizes({ ...part, direction }));
const host: CellPart[] = [1, 4].map((workers) => ({ memory: "host", workers }));

/** The cells of a result: several of these. */
const grids: readonly CellPart[][] = [
  inBoth({}),
  [...inBoth({ memory: "pageable" }), ...host],
  [1, 2, 4, 8].flatMap((workers) => inBoth({ workers })),
  [...threeSizes({ memory: "pageable" }), ...inBoth({ memory: "staged", workers: 2 }), ...host],
  threeSizes({ mode: "latency" }),
  [...threeSizes({ mode: "latency", memory: "pageable" }), { mode: "latency", direction: "bidir" }],
  threeSizes({ direction: "bidir" }),
  [{ workerKind: "process" }, { together: [0, 1] }, { beside: "compute" }, { chunks: 4 }],
  threeSizes({ blockBytes: 4 * KiB, blockWay: "batch" }),
  threeSizes({ workerKind: "process", workers: 2, memory: "pageable" }),
  [
    { direction: "p2p", memory: "device", peer: 1, path: "read" },
    { cpuNode: 0, memoryNode: 1 },
  ],
  [{ direction: "d2d", memory: "device" }, { memory: "mapped" }, { memory: "registered" }],
  [{ cache: "warm", memory: "pageable" }],
  [{}],
];

const speedOf: Readonly<Record<string, number>> = { pinned: 55, pageable: 12, staged: 10, host: 20 };

/** A measured cell at a multiple of its usual speed, with this share of its time lost to slow copies. */
function measured(part: CellPart, speed: number, lost: number | null): CellResult {
  const GBps = (speedOf[part.memory ?? "pinned"] ?? 40) * speed * (1 - 0.1 * (part.device ?? 0));
  const us = 8 / speed;
  const isLatency = part.mode === "latency";
  const sum = isLatency ? {} : { sum: 1.9 * GBps };
  const cell = buildCell({
    ...part,
    GBps: part.direction === "bidir" ? { h2d: GBps, d2h: 0.9 * GBps, ...sum } : GBps,
    ...(isLatency && { latencyUs: { median: us, p99: 2 * us } }),
  });
  const stats = cell.stats.map((one) => ({
    ...one,
    ...(lost !== null && { overTimeGBps: one.bandwidthGBps.median * (1 - lost) }),
  }));
  return { ...cell, link: null, stats };
}

const error = { code: "OUT_OF_MEMORY", message: "out of memory", call: null, location: null, sticky: false };

/** Cells without figures, or with wrong ones. */
const broken: readonly (Partial<CellResult> & Pick<CellResult, "outcome">)[] = [
  { outcome: "failed", error },
  { outcome: "failed" },
  { outcome: "mismatch" },
  { outcome: "skipped", skipReason: "too little memory" },
  { outcome: "skipped" },
  { outcome: null },
];

const devicesOf = (count: number, part: Partial<DeviceRecord> = {}) =>
  Array.from({ length: count }, (_, ordinal) =>
    buildDevice({ ordinal, uuid: `GPU-${ordinal}`, pciBusId: `0000:0${ordinal}:00.0`, ...part }),
  );

/** What is different on a side. */
const conditions = (gpus: number): readonly DocumentPart[] => [
  { driverVersion: "590.1", host: { kernel: "6.12" } },
  { host: { hostname: "node-2" }, devices: devicesOf(gpus, { uuid: "GPU-x" }) },
  { host: { hostname: "node-2", container: "docker" }, devices: devicesOf(gpus, { uuid: null }) },
  { devices: devicesOf(gpus, { link: buildLink({ width: 8 }) }) },
  { devices: devicesOf(gpus, { link: buildLink({ generation: 4, width: null }), pciBusId: "0000:99:00.0" }) },
  { devices: devicesOf(gpus, { name: "NVIDIA H100 PCIe" }) },
  { devices: [...devicesOf(1), buildDevice({ ordinal: 1, uuid: "GPU-y", link: buildLink({ width: 8 }) })] },
  { devices: devicesOf(gpus, { link: buildLink({ generation: 3 }) }), driverVersion: "579.1" },
  { plan: { verify: "every", numa: "all" } },
  { plan: { samplesPerCell: 20 }, host: { lastLevelCacheBytes: 32 * MiB } },
  { plan: { precision: 0.0205, budgetNs: 90e9 }, cudaVersion: "13.1" },
  { importedFrom: { tool: "nvbandwidth", version: "0.8", file: "a.json" } },
];

const other = { kind: "program", pid: 7, name: "python3", since: null, deviceMemoryBytes: MiB } as const;
const others = [
  { ...other, wasThereBefore: true },
  { ...other, kind: "pinbench", pid: null, since: "2026-11-20T09:59:59Z", wasThereBefore: false },
] as const;

const rules: readonly Partial<Thresholds>[] = [
  {},
  {},
  { default: 0.08, memory: { pageable: 0.2 } },
  { memory: { pinned: 0.021 } },
];

const alone = { device: 0, others: [], activityBefore: null, unseen: [] };
const busy = { computeShare: 0.4, toDeviceGBps: null, fromDeviceGBps: 3 };
const idle = { stealShare: 0.01, cpuPressureShare: 0, ioPressureShare: null };

/** What surrounds a run: loads of the machine, other users of its devices, and how it ended. */
const surroundings: readonly Partial<ResultDocument["run"]>[] = [
  ...[0.02, 0.05, 0.3].map((share) => ({
    load: { ...idle, otherCpuShare: share, memoryPressureShare: share },
  })),
  { sharing: [{ ...alone, others: [others[0]] }] },
  { sharing: [{ ...alone, others: [...others], activityBefore: busy }] },
  { status: "aborted" },
  { status: "running" },
  { status: "failed", error },
];

type IsOf = (cell: CellPart) => boolean;
const isPinned: IsOf = ({ memory = "pinned" }) => memory === "pinned";
const all: IsOf = () => true;
const isOfHost: IsOf = (cell) => !isPinned(cell);
const isInPlace: IsOf = ({ direction, device }) => direction === "d2h" || device === 1;
const isOne: IsOf = ({ workers = 1, sizeBytes }) => workers === 1 && sizeBytes === MiB;

/** From which the parts of two sides are chosen: the cells, and which of them changed, how much, and in which share of the runs. */
const usual = {
  kinds: grids,
  isOf: [all, isPinned, isOfHost, isOne, isInPlace],
  factors: [1, 0.985, 0.968, 0.94, 0.9, 0.8, 0.5, 1.06, 1.3],
  lost: [0, 0, 0.04],
  shares: [1, 1, 0.6],
  sessions: [1, 1, 2, 3],
  runs: [2, 4, 5, 8],
  isQuiet: [true, false],
  missing: [0, 0, 0, 0.02],
  /** The place of a cell that no run of the candidate has, and of what is different on its side, if anything is. */
  gone: [-1],
  condition: [-1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11],
};
const themes: readonly Partial<typeof usual>[] = [
  {},
  { kinds: [grids[0]!, grids[2]!], factors: [0.5, 0.85], shares: [0.2, 0.4, 0.7], isQuiet: [true] },
  { kinds: [grids[1]!, grids[3]!], isOf: [isOfHost, all], factors: [0.4, 0.6], sessions: [1, 2, 3, 9] },
  { factors: [1, 1.1], lost: [0.08, 0.3], shares: [1, 0.5], isQuiet: [true] },
  { kinds: [grids[1]!, grids[13]!], factors: [1], lost: [0.1], shares: [0.7], runs: [5, 10], isOf: [all] },
  { factors: [0.975, 0.966, 0.96, 0.955], isQuiet: [true], shares: [1], isOf: [all, isPinned, isOne] },
  { kinds: [grids[0]!, grids[2]!], factors: [0.97, 0.963], runs: [3, 5], shares: [1], isQuiet: [false] },
  { kinds: [grids[0]!], factors: [0.6], lost: [0.3], shares: [0.3, 0.5], isQuiet: [true] },
  { condition: [6] },
  { runs: [1, 2], sessions: [1], factors: [0.9, 0.5] },
  { missing: [0.12], gone: [0, 1] },
  { kinds: [grids[0]!], isOf: [all, isOne], factors: [0.93], sessions: [1, 3, 9], runs: [3] },
];

/** Two sides of a machine that differ by chance, in what they were measured of, and in what became slower. */
function sidesOf(seed: number) {
  const { uniform, normal, one } = seeded(seed);
  const from = { ...usual, ...themes[seed % themes.length] };
  const gpus = one([1, 1, 2]);
  const kinds = [...new Set([one(from.kinds), one(from.kinds)])].flat();
  const cells = Array.from({ length: gpus }, (_, device) =>
    kinds.map((one): CellPart => ({ ...one, device })),
  ).flat();
  const [steady, otherwise] = one(from.isQuiet) ? [5e-4, 0.004] : [0.004, 0.05];
  const machine: DocumentPart =
    uniform() < 0.3
      ? { devices: devicesOf(gpus, { name: "NVIDIA H100" }), host: { governor: "powersave" } }
      : { devices: devicesOf(gpus) };
  const now = { ...machine, ...conditions(gpus)[one(from.condition)] };
  const build = uniform() < 0.06 ? buildEmulatedDocument : buildDocument;
  const [isOf, factor] = [one(from.isOf), one(from.factors)];
  const [lost, share] = [one(from.lost), one(from.shares)];
  const [usualLoss, missing] = [one([null, 0, 0.02, 0.1]), one(from.missing)];
  const gone = one(from.gone);
  const oddRuns = one([0, 0, 0, 0.1, 0.3]);
  /** The runs from this minute on, with the change in a share of them. */
  const runsFrom = (minute: number, runs: number, part: DocumentPart, hitShare: number) =>
    Array.from({ length: runs }, (_, run): ResultDocument => {
      const [offset, isHit] = [0.3 * normal(), uniform() < hitShare];
      const document = build({
        ...part,
        run: {
          id: `run-${seed}-${minute + run}`,
          startedAt: new Date(Date.UTC(2026, 10, 20, 10, minute + run)).toISOString(),
          wallNs: one([30e9, null]),
          ...(uniform() < oddRuns && one(surroundings)),
        },
        cells: cells.flatMap((cell): CellResult[] => {
          if (uniform() < missing || (part === now && cells.indexOf(cell) === gone)) {
            const without = one([...broken, null]);
            return without === null ? [] : [buildCell({ ...cell, result: without })];
          }
          const noise = (isPinned(cell) ? steady : otherwise) * (normal() + offset);
          const isSlow = isHit && isOf(cell);
          const unevenness = usualLoss === null ? null : usualLoss * uniform() + (isSlow ? lost : 0);
          return [measured(cell, (isSlow ? factor : 1) * Math.exp(noise), unevenness)];
        }),
      });
      return part.importedFrom === undefined ? document : { ...document, plan: null, host: null };
    });
  const [sessions, perSession] = [one(from.sessions), one(from.runs)];
  const sessionsAt = (first: number, days: number, runs: number, part: DocumentPart, hits: number) =>
    Array.from({ length: days }, (_, day) => runsFrom(first + 1440 * day, runs, part, hits));
  return {
    command: one(["compare", "check", "check", "check"] as const),
    ...{ strict: uniform() < 0.3, allowMismatch: uniform() < 0.5 },
    thresholds: { ...defaultThresholds, ...one(rules) },
    baseline: [
      ...sessionsAt(-20_000, sessions, perSession, machine, one([0, 0, share / 4])).flat(),
      ...runsFrom(-900, one([0, 0, 0, 1]), { ...now, ...machine }, 0),
    ],
    candidate: runsFrom(0, one(from.runs), now, share),
    again: runsFrom(20, one([1, 3, 6]), now, one([0, share, share, share])),
  };
}

/** All that is computed of two sides. */
export function outputsOf(seed: number) {
  const { baseline, candidate, again, command, ...ofRule } = sidesOf(seed);
  const figuresOf = (documents: readonly ResultDocument[], path: string | null) =>
    documents.flatMap((document, i) => runsOf(document, path && `${path}/${i}.json`));
  const path = command === "check" ? null : "after";
  const first = {
    ...{ version: "0.1.0", command, fresh: [], suspects: [] },
    rule: ofRule,
    baseline: { path: oneOfPaths[seed % 2]!, runs: figuresOf(baseline, "before") },
    candidate: { path, runs: figuresOf(candidate, path) },
  };
  const suspects = findSuspects(first);
  const isAgain = ({ id, memory }: CellResult) => memory === "host" || suspects.ids.includes(id);
  const measured = suspects.ids.length === 0 || path !== null ? [] : again;
  const fresh = figuresOf(
    measured.map((one) => ({ ...one, cells: one.cells.filter(isAgain) })),
    null,
  );
  const request = { ...first, fresh, suspects: suspects.ids };
  const sessions = groupBySession(first.baseline.runs).length;
  const sensitivity = sensitivityOf(first.baseline.runs, 5, ofRule.thresholds);
  const made = { path: "main", cells: 9, notice: null, checkRuns: 5 };
  return {
    suspects,
    sensitivity,
    awaits: fresh.map((_, i) => awaitsMoreRuns({ ...request, fresh: fresh.slice(0, i) })),
    baseline: baselineReport({ ...made, runs: 9, sessions, sensitivity }, fileScreen()),
    ...told(() => compareResults(request)),
  };
}
const oneOfPaths = ["before.json", "a baseline"];

/** A comparison with its texts in all formats, or why there is none. */
function told(compare: () => Comparison) {
  try {
    const comparison = { ...compare(), createdAt: "2026-11-20T10:07:30.000Z" };
    const screen = fileScreen();
    return {
      comparison,
      report: comparisonKind.report(comparison, { screen }),
      texts: ["junit", "github"].map((format) => drawn(comparisonKind, comparison, format, screen)),
      charts: comparisonCharts(comparison).map((chart) => [chart, chart.x.format(0.0123)]),
    };
  } catch (error) {
    return { refusal: refusalOf(error) };
  }
}

draws(import.meta.url, () =>
  Array.from({ length: 72 }, (_, seed) => [`measured sides ${seed}`, outputsOf(seed)] as const),
);
