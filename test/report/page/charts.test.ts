import type { Axis, Chart, ChartPoint } from "../../../src/draw/chart/chart.js";
import { resultPictures } from "../../../src/report/page/result-charts.js";
import type { CellResult } from "../../../src/results/cell-schema.js";
import { blockCells, buildBlocks } from "../../helpers/blocks.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
  ofFiveProcesses,
  sweepCells,
} from "../../helpers/result-document.js";
import { describeSituations, pair, type Situation } from "../situations.js";

const d2h = { direction: "d2h" } as const;
const pageable = { memory: "pageable" } as const;
const asProcess = { workerKind: "process" } as const;
const devicesOf = (...ordinals: number[]) => ({
  devices: ordinals.map((ordinal) => buildDevice({ ordinal })),
});
const both = (h2d: number, back: number) =>
  ({ direction: "bidir", GBps: { h2d, d2h: back, sum: h2d + back } }) as const;
const latency = (median: number, part: CellPart = {}) =>
  buildCell({ mode: "latency", GBps: 1, latencyUs: { median, p99: 4 * median }, ...part });
/** The same cell at 64 KiB, 1 MiB and so on, or by 1, 2, 4 workers. */
const bySize = (part: CellPart, rates: number[]) =>
  rates.map((GBps, i) => buildCell({ GBps, ...part, sizeBytes: 64 * KiB * 16 ** i }));
const byWorkers = (part: CellPart, rates: number[]) =>
  rates.map((GBps, i) => buildCell({ GBps, ...part, workers: 2 ** i }));
const between = (device: number, peer: number, part: CellPart = {}) =>
  ({ direction: "p2p", memory: "device", path: "write", device, peer, ...part }) as const;
const pairsOf = (count: number) =>
  Array.from({ length: count * count }, (_, i) => [Math.floor(i / count), i % count] as const).filter(
    ([device, peer]) => device !== peer,
  );
/** Latencies of both ways at once, each with a median of its own. */
function bothLatencies(h2d: number, back: number, part: CellPart = {}) {
  const cell = buildCell({
    mode: "latency",
    latencyUs: { median: h2d, p99: 2 * h2d },
    ...both(1, 1),
    ...part,
  });
  Object.assign(cell.stats[1]!, {
    latencyUs: { ...buildDistribution(back), p90: 1.5 * back, p99: 2 * back },
  });
  return { ...cell, stats: cell.stats.slice(0, 2) };
}
const memories = [
  "pageable",
  "staged",
  "pinned",
  "registered",
  "write-combined",
  "mapped",
  "system",
] as const;
const at = (memoryNode: number, GBps: number, part: CellPart = {}) =>
  buildCell({ memoryNode, cpuNode: memoryNode, GBps, ...part });
const chunked = (chunks: number, GBps: number, part: CellPart = {}) =>
  buildCell({ chunks, GBps, ...part, result: { computeNs: 2e6 } });

const unique = (cells: CellResult[]) => [...new Map(cells.map((cell) => [cell.id, cell])).values()];

