import type { CellResult } from "../../src/results/cell-schema.js";
import { type BlockRates, blockCells, buildBlocks } from "../helpers/blocks.js";
import {
  buildCell,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
  buildSkipped,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";
import { describeSituations, pair, type Situation, sentencesOf } from "./situations.js";

/** Copies at once, beside a load, in chunks, between devices and in scattered blocks. */

/** Bare metal, where each device has a root port of its own and two share a switch. */
const upstreamPaths = [
  ["pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"],
  ["pci0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:01.0"],
  ["pci0000:80", "0000:80:01.0"],
];
const noLink = { link: null, linkLimitGBps: null } as const;
const devices = upstreamPaths.map((upstreamPath, ordinal) =>
  buildDevice({ ordinal, upstreamPath, numaNode: 0, ...noLink }),
);
const host = { virtualization: null };

/** Of five processes, whose intervals hold as they are; of one process, others would find wider ones. */
const sure = (cells: CellResult[], part: DocumentPart = {}) => one(cells.map(ofFiveProcesses), part);
const one = (cells: CellResult[], part: DocumentPart = {}) =>
  buildDocument({
    devices,
    host,
    cells: [...new Map(cells.map((cell) => [cell.id, cell])).values()],
    ...part,
  });
const single = { devices: devices.slice(0, 1) };

const d2h = { direction: "d2h" } as const;
const pageable = { memory: "pageable" } as const;
const bidir = (h2d: number, back = h2d) =>
  ({ direction: "bidir", GBps: { h2d, d2h: back, sum: h2d + back } }) as const;

/** The cell on each device alone and on all at once, with a rate each. */
const together = (alone: readonly number[], atOnce: readonly number[], part: CellPart = {}) =>
  alone.flatMap((rate, device) => [
    buildCell({ GBps: rate, ...part, device }),
    buildCell({ GBps: atOnce[device]!, ...part, device, together: alone.map((_, ordinal) => ordinal) }),
  ]);
const bothAtOnce = (part: CellPart) =>
  [0, 1, 2].flatMap((device) => [
    buildCell({ ...bidir(50), ...part, device }),
    buildCell({ ...bidir(device === 1 ? 25 : 50), ...part, device, together: [0, 1, 2] }),
  ]);
const usual = together([50, 50, 50], [25, 25, 25]);
const latency = (median: number, part: CellPart = {}) =>
  buildCell({
    mode: "latency",
    GBps: 1,
    latencyUs: { median, p99: 2 * median },
    sizeBytes: 4 * KiB,
    ...part,
  });

const atOnce: Situation[] = [
  [
    "at once, device 1 suffers, and shares a switch and a node",
    sure(together([55, 55, 55], [54.9, 27.5, 55])),
  ],
  ["at once, two devices suffer alike, and one less", sure(together([55, 55, 55], [27.5, 27.75, 49.5]))],
  ["at once, all lose alike", sure(together([55, 55, 55], [44, 44, 44]))],
  ["at once, none loses", sure(together([55, 55, 55], [55, 55, 54.9]))],
  ["at once, one process shows nothing of a small loss", one(together([8, 8, 8], [7.5, 8, 8], pageable))],
  [
    "at once, one wide interval leaves all open",
    sure(
      together([50, 50], [50, 50]).map((cell) =>
        cell.device === 0 ? cell : buildCell({ ...cell, GBps: 49, relativeHalfWidth: 0.3 }),
      ),
    ),
  ],
  [
    "at once, both directions in one line, and both ways in another",
    sure([
      ...together([55, 55, 55], [55, 27.5, 55]),
      ...together([55, 55, 55], [55, 33, 55], d2h),
      ...bothAtOnce({}),
    ]),
  ],
  [
    "at once both ways, only the way to the device suffers",
    sure([
      ...together([55, 55], [55, 55]),
      ...[0, 1].flatMap((device) => [
        buildCell({ device, ...bidir(50) }),
        buildCell({ device, ...bidir(30, 50), together: [0, 1] }),
      ]),
    ]),
  ],
  [
    "at once, sysfs does not show what devices share",
    sure(together([55, 55, 55], [55, 27.5, 55]), {
      devices: devices.map((device) => ({ ...device, upstreamPath: null, numaNode: null })),
    }),
  ],
  [
    "at once, a failed cell leaves nothing to say",
    sure(
      together([55, 55], [55, 27]).map((cell) =>
        cell.device === 1 && cell.together !== undefined ? { ...cell, outcome: "failed" as const } : cell,
      ),
    ),
  ],
  [
    "at once, latencies are left to the tables",
    sure([0, 1].map((device) => latency(10, { device, together: [0, 1] }))),
  ],
  ...(
    [
      ["as many devices as possible", together([50, 50], [49, 49])],
      [
        "pinned memory rather than larger copies",
        together([40, 41, 42], [10, 10, 10], { ...pageable, sizeBytes: 64 * MiB }),
      ],
      ["the largest size", together([40, 41, 42], [10, 10, 10], { sizeBytes: MiB })],
      ["threads", together([40, 41, 42], [36, 37, 38], { workerKind: "process" })],
      ["the fastest number of workers", together([40, 41, 42], [10, 10, 10], { workers: 2 })],
      [
        "all of the devices that copied",
        together([40, 41, 42, 43], [10, 10, 10, 10], { sizeBytes: 64 * MiB }).slice(0, -1),
      ],
    ] as [string, CellResult[]][]
  ).map(
    ([name, others]): Situation => [
      `at once, each keeps about 50 %, of ${name}`,
      sure([...usual, ...others], { devices: [...devices, buildDevice({ ordinal: 3, ...noLink })] }),
    ],
  ),
  [
    "at once, on the emulated device, which is no GPU",
    buildEmulatedDocument({
      cells: together([9, 9], [4, 4]).map(ofFiveProcesses),
      devices: devices.slice(0, 2),
      host,
    }),
  ],
];

const load = (kept: number, halfWidth = 0.004, unit: "GB/s" | "GFLOP/s" = "GB/s") => ({
  load: {
    ...{ unit, alone: buildDistribution(2000), during: buildDistribution(2000 * kept) },
    keptShare: { ...buildDistribution(kept, halfWidth), processMedians: Array(5).fill(kept) },
  },
});
const beside = (alone: number, loaded: number, kept = 1, part: CellPart = {}) => [
  buildCell({ GBps: alone, ...part, beside: undefined }),
  buildCell({ GBps: loaded, beside: "memory", ...part, result: load(kept) }),
];
const besideOf = (
  cells: CellResult[],
  change: (kept: NonNullable<CellResult["load"]>["keptShare"]) => object,
) =>
  cells.map((cell) =>
    cell.load == null
      ? cell
      : {
          ...cell,
          load: { ...cell.load, keptShare: { ...cell.load.keptShare, ...change(cell.load.keptShare) } },
        },
  );

const besideLoads: Situation[] = [
  [
    "beside a load, both kinds lose and the load does not",
    sure([...beside(14.2, 10.6, 1, pageable), ...beside(55.3, 53.9)]),
  ],
  [
    "beside a load, the load loses beside either kind",
    sure([...beside(14, 7, 0.8, pageable), ...beside(55, 55, 0.95)]),
  ],
  [
    "beside a load, one process shows nothing of a small loss",
    one(
      besideOf(beside(14, 13.5, 0.97, pageable), () => ({ processMedians: undefined })),
      single,
    ),
  ],
  [
    "beside a load that may have come to nothing",
    sure(besideOf(beside(55, 27.5), () => ({ median: 0.2, min: 0, max: 1, low: 0, high: 1 }))),
  ],
  [
    "beside a load that loses nothing for certain",
    sure([beside(50, 25)[0]!, { ...beside(50, 25)[1]!, ...load(0.99, 0.02) }]),
  ],
  [
    "the answer is beside the load that costs most: the host's memory",
    sure(
      [
        buildCell({ GBps: 50 }),
        buildCell({ beside: "compute", GBps: 49 }),
        buildCell({ beside: "host", GBps: 20 }),
      ],
      single,
    ),
  ],
  [
    "the answer is beside the load that costs most: arithmetic",
    sure(
      [
        buildCell({ GBps: 50 }),
        buildCell({ beside: "compute", GBps: 10 }),
        buildCell({ beside: "memory", GBps: 40 }),
      ],
      single,
    ),
  ],
  [
    "the answer is beside the load that costs most, in whatever direction",
    sure(
      (
        [
          [{}, 50, 40],
          [d2h, 20, 55],
        ] as const
      ).flatMap(([part, compute, memory]) => [
        ...[buildCell({ ...part, GBps: 55 }), buildCell({ ...part, beside: "compute", GBps: compute })],
        buildCell({ ...part, beside: "memory", GBps: memory }),
      ]),
    ),
  ],
  [
    "each load has a line, beside the three on plain copies",
    sure([
      ...(["pageable", "staged", "pinned"] as const).flatMap((memory) =>
        [1, 2].map((workers) => buildCell({ memory, workers, GBps: 55 })),
      ),
      ...(["compute", "memory", "host"] as const).map((name) =>
        buildCell({ beside: name, GBps: 27.5, result: load(1) }),
      ),
    ]),
  ],
  ...(
    [
      ["the largest size", { sizeBytes: MiB }],
      ["the fewest workers", { workers: 4 }],
      ["the first device", { device: 1 }],
    ] as [string, CellPart][]
  ).map(
    ([name, part]): Situation => [
      `beside a load, pinned keeps about 50 %, of ${name}`,
      sure([...beside(50, 25), ...beside(49, 10, 1, part)]),
    ],
  ),
];

const chunked = (rates: Record<number, number>, part: CellPart = {}) =>
  Object.entries(rates).map(([chunks, GBps]) => buildCell({ ...part, chunks: Number(chunks), GBps }));
const inChunks: Situation[] = [
  [
    "in chunks, pinned gains in 16 of them, and pageable does not",
    sure([...chunked({ 1: 33, 4: 46, 16: 52.1 }), ...chunked({ 1: 6.9, 4: 6.91, 16: 6.4 }, pageable)]),
  ],
  ["in chunks, pageable takes longer", sure(chunked({ 1: 6.9, 4: 5, 16: 3 }, pageable))],
  ["in chunks, one process shows nothing of a small gain", one(chunked({ 1: 6.9, 16: 7.2 }, pageable))],
  ["in chunks, nothing is said without the one that they are held against", sure(chunked({ 4: 46, 16: 52 }))],
  [
    "in chunks, the largest size in its fastest number of them",
    sure(
      [
        ...chunked({ 1: 10, 4: 30 }, { sizeBytes: MiB }),
        ...chunked({ 1: 10, 4: 15, 16: 20 }, { sizeBytes: 2 * MiB }),
      ],
      single,
    ),
  ],
  [
    "the answer has the lines on a load and on chunks, which are then no closing lines",
    sure(
      [buildCell({ GBps: 50 }), buildCell({ beside: "memory", GBps: 20 }), ...chunked({ 1: 20, 4: 80 })],
      single,
    ),
  ],
  [
    "the lines on plain copies are of plain cells alone",
    sure([
      ...pair(10, 30),
      buildCell({ beside: "memory", GBps: 10 }),
      buildCell({ chunks: 4, GBps: 5 }),
      buildCell({ together: [0, 1], GBps: 15 }),
      buildCell({ workers: 2, workerKind: "process", GBps: 1 }),
    ]),
  ],
];

const between = (device: number, peer: number, GBps: number, part: CellPart = {}) =>
  buildCell({ direction: "p2p", memory: "device", path: "write", device, peer, GBps, ...part });
const throughHost = { path: "through-host" } as const;
const refused = (device: number, peer: number, path: "write" | "read" = "write") =>
  buildSkipped({ direction: "p2p", memory: "device", device, peer, path }, "no access");
const p2pLatency = (median: number, part: CellPart = {}) =>
  between(0, 1, 1, { mode: "latency", latencyUs: { median, p99: 2 * median }, sizeBytes: 4 * KiB, ...part });
const betweenDevices: Situation[] = [
  [
    "between devices, direct access gains over the host, and one pair is slowest",
    sure([between(0, 1, 390), between(1, 0, 195), between(0, 1, 20, throughHost)]),
  ],
  [
    "between devices, no gain over the host that another process would deny",
    sure([between(0, 1, 20), between(0, 1, 20, throughHost)]),
  ],
  ["between devices, all pairs are alike", sure([between(0, 1, 390), between(1, 0, 390.5)])],
  ["between devices, one pair has no access", sure([between(0, 1, 390), refused(0, 2)])],
  ["between devices, all go through the host", sure([between(0, 2, 20, throughHost), refused(0, 2)])],
  [
    "between devices, through the host was measured, and nothing refused",
    sure([between(0, 1, 20, throughHost)]),
  ],
  [
    "between devices, the largest size by the fewest workers",
    sure([between(0, 1, 20, { sizeBytes: MiB }), between(0, 1, 30, { workers: 4 }), between(0, 1, 390)]),
  ],
  [
    "between devices, each pair gains over its own way through the host",
    sure([
      between(0, 1, 100),
      between(1, 0, 200),
      between(1, 0, 20, throughHost),
      between(0, 1, 20, throughHost),
    ]),
  ],
  [
    "between devices, one pair gains nothing over the host",
    sure([
      between(0, 1, 100),
      between(1, 0, 200),
      between(0, 1, 20, throughHost),
      between(1, 0, 210, throughHost),
    ]),
  ],
  [
    "between devices, a pair that one path reached was not refused",
    sure([between(0, 1, 390), refused(0, 1, "read"), refused(1, 0, "read")]),
  ],
  [
    "between devices, latencies are of the smallest copy by the fewest workers",
    sure([p2pLatency(30, { workers: 4 }), p2pLatency(10), p2pLatency(700, { sizeBytes: MiB })]),
  ],
  [
    "between devices, latencies are from the quickest pair to the slowest, directly",
    sure([p2pLatency(10), p2pLatency(12, { device: 1, peer: 0 }), p2pLatency(15, throughHost)]),
  ],
];

/** Copies to the device, of 256 MiB each: GB/s of a loop and of the other ways at 4 KiB, 64 KiB and 1 MiB. */
const sizes = (rates: readonly BlockRates[], part: CellPart = {}) =>
  rates.flatMap((ofSize, i) => {
    const bytes = [4 * KiB, 64 * KiB, MiB][i]!;
    const onePiece = part.memory === "pageable" ? 10.8 : 55.4;
    return buildBlocks(bytes, (256 * MiB) / bytes, onePiece - (part.workers ?? 1) / 10, ofSize, part);
  });
/** Rates of a loop beside a kernel of 50 GB/s. */
const loops = (...rates: number[]) => sizes(rates.map((rate) => ({ loop: [rate, 900], kernel: [50, 5] })));
const small = (rates: BlockRates) => sizes([{ loop: [1.4, 2800], ...rates }]);
/** A way at two sizes of blocks, alone and beside arithmetic, and what it and the load keep of their rates. */
const blocksBeside = (way: keyof BlockRates, ofCopies: number[], ofLoad: number[], part: CellPart = {}) =>
  [4 * KiB, 64 * KiB].flatMap((bytes, i) => {
    const cells = (GBps: number, more: CellPart) =>
      buildBlocks(bytes, 1024, 55, { [way]: [GBps, 900] as const }, { ...part, ...more }).slice(1);
    return [
      ...cells(20, {}),
      ...cells(20 * ofCopies[i]!, { beside: "compute", result: load(ofLoad[i]!, 0.004, "GFLOP/s") }),
    ];
  });
const alone = buildBlocks(4 * KiB, 1024, 55, { loop: [54, 900] });
const loaded = buildBlocks(4 * KiB, 1024, 55, { loop: [43.2, 900] }, { beside: "compute" })[1]!;
const kernelBeside = (kept: number, part: CellPart) =>
  buildBlocks(4 * KiB, 16, 50, { kernel: [20, 9] }, { ...part, result: load(kept) }).slice(1);

const inBlocks: Situation[] = (
  [
    [
      "a loop is enough from 1 MiB on",
      sizes([
        { loop: [1.4, 2800], kernel: [49, 5] },
        { loop: [16, 2800], batch: [38, 1700], kernel: [50, 5] },
        { loop: [50, 19000], batch: [54, 2700] },
      ]),
    ],
    [
      "a loop is the fastest everywhere",
      sizes([4, 5, 6].map((ns): BlockRates => ({ loop: [54, 900], batch: [50, 900 + ns] }))),
    ],
    ["a loop reaches the least of all sizes, about 90 %", loops(50, 45, 50)],
    [
      "a loop is held against a batch that may be faster than the kernel",
      [
        ...sizes([{ loop: [45, 900], kernel: [50, 5] }]),
        ...sizes([{ batch: [49, 900] }], { relativeHalfWidth: 0.08 }).slice(1),
      ],
    ],
    ["a loop is enough nowhere", loops(10, 10, 10)],
    [
      "a loop is enough nowhere, and reaches the most of all sizes, about 40 %",
      sizes([20, 10].map((rate): BlockRates => ({ loop: [rate, 900], batch: [25, 900], kernel: [50, 5] }))),
    ],
    ["a loop is enough only behind a larger block that is too slow", loops(50, 10, 50)],
    ["a loop is enough from 1 MiB on at the latest", loops(10, 40, 50)],
    ["a loop is not enough at 4 KiB, and open from there", loops(10, 40, 40)],
    ["a loop is not enough up to 64 KiB, and open from there", loops(10, 10, 40)],
    ["a loop is open at 4 KiB, and enough nowhere", loops(40, 10, 10)],
    ["a loop is not enough at 64 KiB, and open around it", loops(40, 10, 40)],
    ["a loop is open everywhere", loops(40, 40, 40)],
    ["a loop of five processes is enough far from the link", sizes([{ loop: [17, 900], kernel: [20, 5] }])],
    [
      "each kind of memory and direction has its line, equal ones in one",
      [
        ...[{}, d2h, { direction: "bidir" } as const].flatMap((part) =>
          sizes([{ loop: [50, 900], batch: [50, 900] }], part),
        ),
        ...sizes([{ loop: [2, 900], gather: [8, 300] }], pageable),
      ],
    ],
    ["only a loop says nothing", sizes([{ loop: [10, 900] }])],
    ["no loop says nothing", sizes([{ batch: [10, 900], kernel: [50, 5] }])],
    [
      "the fewest workers are named if they are several",
      [
        ...sizes([{ loop: [10, 900], kernel: [50, 5] }], { workers: 2 }),
        ...sizes([{ loop: [50, 900], kernel: [50, 5] }], { workers: 4 }),
      ],
    ],
    [
      "a kernel is fastest, for less than 1 % of the CPU's time",
      small({ loop: [1.4, 2810.4], batch: [2.8, 1400], kernel: [49, 5.21] }),
    ],
    [
      "gathering is fastest, for about 20 % of the CPU's time",
      small({ loop: [1.4, 2000], gather: [8, 460] }),
    ],
    ["gathering is fastest, without saving the CPU's time", small({ loop: [1.4, 2000], gather: [8, 1990] })],
    ["gathering and a batch cannot be told apart", small({ batch: [5, 1400], gather: [5.01, 300] })],
    ["no way is faster than a loop for certain", small({ loop: [5, 2800], batch: [5.01, 1400] })],
    [
      "blocks of one size are those of the most bytes",
      [
        ...buildBlocks(4 * KiB, 16, 49, { loop: [5, 100], kernel: [5, 100] }),
        ...buildBlocks(4 * KiB, 4096, 50, { loop: [5, 100], kernel: [50, 5] }),
      ],
    ],
    [
      "beside a load, the ways come by what they leave of it",
      [
        ...[...blocksBeside("loop", [1, 1], [0.99, 0.97]), ...blocksBeside("kernel", [1, 1], [0.55, 0.15])],
        ...blocksBeside("batch", [1, 1], [0.95, 0.85]),
        ...blocksBeside("gather", [0.7, 0.65], [1, 1.02]),
      ],
    ],
    [
      "beside a load, each direction and kind of memory, without uncertain losses",
      [
        ...[
          ...blocksBeside("kernel", [0.5, 0.5], [0.5, 0.5]),
          ...blocksBeside("kernel", [1, 1], [0.2, 0.2], d2h),
        ],
        ...[
          ...blocksBeside("loop", [0.9, 1], [1, 0.9], pageable),
          ...blocksBeside("loop", [1, 1], [1, 1], { ...pageable, ...d2h }),
        ],
        ...blocksBeside("kernel", [1, 1], [0.1, 0.1], { direction: "bidir" }),
      ],
    ],
    [
      "beside several loads, those of the fewest workers and of that load",
      [
        ...buildBlocks(4 * KiB, 16, 50, { kernel: [20, 9] }),
        ...[
          ...kernelBeside(0.2, { beside: "memory", workers: 2 }),
          ...kernelBeside(0.5, { beside: "memory" }),
          ...kernelBeside(0.3, { beside: "compute" }),
        ],
      ],
    ],
  ] as [string, CellResult[]][]
).map(([name, cells]): Situation => [`in blocks, ${name}`, sure(cells, single)]);
inBlocks.push(
  ...(
    [
      ["a loop of one process is open far from the link", sizes([{ loop: [17, 900], kernel: [20, 5] }])],
      ["a loop of one process is enough near the link", sizes([{ loop: [47, 900], kernel: [55, 5] }])],
      [
        "of a wide range only the least gain is given",
        sizes([{ loop: [1.4, 2800], batch: [40, 1400], kernel: [49, 5] }], { relativeHalfWidth: 0.7 }),
      ],
      ["no way of one process beats a loop for certain", small({ loop: [5, 2800], gather: [5.5, 300] })],
      ["one process leaves the CPU's loss by gathering open", blocksBeside("gather", [0.85, 0.85], [1, 1])],
      ["one process is certain of a loss near the rate in one piece", [...alone, loaded]],
      ["one process is not certain of it without that rate", [...alone.slice(1), loaded]],
      ["a result like that of an H200", blockCells()],
    ] as [string, CellResult[]][]
  ).map(([name, cells]): Situation => [`in blocks, ${name}`, one(cells, single)]),
  [
    "in blocks, on the emulated device",
    buildEmulatedDocument({ cells: sizes([{ loop: [1, 900], kernel: [5, 5] }]).map(ofFiveProcesses) }),
  ],
);

describeSituations(
  "variant-sentences",
  [...atOnce, ...besideLoads, ...inChunks, ...betweenDevices, ...inBlocks],
  sentencesOf,
);
