import { expect, it } from "vitest";
import { findings } from "../../src/report/findings/answer.js";
import { compareIntervals, equalWidth, leanestBest } from "../../src/report/findings/finding-evidence.js";
import { pinnedAgainstPageable } from "../../src/report/findings/finding-topics.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ColdStart } from "../../src/results/schema.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type CellPart,
  type DocumentPart,
  defaultSweepCells,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";
import { describeSituations, pair, type Situation, sentencesOf } from "./situations.js";

/** Without a link, which would have a sentence of its own. */
const noLink = { devices: [buildDevice({ link: null, linkLimitGBps: null })] };

/** Of five processes, whose intervals hold as they are. */
const sure = (cells: CellResult[], part: DocumentPart = noLink) =>
  buildDocument({ cells: cells.map(ofFiveProcesses), ...part });
/** Of one process, whose figures other processes find in wider intervals than its own. */
const one = (cells: CellResult[], part: DocumentPart = {}) => buildDocument({ cells, ...part });

const d2h = { direction: "d2h" } as const;
const asProcess = { workerKind: "process" } as const;
const budget = { result: { outcome: "budget" } } as const;
const unfinished = { result: { outcome: null } } as const;
const wide = { relativeHalfWidth: 0.2 } as const;
const none = { relativeHalfWidth: null } as const;
const bidir = (h2d: number, d2h: number, part: CellPart = {}) =>
  buildCell({ direction: "bidir", GBps: { h2d, d2h, sum: h2d + d2h }, ...part });
const latency = (median: number, part: CellPart = {}) =>
  buildCell({
    mode: "latency",
    GBps: 1,
    latencyUs: { median, p99: 2 * median },
    sizeBytes: 4 * KiB,
    ...part,
  });
/** The same rates at sizes from 1 MiB on, each twice as large as the one before. */
const sizes = (gains: number[], part: CellPart = {}) =>
  gains.flatMap((gain, i) => pair(10, gain, { ...part, sizeBytes: 2 ** i * MiB }));

const ordinals = (...numbers: number[]) => ({
  devices: numbers.map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null })),
});
const busy = { computeShare: 0.4, toDeviceGBps: null, fromDeviceGBps: null };
const sharing = (device: number, isBusy: boolean) => ({
  ...{ device, others: [], activityBefore: isBusy ? busy : null, unseen: [] },
});

