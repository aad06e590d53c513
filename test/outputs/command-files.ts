import { readFileSync } from "node:fs";
import { historyPath } from "../../src/results/files/history-file.js";
import { buildEntry, buildFigure, buildTrend } from "../helpers/history.js";
import { nodeResult } from "../helpers/node-results.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildLink,
  buildMismatch,
} from "../helpers/result-document.js";
import { buildRuns, documentAtSpeed } from "../helpers/runs.js";
import { documentNames, documents } from "../helpers/sample-documents.js";

/* The files that the commands of test/outputs read. */

const cells = [
  ...[
    { GBps: 50 },
    { GBps: 10, memory: "pageable", sizeBytes: 65536 },
    { GBps: 20, direction: "d2h", device: 1 },
  ],
  { GBps: 2, mode: "latency", sizeBytes: 4096, latencyUs: { median: 2, p99: 5 } },
] as const;
const runs = (name: string, part: object) =>
  buildRuns({ cells, ...part }).map((run, i): [string, unknown] => [`${name}/${i}.json`, run]);
const [one, slow] = [buildRuns({ cells }), buildRuns({ cells, speed: 0.5, seed: 4 })];
const trend = buildTrend({ checks: 30, steps: { 20: -0.1 } });
const checks = trend.map((factor, day) =>
  buildEntry(day, { series: [buildFigure({ figure: 55 * factor })] }),
);
const config = {
  thresholds: { default: "70%", memory: { pageable: "2%" } },
  strict: true,
};

const recordings = new URL("../../results/nvidia-h200/", import.meta.url);
const recorded = [
  ...["default", "quick", "pinned", "fresh-process", "every-copy", "blocks"],
  ...["at-once-beside", "at-once-together", "doctor", "explain"],
].map(
  (name) => [`recorded/${name}.json`, readFileSync(new URL(`${name}.json`, recordings), "utf8")] as const,
);

/**
 * Two devices whose ordinals are not their positions, the second behind a bridge; the run had a budget and a number of
 * samples.
 */
const odd = buildRuns({
  count: 1,
  cells: [
    { device: 3, GBps: 49.7, sizeBytes: 65536, workers: 2 },
    { device: 1, GBps: 24.1, direction: "d2h", workers: 3 },
    { device: 1, GBps: 7.3, memory: "pageable" },
    { device: 3, GBps: { h2d: 31.2, d2h: 29.8, sum: 60.6 }, direction: "bidir", relativeHalfWidth: 0.03 },
  ],
  document: {
    devices: [
      buildDevice({ ordinal: 3, numaNode: 1 }),
      buildDevice({
        ordinal: 1,
        name: "NVIDIA L4",
        uuid: "GPU-0d3b9e11-0000-0000-0000-000000000001",
        pciBusId: "0000:8a:00.0",
        numaNode: 2,
        link: { ...buildLink(), generation: 4, width: 8 },
        linkLimitGBps: 15.75,
        upstreamPath: ["pci0000:80", "0000:80:01.0", "0000:85:00.0"],
      }),
    ],
    plan: { budgetNs: 30e9, samplesPerCell: 7, precision: 0.03 },
  },
});

/** Paths, and texts or what JSON holds. */
export const files: readonly (readonly [string, unknown])[] = [
  ...recorded,
  ["odd.json", odd[0]!],
  ["impossible.json", buildDocument({ cells: [buildCell({ GBps: 2001 })] })],
  ["odd-slow.json", documentAtSpeed(odd[0]!, 0.7, ({ device }) => device === 1)],
  ...[...runs("before", {}), ...runs("after", { speed: 0.8, seed: 2 }), ...runs("same", { seed: 3 })],
  ...runs("other", { document: { fingerprint: { gpu: "NVIDIA L4" } } }),
  ...runs("emulated", { document: { backend: "emulated" } }),
  ...documentNames.map((kind) => [`${kind}.json`, documents[kind]("node-1")] as const),
  ...[["a.json", one[0]!] as const, ["b.json", slow[1]!] as const, ["folder.json/a.txt", "text"] as const],
  ...["n1", "n2", "n3", "n4", "n5"].map(
    (host) =>
      [
        `nodes/${host}.json`,
        nodeResult(host, {
          device: () => ({ link: buildLink() }),
          speed: (gpu) => (host === "n3" && gpu === 1 ? 0.8 : 1),
        }),
      ] as const,
  ),
  ...[["nodes/n6.json", "{"] as const, ["train.py", ""] as const],
  [historyPath("checks"), [...checks, "not JSON"].map((line) => `${JSON.stringify(line)}\n`).join("")],
  ["failed.json", buildDocument({ cells: [buildCell({ GBps: 50 }), buildMismatch({ sizeBytes: 4096 })] })],
  ["nv.json", readFileSync(new URL("../fixtures/nvbandwidth-0.8.json", import.meta.url), "utf8")],
  ...[["empty.json", ""] as const, ["broken.json", '{"a":'] as const, ["list.json", []] as const],
  ["configured/pinbench.config.json", { ...config, baseline: "../before" }],
  ["other.config.json", { plan: { sizes: "1MiB" }, thresholds: { memory: { pinned: "60%" } } }],
  ["wrong.config.json", { plan: { sizes: "1M" } }],
];
