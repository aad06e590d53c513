import { expect, it } from "vitest";
import { type Block, type Grid, headTexts } from "../../src/draw/report.js";
import { fileScreen } from "../../src/draw/screen.js";
import { serverConstants } from "../../src/report/findings/server-constants.js";
import { resultKind } from "../../src/report/result-report.js";
import { cellGrids } from "../../src/report/tables/cell-grids.js";
import { cutoffGrids } from "../../src/report/tables/cutoff-grids.js";
import { termsNamed } from "../../src/report/terms.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { type BlockCutoffs, coarseBytes } from "../../src/results/cutoffs/cutoff-schema.js";
import type { ColdStart, ResultDocument } from "../../src/results/schema.js";
import type { BlockWay } from "../../src/settings/choices.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { buildBlocks } from "../helpers/blocks.js";
import { drawn, reportOf } from "../helpers/drawn.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
  sweepCells,
} from "../helpers/result-document.js";
import { describeSituations, pair, type Situation, sentencesOf } from "./situations.js";

const d2h = { direction: "d2h" } as const;
const pageable = { memory: "pageable" } as const;
const of = (cells: CellResult[], part: DocumentPart = {}) => buildDocument({ cells, ...part });
const devices = [0, 1, 2].map((ordinal) => buildDevice({ ordinal }));
const bidir = (h2d: number, back: number, part: CellPart = {}) =>
  buildCell({ direction: "bidir", GBps: { h2d, d2h: back, sum: h2d + back }, ...part });
const latency = (median: number, part: CellPart = {}) =>
  buildCell({ mode: "latency", GBps: 1, latencyUs: { median, p99: 2 * median }, ...part });

/** 10 µs to the device, and 30 back. */
const bothLatencies = bidir(1, 1, { mode: "latency", latencyUs: { median: 10, p99: 20 } });
Object.assign(bothLatencies.stats[1]!, { latencyUs: { ...buildDistribution(30), p90: 35, p99: 40 } });
bothLatencies.stats.splice(2);

/** An interval that is wider than its figure. */
const useless = buildCell({ sizeBytes: 4 * MiB, GBps: 10, result: { outcome: "budget" } });
Object.assign(useless.stats[0]!, { relativeHalfWidth: 21.69 });