const pinnedOverPageable: Situation[] = [
  [
    "pinned memory gains 3 times to the device and 2 times back, at the largest size",
    sure([...pair(10, 30), ...pair(10, 20, d2h), ...pair(10, 25, { sizeBytes: MiB })]),
  ],
  ["pinned memory gains nothing", sure(pair(10, 10.01))],
  ["pinned memory is slower", sure(pair(10, 5))],
  ["of a wide range only the lower end is given", sure(pair(10, 60, { relativeHalfWidth: 0.5 }))],
  ["open, as the figures vary too much", sure(pair(10, 11, { ...wide, ...budget }))],
  ["open, though the figures converged", sure(pair(10, 11, wide))],
  [
    "open for rates that converged, whatever latencies beside them did",
    sure([...pair(10, 11, wide), latency(5, { ...wide, ...budget })]),
  ],
  [
    "open for rates of which one did not converge",
    sure([...pair(10, 11, wide), buildCell({ sizeBytes: MiB, GBps: 11, ...wide, ...budget })]),
  ],
  [
    "not so at a small size, and uncertain at another and in one direction",
    sure([
      ...[...pair(10, 30), ...pair(10, 10.01, { sizeBytes: 64 * KiB })],
      ...[...pair(10, 11, { sizeBytes: MiB, ...wide }), ...pair(10, 11, { ...d2h, ...wide })],
    ]),
  ],
  [
    "each direction has its own size if the largest is open in one",
    sure([
      ...[...pair(10, 30), ...pair(10, 30, { sizeBytes: 256 * MiB }), ...pair(10, 30, d2h)],
      ...pair(10, 11, { sizeBytes: 256 * MiB, ...d2h, relativeHalfWidth: 0.3 }),
    ]),
  ],
  [
    "open sizes that differ by direction are counted: 3",
    sure([
      ...[...pair(10, 30), ...pair(10, 30, d2h)],
      ...[KiB, MiB].flatMap((sizeBytes) => pair(10, 11, { ...wide, sizeBytes })),
      ...[MiB, 2 * MiB].flatMap((sizeBytes) => pair(10, 11, { ...wide, ...d2h, sizeBytes })),
    ]),
  ],
  ...[3, 4].map((count): Situation => {
    const equal = Array.from({ length: count }, (_, i) => pair(10, 10.01, { sizeBytes: (i + 1) * KiB }));
    return [`${count} sizes that gain nothing are named up to 3`, sure([...pair(10, 30), ...equal.flat()])];
  }),
  [
    "wide intervals were requested, so nothing is denied",
    sure(pair(10, 14, { relativeHalfWidth: 0.45 }), { ...noLink, plan: { precision: 0.5 } }),
  ],
  [
    "figures are equal within the requested precision",
    sure(pair(10, 11, { relativeHalfWidth: 0.09 }), { ...noLink, plan: { precision: 0.1 } }),
  ],
  ["by 4 processes each, without threads", sure(pair(10, 30, { workers: 4, ...asProcess }))],
  ["by 2 workers, or by 4", sure([...pair(10, 30, { workers: 2 }), ...pair(10, 29, { workers: 4 })])],
  ["one process knows less than five: 1.1 times may be nothing", one(pair(10, 11))],
  ["one process knows less than five: 3 times is certain", one(pair(10, 30))],
  ["narrow intervals that allow equality are equal", sure(pair(10, 10.5, { relativeHalfWidth: 0.045 }))],
  ["wider ones that allow it are open", sure(pair(10, 10.5, { relativeHalfWidth: 0.06 }))],
  ["narrow ones that do not are a gain", sure(pair(10, 11, { relativeHalfWidth: 0.04 }))],
  ["gains from a size up", sure(sizes([10.01, 30, 30.02]))],
  ["gains up to a size", sure(sizes([30, 30, 10.01]))],
  ["gains at some sizes", sure(sizes([30, 10.01, 30, 10.01, 30]))],
  ["gains at 4 of 8 sizes", sure(sizes([30, 10.01, 30, 10.01, 30, 10.01, 30, 10.01]))],
  ["gains at one size and loses at the other", sure(sizes([30, 5]))],
  [
    "a size that is open is left out of a line that others have",
    one([...pair(10, 12, { relativeHalfWidth: 0.69, sizeBytes: KiB }), ...pair(10, 30)]),
  ],
  [
    "the directions differ in one end of their range: the most",
    sure([...sizes([20, 30]), ...sizes([20, 40], d2h)]),
  ],
  [
    "the directions differ in one end of their range: the least",
    sure([...sizes([20, 40]), ...sizes([30, 40], d2h)]),
  ],
  ["the directions gain alike", sure([...pair(10, 30), ...pair(10, 30, d2h)])],
  ["one direction gains nothing", sure([...pair(10, 30), ...pair(10, 10, d2h)])],
  [
    "wrong data are no evidence",
    one([...pair(10, 30).slice(0, 1), buildCell({ GBps: 30, result: { outcome: "failed" } })]),
  ],
  [
    "only like is compared with like: two cache states",
    one([buildCell({ memory: "pageable", GBps: 10 }), buildCell({ GBps: 55, cache: "warm" })]),
  ],
  ...(
    [
      ["device", { device: 0 }, { device: 1 }],
      ["cache state", { cache: "cold" }, { cache: "warm" }],
    ] as const
  ).map(
    ([name, first, second]): Situation => [
      `of the second ${name} if nothing of the first was measured`,
      one(
        [buildFailed(first, "CUDA_ERROR_UNKNOWN", "unknown error"), ...pair(10, 55, second)],
        ordinals(0, 1),
      ),
    ],
  ),
  [
    "processes have no part in what is said of threads",
    sure([...pair(1, 50, { workers: 2, ...asProcess }), ...pair(10, 20)]),
  ],
  ["a default sweep has three lines", one(defaultSweepCells(), { devices: [buildDevice()] })],
];