const situations: Situation[] = (
  [
    ["a default sweep", sweepCells(), { coldStart: [buildColdStart()] }],
    [
      "curves of two kinds, one without intervals",
      [...bySize({}, [18, 48]), ...bySize({ ...pageable, relativeHalfWidth: null }, [9, 21])],
    ],
    [
      "curves of the fewest workers that have two sizes",
      [...pair(10, 50), ...bySize({ workers: 2 }, [20, 40])],
    ],
    ["curves described from the highest end", [...bySize(pageable, [20, 11]), ...bySize({}, [10, 50])]],
    ["curves of both ways at once, against twice the link", bySize(both(40, 41), [1, 1])],
    ["curves within a device, without a limit", bySize({ direction: "d2d", memory: "device" }, [1000, 2000])],
    [
      "curves of an unfinished run, hollow where it ended",
      bySize({}, [18, 48]).map((cell, i) => (i === 0 ? cell : { ...cell, outcome: null })),
      { run: { status: "aborted" } },
    ],
    [
      "curves by device and cache state",
      [{}, { cache: "warm" }].flatMap((part, i) =>
        bySize({ device: 1, ...(part as CellPart) }, [18 + i, 48 + i]),
      ),
      devicesOf(0, 1),
    ],
    [
      "curves of threads, apart from latencies",
      [
        ...bySize({}, [50, 51]),
        ...bySize(asProcess, [10, 11]),
        ...[MiB, 2 * MiB].map((sizeBytes, i) => latency(10 + i, { sizeBytes })),
      ],
    ],
    [
      "curves of latencies both ways at once, each with its own",
      [MiB, 2 * MiB].map((sizeBytes, i) => bothLatencies(10 + i, 30 + i, { sizeBytes })),
    ],
    [
      "curves of which six are described, and one did not converge",
      memories.flatMap((memory, i) =>
        bySize({ memory, result: { outcome: i === 0 ? "budget" : "converged" } }, [49 - i, 50 - i]),
      ),
    ],
    ["bars of one size in both directions", [...pair(10.6, 55.4), ...pair(10.7, 55.3, d2h)]],
    [
      "bars of the fewest threads, without the host's copies, by device and cache state",
      [
        ...[
          latency(10, { device: 1 }),
          buildCell({ device: 1, GBps: 55 }),
          buildCell({ device: 1, workers: 2, GBps: 60 }),
          buildCell({ device: 1, ...asProcess, GBps: 70 }),
        ],
        ...[
          buildCell({ device: 1, memory: "host", GBps: 12 }),
          buildCell({ device: 0, GBps: 54 }),
          buildCell({ device: 0, GBps: 53, cache: "warm" }),
        ],
      ],
      devicesOf(0, 1),
    ],
    [
      "bars of which sixteen are described",
      memories
        .slice(0, 6)
        .flatMap((memory, i) => [
          buildCell({ memory, GBps: 50 + i }),
          buildCell({ memory, ...d2h, GBps: 40 + i }),
          buildCell({ memory, ...both(30 + i, 31) }),
        ]),
    ],
    [
      "curves by threads and by processes",
      [...byWorkers(pageable, [10, 11, 12]), ...byWorkers({ ...pageable, ...asProcess }, [10, 20, 40])],
    ],
    ["curves by processes alone", byWorkers(asProcess, [10, 20])],
    [
      "curves by workers of the largest size, and of the one that gains most",
      [
        ...byWorkers({ sizeBytes: MiB }, [10, 20, 40]),
        ...byWorkers({ sizeBytes: 64 * KiB }, [10, 20, 38]),
        ...byWorkers({ sizeBytes: 64 * MiB }, [50, 55, 55.1]),
      ],
    ],
    [
      "curves by workers of the largest size alone, where others gain hardly more",
      [...byWorkers({ sizeBytes: MiB }, [10, 21]), ...byWorkers({ sizeBytes: 2 * MiB }, [10, 20])],
    ],
    ["curves by workers of both ways at once", byWorkers(both(20, 21), [1, 1])],
    ["no curves of latencies by workers", [1, 2].map((workers) => latency(10, { workers }))],
    ["the gain of pinned memory, of one process", [...bySize({}, [40, 50]), ...bySize(pageable, [20, 10])]],
    [
      "the gain of pinned memory, of five processes",
      [...bySize({}, [40, 50]), ...bySize(pageable, [20, 10])].map(ofFiveProcesses),
    ],
    [
      "the gain of pinned memory without intervals",
      [...bySize({ relativeHalfWidth: null }, [40, 50]), ...bySize(pageable, [20, 10])],
    ],
    [
      "the gain of pinned memory by device, of rates by the fewest workers that have a curve",
      [
        ...[MiB, 2 * MiB].flatMap((sizeBytes) => [
          latency(10, { sizeBytes, workers: 2 }),
          latency(30, { sizeBytes, workers: 2, ...pageable }),
        ]),
        ...[
          ...bySize({ workers: 2 }, [50, 51]),
          ...bySize({ workers: 2, ...pageable }, [10, 11]),
          ...bySize({ workers: 4 }, [50, 52]),
          ...bySize({ workers: 4, ...pageable }, [25, 26]),
        ],
        ...[
          buildCell({ GBps: 50 }),
          ...bySize({ device: 1 }, [50, 51]),
          ...bySize({ ...pageable, device: 1 }, [5, 6]),
        ],
      ],
      devicesOf(0, 1),
    ],
    [
      "costs of memory by device, each direction its own",
      [],
      {
        ...devicesOf(0, 1),
        coldStart: [0, 1].map((device) => {
          const costs = buildColdStart({ device });
          const payOff = { pinned: { h2d: 2 + device, d2h: 7 + device }, registered: { h2d: 0, d2h: 0 } };
          return { ...costs, pinning: costs.pinning.map((record) => ({ ...record, payOff })) };
        }),
      },
    ],
    [
      "costs of memory of which one size is left out",
      [],
      {
        coldStart: [buildColdStart()].map((costs) => ({
          ...costs,
          pinning: [...costs.pinning, { ...costs.pinning[1]!, sizeBytes: 1024 * MiB, payOff: undefined }],
        })),
      },
    ],
    [
      "devices at once, against each alone",
      [
        [1, 50, 40],
        [3, 40, 14],
      ].flatMap(([device, alone, atOnce]) => [
        buildCell({ device: device!, GBps: alone! }),
        buildCell({ device: device!, together: [1, 3], GBps: atOnce! }),
      ]),
      devicesOf(1, 3),
    ],
    [
      "devices at once, without each alone",
      [40, 14].map((GBps, i) => buildCell({ device: 2 * i + 1, together: [1, 3], GBps })),
      devicesOf(1, 3),
    ],
    [
      "devices at once, of the largest size of threads",
      [0, 1].flatMap((device) => [
        ...[
          buildCell({ device, GBps: 50 }),
          buildCell({ device, together: [0, 1], GBps: 40 + device }),
          buildCell({ device, together: [0, 1], sizeBytes: MiB, GBps: 9 }),
        ],
        buildCell({ device, together: [0, 1], sizeBytes: 64 * MiB, ...asProcess, GBps: 8 }),
      ]),
      devicesOf(0, 1),
    ],
    [
      "devices at once by two sets, of which the second has a number",
      [0, 1].flatMap((device) => [
        buildCell({ device, together: [0, 1], ...asProcess, GBps: 50 }),
        buildCell({ device, together: [0, 1, 2], ...asProcess, GBps: 40 }),
      ]),
      devicesOf(0, 1, 2),
    ],
    [
      "latencies of devices at once both ways",
      [0, 1].flatMap((device) => [
        bothLatencies(2.341, 3, { device }),
        bothLatencies(4.682, 5, { device, together: [0, 1] }),
      ]),
      devicesOf(0, 1),
    ],
    [
      "bars of pairs in order, and a chart for their latencies",
      [
        ...pairsOf(3).flatMap(([device, peer], i) =>
          (["write", "read"] as const).map((path) =>
            buildCell({ ...between(device, peer, { path }), GBps: 390 + i }),
          ),
        ),
        latency(9, between(0, 1)),
      ],
      devicesOf(0, 1, 2),
    ],
    [
      "memory of NUMA nodes, with the CPUs near to it",
      [
        at(1, 33, { together: [0, 1] }),
        at(1, 34),
        at(0, 55),
        at(0, 12, pageable),
        at(0, 5, { ...pageable, cpuNode: 1 }),
        at(0, 54, { device: 1 }),
      ],
      devicesOf(0, 1),
    ],
    [
      "memory of NUMA nodes, by cache state",
      (["cold", "warm"] as const).flatMap((cache) => [0, 1].map((node) => at(node, 50 - node, { cache }))),
    ],
    [
      "copies beside loads",
      [
        buildCell({ GBps: 50 }),
        buildCell({ beside: "host", GBps: 25 }),
        buildCell({ beside: "compute", GBps: 49 }),
        buildCell({ ...d2h, GBps: 40 }),
        buildCell({ ...d2h, beside: "host", GBps: 20 }),
      ],
    ],
    [
      "copies both ways beside loads, rates apart from latencies, without the host's copies",
      [
        buildCell(both(40, 40)),
        buildCell({ ...both(20, 30), beside: "memory" }),
        buildCell({ ...both(10, 10), beside: "memory", memory: "host" }),
        bothLatencies(10, 11, { beside: "memory" }),
      ],
    ],
    [
      "batches in chunks, with their gain over one chunk",
      [
        ...[buildCell({ GBps: 50 }), chunked(1, 25), chunked(4, 40), chunked(2, 30)],
        ...[buildCell({ ...pageable, GBps: 20 }), chunked(4, 10, pageable)],
      ],
    ],
    [
      "a batch whose rate may be next to nothing has no interval",
      [chunked(4, 40, { relativeHalfWidth: 0.9999 })],
    ],
    ["blocks by their size", blockCells()],
    [
      "blocks both ways at once",
      [4 * KiB, MiB].flatMap((bytes) =>
        buildBlocks(bytes, 256, 90, { loop: [2.6, 3100] }, { direction: "bidir" }),
      ),
    ],
    [
      "blocks of the fewest workers",
      [2, 1].flatMap((workers) =>
        [4 * KiB, MiB].flatMap((bytes) =>
          buildBlocks(bytes, 256, 50 + workers, { loop: [workers, 3100] }, { workers }),
        ),
      ),
    ],
    ["no chart of blocks of a single size", buildBlocks(4 * KiB, 4096, 55, { loop: [1.4, 2800] })],
    [
      "blocks by device and number of blocks",
      [0, 1].flatMap((device) =>
        [256, 512].flatMap((count) =>
          [4 * KiB, 8 * KiB].flatMap((bytes) =>
            buildBlocks(bytes, count, 50 + device, { loop: [count / 64, 100] }, { device }),
          ),
        ),
      ),
      devicesOf(0, 1),
    ],
  ] as [string, CellResult[], DocumentPart?][]
).map(([name, cells, part]) => [name, buildDocument({ cells: unique(cells), ...part })]);
situations.push([
  "curves of the emulated device, without a limit",
  buildEmulatedDocument({ cells: bySize({}, [5, 9]) }),
]);