const plain: Situation[] = [
  ["a default sweep, and what memory costs once", of(sweepCells(), { coldStart: [buildColdStart()] })],
  [
    "rows come by size, number and kind of workers",
    of(
      (
        [
          { workers: 2, workerKind: "process" },
          { workers: 2 },
          {},
          { sizeBytes: 64 * KiB, workers: 4 },
        ] as CellPart[]
      ).map((part, i) => buildCell({ sizeBytes: MiB, GBps: 50 + i, ...part })),
    ),
  ],
  [
    "without --all, sizes spread over all with the fewest workers, and the largest with the most",
    of(
      Array.from({ length: 12 }, (_, i) => i + 1).flatMap((size) =>
        [4, 1, 2].map((workers) => buildCell({ sizeBytes: size * MiB, workers, GBps: 40 + size })),
      ),
    ),
  ],
  [
    "the share of the link is that of pinned",
    of([buildCell({ memory: "registered", GBps: 60 }), buildCell({ GBps: 50 })]),
  ],
  ["the share of the link is that of the only kind", of([buildCell({ memory: "staged", GBps: 50 })])],
  [
    "the share of the link is the best of several others",
    of([buildCell({ memory: "staged", GBps: 50 }), buildCell({ memory: "registered", GBps: 60 })]),
  ],
  [
    "the share of the link is missing in one row",
    of(
      [1, 2]
        .map((workers) => buildCell({ workers, GBps: 31.5 }))
        .map((cell, i) =>
          i === 0 ? cell : { ...cell, stats: cell.stats.map((one) => ({ ...one, linkShare: null })) },
        ),
    ),
  ],
  ...(
    [
      [0.004, 0.005],
      [0.007, 0.005],
      [0.007, 0.01],
      [0.02, 0.01],
      [0.02, 0.05],
      [0.007, 0.05],
    ] as const
  ).map(
    ([relativeHalfWidth, precision]): Situation => [
      `an interval of ${relativeHalfWidth} is shown above 1 % and above the precision of ${precision}`,
      of([buildCell({ GBps: 50, relativeHalfWidth }), latency(400, { relativeHalfWidth })], {
        plan: { precision },
      }),
    ],
  ),
  ["both ways at once, with the gain over pageable", of([bidir(9, 8, pageable), bidir(52.33, 50.69)])],
  ["both ways at once, without pageable", of([bidir(9, 8, { memory: "staged" }), bidir(52.33, 50.69)])],
  ["latencies of two kinds", of([latency(3.5, pageable), latency(2.5)])],
  ["latencies of both ways at once", of([bothLatencies])],
  [
    "a table for each cache state and device",
    of(
      [buildCell({ GBps: 55 }), buildCell({ GBps: 53, cache: "warm" }), buildCell({ GBps: 52, device: 1 })],
      { devices: devices.slice(0, 2) },
    ),
  ],
  [
    "tables of one device's plain copies are joined",
    of([buildCell({ GBps: 50 }), buildCell({ GBps: 51, ...d2h })]),
  ],
  [
    "tables beside others are not joined",
    of([buildCell({ GBps: 50 }), buildCell({ GBps: 51, ...d2h }), buildCell({ beside: "memory", GBps: 49 })]),
  ],
  [
    "what went wrong",
    of(
      [
        ...[
          buildMismatch({ GBps: 54.9 }),
          buildFailed({ workers: 2 }, "CUDA_ERROR_OUT_OF_MEMORY", "no"),
          buildSkipped({ memory: "staged" }, "no host"),
        ],
        ...[
          buildCell({ sizeBytes: MiB, GBps: 30, relativeHalfWidth: null, result: { outcome: null } }),
          buildCell({ sizeBytes: MiB, workers: 2, result: { outcome: null } }),
        ],
        ...[
          buildCell({ sizeBytes: 2 * MiB, GBps: 10, relativeHalfWidth: 0.02, result: { outcome: "budget" } }),
          useless,
        ],
      ],
      { run: { status: "aborted" } },
    ),
  ],
];

const host = (GBps: number, part: CellPart = {}) => buildCell({ memory: "host", GBps, ...part });
const oneWay = [...pair(10.2, 55.4), host(12.3), host(31, { workers: 4 })];
const asking = (values: { memory?: ["host", "pageable", "pinned"]; cells?: string[] }) => ({
  plan: { settings: fillRunSettings({ origin: "flag", values }) },
});
const controls: Situation[] = [
  ["controls of the host's memory are no column", of(oneWay)],
  [
    "controls that were asked for by memory are a column",
    of(oneWay, asking({ memory: ["host", "pageable", "pinned"] })),
  ],
  [
    "controls that were asked for by ids are a column",
    of(oneWay, asking({ cells: oneWay.map(({ id }) => id) })),
  ],
];

const between = (device: number, peer: number, GBps: number, part: CellPart = {}) =>
  buildCell({ direction: "p2p", memory: "device", path: "write", device, peer, GBps, ...part });
const load = {
  unit: "GFLOP/s" as const,
  alone: buildDistribution(700_000),
  during: buildDistribution(630_000),
  keptShare: buildDistribution(0.9),
};
const chunked = (chunks: number, batchMs: number, part: CellPart = {}) =>
  buildCell({ chunks, GBps: (16 * MiB) / (batchMs * 1e6), ...part, result: { computeNs: 3.3e6 } });
const at = (device: number, memoryNode: number, GBps: number, part: CellPart = {}) =>
  buildCell({ device, memoryNode, cpuNode: memoryNode, GBps, ...part });
const nodes = {
  devices: [1, 3].map((ordinal) => buildDevice({ ordinal, numaNode: ordinal === 3 ? 1 : null })),
};