/** Which cells the answer is of: 30 over 10, and not 70 over 10. */
const chosen = (
  [
    ["the device with the lowest number", { device: 2 }, { device: 3 }, ordinals(2, 3)],
    ["cold caches", { cache: "cold" }, { cache: "warm" }],
    ["threads", { workers: 2 }, { ...asProcess, workers: 4 }],
    ["the largest size", { sizeBytes: 2 * MiB }, { sizeBytes: MiB }],
    ["the fewest workers", { workers: 2 }, { workers: 4 }],
    ["plain copies", {}, { beside: "memory" }],
    ["cells that were finished", {}, { sizeBytes: 64 * MiB, ...unfinished }],
  ] as [string, CellPart, CellPart, DocumentPart?][]
).map(
  ([name, own, other, part]): Situation => [
    `3.0 times, of ${name}`,
    sure([...pair(10, 30, own), ...pair(10, 70, other)], { ...noLink, ...part }),
  ],
);

const link: Situation[] = [
  ["the share of the link is the same both ways", sure([...pair(10, 55), ...pair(10, 55, d2h)], {})],
  ["the share of the link differs", sure([...pair(10, 55), ...pair(10, 30, d2h)], {})],
  [
    "only the range of the share differs",
    sure([...pair(10, 55), ...pair(10, 55, { ...d2h, relativeHalfWidth: 0.02 })], {}),
  ],
  [
    "the share of the link is never more than all of it",
    sure(pair(10, 62.9, { relativeHalfWidth: 0.01 }), {}),
  ],
  ["copies faster than the reported link have no share", sure(pair(10, 130), {})],
  ["copies of one kind faster than the reported link have no share", sure([buildCell({ GBps: 130 })], {})],
];

const oneKind: Situation[] = [
  ["one kind of memory has its rates", sure([buildCell({ GBps: 55 }), buildCell({ GBps: 50, ...d2h })])],
  [
    "one kind of memory in one direction has its share of the link",
    sure([buildCell({ GBps: 50, ...d2h })], {}),
  ],
  ["both ways at once alone", sure([bidir(40, 40)], {})],
  ["device memory alone", sure([buildCell({ ...d2h, direction: "d2d", memory: "device", GBps: 4000 })])],
  [
    "both ways at once come before device memory",
    sure([bidir(20, 20), buildCell({ direction: "d2d", memory: "device", GBps: 50 })], {}),
  ],
  [
    "two kinds in two directions are two sentences",
    sure([buildCell({ GBps: 55 }), buildCell({ GBps: 50, ...d2h, memory: "registered" }), bidir(40, 40)]),
  ],
  ["latencies of two kinds", sure([latency(8, { memory: "pageable" }), latency(4)])],
  ["latencies are of the smallest size", sure([latency(4), latency(40, { sizeBytes: MiB })])],
  [
    "latencies are open in either direction",
    sure(
      [{}, d2h].flatMap((part) =>
        [5, 4].map((us) =>
          latency(us, { ...part, relativeHalfWidth: 0.5, memory: us === 5 ? "pageable" : "pinned" }),
        ),
      ),
    ),
  ],
  [
    "each direction has the times of its quickest kind",
    sure([
      latency(6, { memory: "registered" }),
      latency(4, { memory: "write-combined" }),
      latency(9, { ...d2h, memory: "pageable" }),
      latency(5, d2h),
    ]),
  ],
  [
    "latencies in both directions need no closing line",
    sure([{}, d2h].flatMap((part) => [latency(4, part), latency(8, { ...part, memory: "pageable" })])),
  ],
  [
    "latencies of one direction compare, of the other do not",
    sure([latency(4), latency(8, { memory: "pageable" }), latency(4, d2h)]),
  ],
  ["both kinds take as long", sure([latency(4), latency(4, { memory: "pageable" })])],
  ["one process compares latencies", one([latency(3.5, { memory: "pageable" }), latency(2.5)])],
  [
    "one process leaves latencies open",
    one(
      [3, 3.1].map((us, i) =>
        latency(us, { memory: i === 0 ? "pageable" : "pinned", relativeHalfWidth: 0.4 }),
      ),
    ),
  ],
];