const figure = (value: number | null) => (value === null ? "none" : String(Number(value.toPrecision(4))));
const axisText = ({ label, scale, includes, ticks }: Axis) =>
  [
    label,
    scale,
    includes === undefined ? "" : `with ${includes.map(figure)}`,
    ticks === undefined ? "" : `marks ${ticks}`,
  ]
    .filter(Boolean)
    .join(", ");
const pointText = ({ x, y, low, high, text, isOpen }: ChartPoint) =>
  `  ${x} -> ${figure(y)} (${figure(low)} to ${figure(high)})${isOpen ? " open" : ""}: ${text}`;

function chartLines(chart: Chart): string[] {
  const head = [`## ${chart.name}: ${chart.title}`, `(${chart.description})`];
  if (chart.kind === "curves")
    return [
      ...head,
      `across: ${axisText(chart.x)}; up: ${axisText(chart.y)}`,
      ...chart.rules.map(({ axis, value, label }) => `rule at ${axis} ${figure(value)}: ${label}`),
      ...chart.curves.flatMap(({ name, style, isJoined, points }) => [
        `${name}, style ${style}${isJoined ? "" : ", not joined"}`,
        ...points.toSorted((one, other) => one.x - other.x).map(pointText),
      ]),
    ];
  if (chart.kind !== "bars") return head;
  return [
    ...head,
    `along: ${axisText(chart.value)}`,
    ...chart.groups.flatMap(({ name, style, bars }) => [
      `${name}, style ${style}`,
      ...bars.map(
        ({ name, value, low, high, text }) =>
          `  ${name}: ${text} = ${figure(value)} (${figure(low)} to ${figure(high)})`,
      ),
    ]),
  ];
}

/** The order of curves and groups, and with it their styles and descriptions, is that of the cells. */
const inAnyOrder = (lines: string[]) =>
  lines
    .filter((line) => !line.startsWith("("))
    .map((line) => line.replace(/, style \d+/, ""))
    .toSorted();

describeSituations(
  "charts",
  situations,
  (document) => resultPictures(document).charts.flatMap(chartLines),
  inAnyOrder,
);