const variants: Situation[] = [
  [
    "all kinds of tables of several devices",
    of(
      [
        ...[
          between(0, 1, 390),
          ...[0, 1].map((device) => buildCell({ device, together: [0, 1], GBps: 50 + device })),
        ],
        ...[
          buildCell({ chunks: 1, GBps: 30 }),
          buildCell({ beside: "memory", GBps: 53 }),
          buildCell({ beside: "compute", GBps: 54 }),
        ],
        ...[
          buildCell({ ...d2h, GBps: 54 }),
          ...[0, 1].map((device) => buildCell({ device, GBps: 55 + device })),
        ],
      ],
      { devices },
    ),
  ],
  [
    "processes have rows behind as many threads",
    of([
      buildCell({ ...pageable, workers: 4, GBps: 8 }),
      buildCell({ ...pageable, workerKind: "process", workers: 4, GBps: 27.3 }),
      buildCell({ ...pageable, workerKind: "process", GBps: 8.2 }),
    ]),
  ],
  [
    "devices at once, with shares of what each reaches alone",
    of(
      [
        ...[0, 1].flatMap((device) => pair(8 + device, 50 + device, { device })),
        ...[
          buildCell({ together: [0, 1], GBps: 48 }),
          buildCell({ device: 1, together: [0, 1], GBps: 25 }),
          buildCell({ ...pageable, together: [0, 1], GBps: 8 }),
        ],
        buildFailed({ device: 1, ...pageable, together: [0, 1] }, "CUDA_ERROR_UNKNOWN", "no"),
      ],
      { devices },
    ),
  ],
  [
    "devices at once both ways, as nvbandwidth has it",
    of(
      [0, 1].flatMap((device) => [
        bidir(50, 49, { device }),
        bidir(30 - device, 45, { device, together: [0, 1] }),
      ]),
      { devices },
    ),
  ],
  [
    "latencies at once have shares of speed and no sum",
    of(
      [0, 1].flatMap((device) => [
        latency(10 + device, { device }),
        latency(12.5, { device, together: [0, 1] }),
      ]),
      { devices },
    ),
  ],
  [
    "latencies at once both ways",
    of(
      [0, 1].map((device) =>
        bidir(1, 2, {
          device,
          mode: "latency",
          latencyUs: { median: 9 + device, p99: 30 },
          together: [0, 1],
        }),
      ),
      { devices },
    ),
  ],
  [
    "a matrix for each way between devices",
    of(
      [
        between(0, 1, 390),
        between(1, 0, 385),
        buildSkipped({ direction: "p2p", memory: "device", peer: 2, path: "write" }, "no access"),
        between(0, 1, 20, { path: "through-host" }),
        between(0, 2, 19, { path: "through-host" }),
      ],
      { devices },
    ),
  ],
  [
    "a matrix for each size and number of workers",
    of([between(0, 1, 390), between(2, 0, 391, { workers: 2 }), between(1, 2, 392, { sizeBytes: MiB })], {
      devices,
    }),
  ],
  [
    "a matrix of latencies",
    of([between(0, 1, 1, { mode: "latency", latencyUs: { median: 11, p99: 20 } })], { devices }),
  ],
  [
    "copies beside a load, and without the load's figures",
    of([
      ...pair(8, 50),
      buildCell({ ...pageable, beside: "compute", GBps: 6, result: { load } }),
      buildCell({ beside: "compute", GBps: 49, result: {} }),
    ]),
  ],
  [
    "copies both ways beside a load, which is there once",
    of([bidir(50, 40), bidir(40, 39, { beside: "host", result: { load } })]),
  ],
  [
    "a batch in chunks, what it gains over one, and a failure",
    of([
      buildCell({ GBps: 3.5 }),
      chunked(1, 8),
      chunked(16, 5),
      chunked(1, 38, pageable),
      buildFailed({ ...pageable, chunks: 16 }, "CUDA_ERROR_UNKNOWN", "no"),
    ]),
  ],
  [
    "a batch in chunks without one to compare with",
    of([buildCell({ GBps: 3.5 }), chunked(4, 6), chunked(16, 5)]),
  ],
  [
    "memory of NUMA nodes, alone and at once",
    of(
      [
        ...[
          ...[1, 0].map((node) => at(3, node, 40 + node, { together: [1, 3] })),
          at(3, 1, 55),
          at(3, 0, 33),
          at(1, 0, 54),
        ],
        ...[1, 0].flatMap((cpuNode) =>
          [1, 0].map((node) => at(3, node, 10 + 2 * cpuNode + node, { memory: "staged", cpuNode })),
        ),
      ],
      nodes,
    ),
  ],
  [
    "memory of NUMA nodes both ways, by number of workers",
    of(
      [1, 2].map((workers) => bidir(30, 31, { device: 1, memoryNode: 0, cpuNode: 0, workers })),
      nodes,
    ),
  ],
];