const prefixes: Situation[] = [
  [
    "figures are those of the emulated device, which is said once",
    buildEmulatedDocument({ cells: defaultSweepCells(), devices: [buildDevice()] }),
  ],
  [
    "of several devices the first is named",
    one([...pair(10, 30, { device: 2 }), ...pair(10, 20, { device: 3 })], ordinals(2, 3)),
  ],
  ["others were on the device", one(pair(10, 30), { run: { sharing: [sharing(0, true)] } })],
  [
    "others were on devices 1 and 2",
    one(
      [0, 1, 2].flatMap((device) => pair(10, 30, { device })),
      { ...ordinals(0, 1, 2), run: { sharing: [sharing(0, false), sharing(1, true), sharing(2, true)] } },
    ),
  ],
  [
    "a prefix is repeated if another one stood between",
    sure(
      [
        ...[0, 1].flatMap((device) => pair(10, 30, { device })),
        ...[0, 1].map((device) => buildCell({ device, together: [0, 1], GBps: 29.9 })),
        ...[1, 4].map((chunks) => buildCell({ chunks, GBps: 20 + chunks })),
      ],
      { devices: [0, 1].map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null })) },
    ),
  ],
];

const noConclusion: Situation[] = (
  [
    ["no cells", { cells: [] }],
    [
      "cells that failed or were skipped",
      { cells: [buildFailed({}, "CUDA", "lost"), buildSkipped({ sizeBytes: MiB }, "no memory")] },
    ],
    [
      "wrong data and skipped cells alone",
      { cells: [buildMismatch({ sizeBytes: MiB }), buildSkipped({}, "no memory")] },
    ],
    ["a failure without a message", { cells: [buildCell({ result: { outcome: "failed" } })] }],
    ["too few samples", { cells: pair(10, 30, none) }],
    ["intervals that say nothing", { cells: [buildCell({ GBps: 50, relativeHalfWidth: 0.99, ...budget })] }],
    ["an early interruption", { cells: pair(10, 30, unfinished), run: { status: "aborted" } }],
    [
      "an interruption before both kinds were copied",
      { cells: [buildCell({ GBps: 50, ...unfinished })], run: { status: "aborted" } },
    ],
    ["an early failure", { cells: pair(10, 30, unfinished), run: { status: "failed" } }],
    ["a run that goes on", { cells: [buildCell({ GBps: 50, ...unfinished })], run: { status: "running" } }],
    [
      "imported figures",
      { cells: pair(10, 30, none), importedFrom: { tool: "nvbandwidth", version: null, file: "a" } },
    ],
    [
      "the host's own copies",
      {
        cells: [buildCell({ memory: "host", GBps: 12 }), buildCell({ memory: "host", workers: 4, GBps: 31 })],
      },
    ],
    ["latencies at once", { cells: [latency(9, { together: [0, 1] })] }],
    ["wrong data come first", { cells: [...pair(10, 30), buildMismatch({ GBps: 50, sizeBytes: MiB })] }],
    [
      "failed cells come first",
      { cells: [...pair(10, 30), buildFailed({ sizeBytes: MiB }, "CUDA", "lost")] },
    ],
    [
      "wrong data are not preliminary rates",
      { cells: pair(10.6, 55.4, { result: { outcome: "mismatch" } }) },
    ],
    [
      "preliminary rates of both directions",
      { cells: [...pair(10.6, 55.4, unfinished), ...pair(10.7, 55.3, { ...d2h, ...unfinished })] },
    ],
    [
      "preliminary rates are not those of the host",
      {
        cells: [buildCell({ memory: "host", GBps: 12, ...unfinished }), ...pair(10, 30, unfinished)],
      },
    ],
  ] as [string, DocumentPart][]
).map(([name, part]): Situation => [`no conclusion: ${name}`, buildDocument(part)]);