const blockBytes = 4 * KiB;
const twoSizes = [
  ...buildBlocks(blockBytes, 4096, 55.1, {
    loop: [1.41, 2850],
    batch: [2.83, 1420],
    kernel: [49.3, 5.2],
    gather: [8.82, 455],
  }),
  ...buildBlocks(MiB, 256, 55.3, { loop: [51.9, 19500], gather: [5.84, 179_000] }),
];
const partOf16 = { sizeBytes: 16 * MiB, blockBytes } as const;
const inBlocks: Situation[] = [
  ["blocks have their rates, and what a block takes", of(twoSizes)],
  [
    "blocks both ways at once",
    of(buildBlocks(blockBytes, 4096, 90, { loop: [2.6, 3100] }, { direction: "bidir" })),
  ],
  [
    "blocks by several workers, in two counts of one size",
    of(
      [4096, 8192].flatMap((count) =>
        buildBlocks(blockBytes, count, 55, { loop: [count / 4000, 2850] }, { workers: 2 }),
      ),
    ),
  ],
  [
    "blocks of which some were skipped or wrong, or lack what a block takes",
    of([
      buildSkipped({ ...partOf16, blockWay: "batch" }, "no cuMemcpyBatchAsync"),
      buildCell({ ...partOf16, blockWay: "loop", GBps: 1.4 }),
      buildCell({
        ...partOf16,
        blockWay: "kernel",
        GBps: 1.5,
        result: { outcome: "mismatch", hostNsPerBlock: buildDistribution(100) },
      }),
    ]),
  ],
  [
    "blocks come by block, count, workers and memory",
    of(
      (
        [
          ...[
            { blockBytes: 8 * KiB, sizeBytes: 64 * KiB },
            { sizeBytes: 128 * KiB },
            { sizeBytes: 64 * KiB, workers: 2 },
          ],
          ...[{ sizeBytes: 64 * KiB }, { sizeBytes: 64 * KiB, ...pageable }],
        ] as CellPart[]
      ).map((part, i) => buildCell({ blockBytes, GBps: 5 + i, blockWay: "loop", ...part })),
    ),
  ],
  [
    "blocks beside a load, each way against itself",
    of([
      ...buildBlocks(blockBytes, 16, 50, { loop: [2, 2850], kernel: [40, 5] }),
      ...buildBlocks(
        blockBytes,
        16,
        45,
        { loop: [1, 2850], kernel: [10, 5] },
        { beside: "compute", result: { load } },
      ),
    ]),
  ],
];