const mainRatesOf: Situation[] = [
  [
    "the main rates are of one worker at the largest size of both kinds",
    one([
      ...[
        ...pair(9, 40, { workers: 2 }),
        ...pair(10, 30, { sizeBytes: MiB }),
        ...pair(10, 31, { sizeBytes: 2 * MiB }),
      ],
      ...[buildCell({ sizeBytes: 64 * MiB, GBps: 55 }), ...pair(12, 32, { sizeBytes: 2 * MiB, ...d2h })],
    ]),
  ],
  ["the headline has no share of a link that rates exceed", one(pair(80, 81))],
];

const [record] = buildColdStart().pinning;
const copies = (h2d: number | null, d2h: number | null = 99) => ({ h2d, d2h });
const paidOff = (sizeBytes: number, pinned: ReturnType<typeof copies>, registered = copies(null)) => ({
  ...record!,
  sizeBytes,
  payOff: { pinned, registered },
});
const bothWays = (back: number) => [...pair(10, 30), ...pair(10, back, d2h)];
const payOff = (
  [
    ["from the first copy on", [paidOff(MiB, copies(1)), paidOff(16 * MiB, copies(0))]],
    [
      "from the first copy of a size on",
      [paidOff(64 * KiB, copies(9)), paidOff(MiB, copies(1)), paidOff(16 * MiB, copies(1))],
    ],
    [
      "from the largest size on",
      [paidOff(16 * MiB, copies(1)), paidOff(MiB, copies(3)), paidOff(64 * KiB, copies(1))],
    ],
    ["after 2 to 7 copies", [paidOff(MiB, copies(2)), paidOff(16 * MiB, copies(7))]],
    ["by the cheaper way", [paidOff(MiB, copies(5), copies(3))]],
    ["known for one size", [paidOff(MiB, copies(2)), paidOff(16 * MiB, copies(null))]],
    ["not known", [paidOff(MiB, copies(null))]],
    ["after 5 copies from the device, the most of both", [paidOff(16 * MiB, copies(2, 5))], bothWays(30)],
    ["after 5 copies to the device, the most of both", [paidOff(16 * MiB, copies(5, 2))], bothWays(30)],
    ["to the device alone, in which it gains", [paidOff(16 * MiB, copies(1, 4))], bothWays(8)],
    ["from the device alone", [paidOff(16 * MiB, copies(9, 4))], [...pair(10, 8), ...pair(10, 30, d2h)]],
    ["no sentence if pinned is not faster", [paidOff(MiB, copies(1))], pair(10, 10.01)],
  ] as [string, ColdStart["pinning"], CellResult[]?][]
).map(
  ([name, pinning, cells = pair(10, 30)]): Situation => [
    `pinning pays off: ${name}`,
    sure(cells, { ...noLink, coldStart: [buildColdStart({ pinning })] }),
  ],
);
payOff.push([
  "pinning pays off: by the costs of the device of the answer",
  sure(pair(10, 30, { device: 2 }), {
    ...ordinals(2, 3),
    coldStart: [
      [3, 9],
      [2, 4],
    ].map(([device, count]) => buildColdStart({ device: device!, pinning: [paidOff(MiB, copies(count!))] })),
  }),
]);

const staged = (GBps: number, part: CellPart = {}) => buildCell({ memory: "staged", GBps, ...part });
const pageable = (workers: number, GBps: number, part: CellPart = {}) =>
  buildCell({ memory: "pageable", workers, GBps, ...part });