type Column = Partial<BlockCutoffs>;
const column = { device: 0, memory: "pinned", workers: 1, direction: "h2d", blockCount: 16 } as const;
/** A finished search: a kernel is faster below a size, and a batch above it. */
function changing(leastKiB: number, mostKiB: number, part: Column = {}): BlockCutoffs {
  const [least, most] = [leastKiB * KiB, mostKiB * KiB];
  const [below, above] = ["kernel", "batch"] as const;
  const sizes = [...new Set([...coarseBytes, least, most])]
    .sort((a, b) => a - b)
    .map((blockBytes) => ({
      ...{ blockBytes, fastest: blockBytes <= least ? below : above },
      isCertain: blockBytes <= least || blockBytes >= most,
    }));
  const bytes = Math.round(Math.sqrt(leastKiB * mostKiB)) * KiB;
  return {
    ...column,
    ...part,
    sizes,
    cutoffs: [{ leastBytes: least, mostBytes: most, bytes, below, above }],
  };
}
/** A search in which one method is the fastest at all sizes, or several by turns. */
const same = (ways: BlockWay[], part: Column = {}, isCertain = true): BlockCutoffs => ({
  ...{ ...column, ...part, cutoffs: [] },
  sizes: coarseBytes.map((blockBytes, i) => ({
    blockBytes,
    fastest: ways[i % ways.length]!,
    isCertain,
  })),
});
const searched = (...blockCutoffs: BlockCutoffs[]): ResultDocument => ({
  ...of(buildBlocks(blockBytes, 16, 55, { batch: [10, 100], kernel: [30, 5] }), {
    devices: [0, 1, 3].map((ordinal) => buildDevice({ ordinal })),
  }),
  blockCutoffs,
});
const withLarger = (one: BlockCutoffs): BlockCutoffs => ({
  ...one,
  sizes: [...one.sizes, { blockBytes: 512 * KiB, fastest: "batch", isCertain: true }],
});
const two = [changing(28, 32), changing(512, 640)] as const;
const gatherFirst = {
  leastBytes: 4 * KiB,
  mostBytes: 8 * KiB,
  bytes: 6 * KiB,
  below: "gather",
  above: "kernel",
} as const;
const cutoffs: Situation[] = (
  [
    ["of a search that has no size yet", []],
    [
      "of both directions and two counts, one of them open",
      [
        changing(48, 80),
        changing(28, 32, { blockCount: 256 }),
        changing(14, 16, d2h),
        same(["batch"], { ...d2h, blockCount: 256 }, false),
      ],
    ],
    ["with an additional size", [withLarger(changing(28, 32))]],
    ["of each kind of memory, and settings for pinned", [changing(28, 32, pageable), changing(48, 80)]],
    ["of pageable memory alone, without settings", [changing(28, 32, pageable)]],
    [
      "of each number of workers, with the settings of the first",
      [changing(28, 32), changing(48, 80, { workers: 2, blockCount: 256 })],
    ],
    [
      "of each device, with the settings of the first",
      [changing(28, 32, { device: 1 }), changing(48, 80, { device: 3, blockCount: 256 })],
    ],
    [
      "of which one count has two, and the other none",
      [
        same(["loop"], { blockCount: 1 }),
        {
          ...two[0],
          sizes: [...two[0].sizes, ...two[1].sizes],
          cutoffs: [...two[0].cutoffs, ...two[1].cutoffs],
        },
      ],
    ],
    ["of most blocks", [changing(28, 32), changing(24, 40, { blockCount: 256 })]],
    ["none: a kernel everywhere", [same(["kernel"])]],
    ["none: a loop everywhere", [same(["loop"])]],
    ["none: gathering everywhere, for which servers have no setting", [same(["gather"])]],
    ["none: nothing is certain", [same(["kernel"], {}, false)]],
    ["none: a kernel, and a batch at a larger size", [withLarger(same(["kernel"]))]],
    ["none: a kernel and gathering by turns", [same(["kernel", "gather"])]],
    ["none: a loop and gathering by turns", [same(["loop", "gather"])]],
    ["none: a loop and a batch by turns, both of them direct", [same(["loop", "batch"])]],
    ["from the device alone, without vLLM's setting", [changing(14, 16, d2h)]],
    [
      "of which the first is between other ways, and skipped by settings",
      [{ ...changing(48, 80), cutoffs: [gatherFirst, ...changing(48, 80).cutoffs] }],
    ],
  ] as [string, BlockCutoffs[]][]
).map(([name, columns]): Situation => [`cut-offs ${name}`, searched(...columns)]);

const [record] = buildColdStart().pinning;
const refusing = [{}, { registered: "not supported" }, { registered: "not supported", pinned: "too large" }];
const coldStarts: Situation[] = (
  [
    ["costs without memory", [{ pinning: [] }]],
    [
      "costs that one direction does not make up for",
      [
        {
          pinning: [
            { ...record!, payOff: { pinned: { h2d: 3, d2h: 1 }, registered: { h2d: 0, d2h: null } } },
          ],
        },
      ],
    ],
    [
      "costs of what was refused, each reason once",
      [
        {
          pinning: refusing.map((refusals, i) => ({
            ...record!,
            sizeBytes: 2 ** i * MiB,
            registered: null,
            refusals,
          })),
        },
      ],
    ],
    [
      "costs of each device by its number",
      [
        { device: 1, initNs: 1e8 },
        { device: 2, initNs: 3e8 },
      ],
    ],
  ] as [string, Partial<ColdStart>[]][]
).map(([name, parts]): Situation => [name, of([], { devices, coldStart: parts.map(buildColdStart) })]);

function gridLines({ caption = "", columns, labels = 1, rows, footnote }: Grid): string[] {
  const heads = headTexts(columns).map((head, i) => head + (columns[i]!.align === "right" ? ">" : ""));
  return [
    `## ${caption}`,
    `${heads.slice(0, labels).join(" | ")} || ${heads.slice(labels).join(" | ")}`,
    ...rows.map((row) =>
      row
        .map(({ text, note, tone }) => `${text} ${note}`.trim() + (tone === "plain" ? "" : ` [${tone}]`))
        .join(" | ")
        .trim(),
    ),
    ...(footnote === undefined ? [] : [`(${footnote})`]),
  ];
}

/** All tables but those of findings. */
function tableLines(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => {
    if (block.type === "table")
      return block.grid.caption?.startsWith("Findings") ? [] : gridLines(block.grid);
    if (block.type === "section")
      return [
        `[${block.title}]`,
        ...block.blocks.flatMap((one) => ("text" in one ? one.text.split("\n") : tableLines([one]))),
      ];
    return [];
  });
}

describeSituations("tables", [...plain, ...controls, ...variants, ...inBlocks, ...coldStarts], (document) => {
  const { blocks, brief } = reportOf(resultKind, document);
  const inBrief = tableLines(brief!.blocks.filter((block) => !blocks.includes(block)));
  return [...tableLines(blocks), ...(inBrief.length === 0 ? [] : ["in brief:", ...inBrief])];
});
describeSituations("cutoffs", cutoffs, (document) => [
  ...cutoffGrids(document).flatMap(gridLines),
  ...(serverConstants(document)?.split("\n") ?? []),
  ...sentencesOf(document).filter((text) => text.includes("blocks")),
]);

it("pinbench help terms explains every word in tables of scattered blocks", () => {
  const words = inBlocks
    .slice(0, 4)
    .flatMap(([, document]) =>
      cellGrids(document).flatMap(({ columns, rows }) => [...headTexts(columns), rows[0]![2]!.text]),
    );
  const named = words.filter((word) => !/^[\d.-]*$/.test(word));
  expect(named).toContain("gather");
  expect(named.filter((word) => termsNamed(word).length === 0)).toEqual([]);
});

it("no ratio is shown relative to a rate of 0", () => {
  expect(tableLines(reportOf(resultKind, of(pair(0, 50))).blocks)[2]).toContain(" | - ");
});

it("results without a search for block cut-offs have no server settings to paste", () => {
  expect(serverConstants(of(twoSizes))).toBeNull();
});

it("a search for block cut-offs has server settings to paste, and a table of rates only with --all", () => {
  const document = searched(changing(28, 32));
  expect(drawn(resultKind, document, "markdown")).toContain("THRESHOLD_BYTES = 30 * 1024");
  const rates = /in scattered blocks, GB\/s/;
  expect(drawn(resultKind, document, "table", fileScreen({ showsAll: false }))).not.toMatch(rates);
});

it("the CSV has the CPU time of a scattered block as a figure of its own", () => {
  const lines = drawn(resultKind, of(twoSizes), "csv").split("\n");
  expect(lines.filter((line) => line.includes("CPU time of a block"))[0]).toMatch(
    /\/blocks-4096-loop,CPU time of a block,,2850,2838\.03,2860\.83,/,
  );
});