const bothKinds = (threads: number, processes: number, part: CellPart = {}) => [
  ...[pageable(1, 10), pageable(4, threads, part)],
  ...[pageable(1, 10, asProcess), pageable(4, processes, { ...part, ...asProcess })],
];

const otherLines: Situation[] = [
  [
    "staging: the fewest workers that do as well as any",
    sure([
      ...pair(18, 55),
      staged(37, { workers: 4 }),
      staged(50.4, { workers: 8 }),
      staged(50.5, { workers: 12 }),
    ]),
  ],
  ["staging gains nothing", one([...pair(18, 55), staged(10)])],
  ["staging reaches the rate of pinned", sure([...pair(18, 55), staged(54.8, { workers: 16 })])],
  ["staging is not told apart from pageable", one([...pair(40, 55), staged(50, { relativeHalfWidth: 0.3 })])],
  [
    "staging is not told apart from pinned",
    one([buildCell({ GBps: 55 }), staged(50, { relativeHalfWidth: 0.3 })]),
  ],
  [
    "staging is set against pageable if that alone can be said",
    one([...pair(20, 55), staged(50, { relativeHalfWidth: 0.3 })]),
  ],
  ["workers make pageable faster", sure([pageable(1, 10), pageable(4, 18)])],
  ["workers change nothing", sure([pageable(1, 10), pageable(4, 10.02)])],
  ["workers make pageable slower", sure([pageable(1, 10), pageable(4, 8)])],
  ["workers do neither for certain", one([pageable(1, 10), pageable(4, 11, { relativeHalfWidth: 0.5 })])],
  ["processes help and threads do not", sure(bothKinds(10.02, 30))],
  ["threads help and processes hurt", sure(bothKinds(18, 5))],
  ["both kinds of workers are open", sure(bothKinds(10.02, 11, { relativeHalfWidth: 0.5 }))],
  [
    "processes help in both directions, threads in neither",
    sure(
      [{ memory: "pageable", GBps: 1 } as const, { ...d2h, memory: "pageable", GBps: 1.5 } as const].flatMap(
        (part) => [
          ...[
            buildCell({ ...part, GBps: 10 * part.GBps }),
            buildCell({ ...part, workers: 4, GBps: 10.01 * part.GBps }),
          ],
          ...[1, 4].map((workers) =>
            buildCell({ ...part, ...asProcess, workers, GBps: (workers === 1 ? 10 : 30) * part.GBps }),
          ),
        ],
      ),
    ),
  ],
  [
    "a single number of processes says nothing of them",
    sure([pageable(1, 10), pageable(4, 18), pageable(8, 99, asProcess)]),
  ],
  ["processes alone", sure([1, 4].map((workers) => pageable(workers, 10 * workers, asProcess)))],
  [
    "both directions at once against each alone",
    one([bidir(52.3, 50.7), buildCell({ GBps: 55.4 }), buildCell({ ...d2h, GBps: 55.4 })]),
  ],
  [
    "both directions at once with wide intervals",
    one([
      bidir(50, 50, { relativeHalfWidth: 0.4 }),
      buildCell({ GBps: 55 }),
      buildCell({ ...d2h, GBps: 55 }),
    ]),
  ],
  [
    "both directions at once against the same size and workers",
    sure([
      bidir(50, 50, { workers: 2 }),
      ...(["h2d", "d2h"] as const).flatMap((direction) => [
        buildCell({ direction, sizeBytes: MiB, workers: 2, GBps: 20 }),
        buildCell({ direction, GBps: 20 }),
        buildCell({
          direction,
          workers: 2,
          GBps: 50,
          relativeHalfWidth: direction === "d2h" ? 0.001 : 0.004,
        }),
      ]),
    ]),
  ],
  [
    "other page-locked kinds against pinned",
    one([
      buildCell({ GBps: 55 }),
      buildCell({ memory: "registered", GBps: 55.1 }),
      buildCell({ memory: "mapped", GBps: 51.5 }),
    ]),
  ],
  [
    "a kind with a wide interval is open",
    one([buildCell({ GBps: 55 }), buildCell({ memory: "registered", GBps: 50, relativeHalfWidth: 0.4 })]),
  ],
  [
    "a kind with a wide interval is left out beside another",
    one([
      buildCell({ GBps: 55 }),
      buildCell({ memory: "registered", GBps: 50, relativeHalfWidth: 0.4 }),
      buildCell({ memory: "mapped", GBps: 51.5 }),
    ]),
  ],
  [
    "staging, workers and other kinds are of the largest size",
    sure([
      ...[1, 4].flatMap((workers) => [
        pageable(workers, 10, { sizeBytes: MiB }),
        pageable(workers, workers === 1 ? 10 : 20, { sizeBytes: 2 * MiB }),
      ]),
      ...[buildCell({ sizeBytes: MiB, GBps: 80 }), buildCell({ sizeBytes: 2 * MiB, GBps: 55 })],
      ...[10, 55].map((GBps, i) => buildCell({ sizeBytes: (i + 1) * MiB, memory: "registered", GBps })),
    ]),
  ],
  [
    "1 staging worker at the largest size",
    sure([
      ...pair(10, 80, { sizeBytes: MiB }),
      ...pair(10, 55, { sizeBytes: 2 * MiB }),
      staged(54.9, { sizeBytes: 2 * MiB }),
    ]),
  ],
  [
    "three lines on plain copies at most",
    sure([
      ...pair(10, 30),
      ...pair(20, 40, { workers: 4 }),
      staged(25),
      buildCell({ memory: "registered", GBps: 20 }),
      bidir(20, 20),
      buildCell({ ...d2h, GBps: 30 }),
    ]),
  ],
];

describeSituations(
  "copy-sentences",
  [
    ...pinnedOverPageable,
    ...chosen,
    ...link,
    ...oneKind,
    ...prefixes,
    ...noConclusion,
    ...mainRatesOf,
    ...payOff,
    ...otherLines,
  ],
  sentencesOf,
);

it("there is no gain over a rate of nothing", () => {
  expect(sentencesOf(one(pair(0, 30))).join()).not.toContain("pinned over pageable");
});

it("a topic of which the answer speaks has no line", () => {
  const said = { topics: [pinnedAgainstPageable], variants: [] };
  expect(findings(one(pair(10, 30)), said)).toEqual([]);
});

it("figures may count as equal with intervals as wide as the precision, within bounds", () => {
  const widthOf = (precision: number) => equalWidth(buildDocument({ plan: { precision } }));
  expect([0.01, 0.07, 0.5].map(widthOf)).toEqual([0.05, 0.07, 0.1]);
});

const around = (median: number, half: number) => ({ median, low: median - half, high: median + half });

it.each([
  ["above if the interval of the ratio lies above 1", around(30, 10), around(10, 5), "above"],
  ["below likewise", around(10, 5), around(30, 10), "below"],
  ["above if the intervals overlap and the ratio is certain", around(11, 0.6), around(10, 0.6), "above"],
  ["equal if it is not and both are narrow", around(10, 0.4), around(10.5, 0.4), "equal"],
  ["open if the first is wide", around(10, 2), around(10, 0.1), "open"],
  ["open if the second is wide", around(10, 0.1), around(10, 2), "open"],
])("two intervals are %s", (_, first, second, verdict) => {
  expect(compareIntervals(first, second, 0.05)).toBe(verdict);
});

it("fewer workers with a wide interval are not as good as the best", () => {
  const rate = (workers: number, median: number, half: number) =>
    ({
      workerKind: "thread",
      memory: "staged",
      sizeBytes: MiB,
      workers,
      estimate: around(median, half),
    }) as const;
  expect(leanestBest([rate(4, 40, 20), rate(8, 50, 1), rate(12, 50.5, 1)], 0.05)?.workers).toBe(8);
  expect(leanestBest([rate(4, 40, 20), rate(8, 50, 20)], 0.05)?.workers).toBe(8);
});
