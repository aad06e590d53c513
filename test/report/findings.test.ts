import { expect, it } from "vitest";
import { scopeOf } from "../../src/report/findings/finding.js";
import { preliminaryFigures } from "../../src/report/findings/headline.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
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

/** Without a link, so that its share is not among the large figures. */
const noLink = { devices: [buildDevice({ link: null, linkLimitGBps: null })] };
const of = (cells: CellResult[], part: DocumentPart = noLink) => buildDocument({ cells, ...part });

const tenRuns = Array.from({ length: 10 }, (_, i) => ({
  ...{ id: `${i}`, startedAt: "2026-11-20T10:00:00.000Z", wallNs: null },
}));

const d2h = { direction: "d2h" } as const;
const noisy = { relativeHalfWidth: 0.2 } as const;
const asProcess = { workerKind: "process" } as const;
const latency = (median: number, part: CellPart = {}) =>
  buildCell({
    mode: "latency",
    GBps: 1,
    latencyUs: { median, p99: 2 * median },
    sizeBytes: 4 * KiB,
    ...part,
  });
const bidir = (sum: number, part: CellPart = {}) =>
  buildCell({ direction: "bidir", GBps: { h2d: sum / 2, d2h: sum / 2, sum }, ...part });
const ordinals = (...numbers: number[]) => ({
  devices: numbers.map((ordinal) => buildDevice({ ordinal, link: null, linkLimitGBps: null })),
});
const unfinished = { result: { outcome: null } } as const;

const headlines: Situation[] = [
  ["pinned memory is faster in both directions", of([...pair(10, 30), ...pair(10, 20, d2h)])],
  ["pinned memory is slower", of(pair(10, 5))],
  ["pinned memory is as fast", of(pair(10, 10.1))],
  ["one direction is open", of([...pair(10, 30), ...pair(10, 11, { ...d2h, ...noisy })])],
  [
    "both directions are open after ten runs",
    of([...pair(10, 11, noisy), ...pair(10, 11, { ...d2h, ...noisy })], {
      ...noLink,
      run: { runs: tenRuns },
    }),
  ],
  ["both directions are open", of([...pair(10, 11, noisy), ...pair(10, 11, { ...d2h, ...noisy })])],
  ["the largest size counts", of([...pair(10, 30, { sizeBytes: MiB }), ...pair(10, 50)])],
  ["the fewest workers count", of([...pair(10, 30, { workers: 4 }), ...pair(10, 50, { workers: 2 })])],
  ["a share of the link", buildDocument({ cells: pair(10, 30) })],
  ["pinned memory alone", of([buildCell({ GBps: 55 }), buildCell({ ...d2h, GBps: 54 })])],
  ["registered memory alone", of([buildCell({ memory: "registered", GBps: 55 })])],
  ["both directions at once alone", of([bidir(100)])],
  ["latencies of pinned and pageable memory", of([latency(9, { memory: "pageable" }), latency(5)])],
  ["a latency alone", of([latency(5)])],
  ["an emulated device", buildEmulatedDocument({ cells: pair(10, 30) })],
  ["device 1 of two", of(pair(10, 30, { device: 1 }), ordinals(0, 1))],
  [
    "wrong data comes first",
    of([...pair(10, 30), buildMismatch({ workers: 2 }), buildFailed({ workers: 4 }, "CODE", "lost")]),
  ],
  ["nothing but failures", of([buildFailed({}, "CODE", "lost")])],
  ["nothing but skipped cells", of([buildSkipped({}, "no memory")])],
  ["figures without intervals", of(pair(10, 30, { relativeHalfWidth: null }))],
  [
    "an interrupted run without a finished cell",
    of(pair(10, 30, unfinished), { ...noLink, run: { status: "aborted" } }),
  ],
  ["copies of the CPU alone", of([buildCell({ memory: "host", GBps: 12 })])],
  ["pinning pays off from a size up", of(pair(10, 30), { ...noLink, coldStart: [buildColdStart()] })],
];

const besideMemory = { beside: "memory" } as const;
const loaded = (keptShare: number) => ({
  load: {
    unit: "GB/s" as const,
    alone: buildDistribution(2000),
    during: buildDistribution(2000 * keptShare),
    keptShare: buildDistribution(keptShare),
  },
});
const together = { together: [0, 1] };
const ofBlocks = (blockWay: CellPart["blockWay"], GBps: number, blockBytes = 4 * KiB) =>
  buildCell({ blockWay, GBps, blockBytes, sizeBytes: 64 * blockBytes });
const between = (device: number, peer: number, path: CellPart["path"], GBps: number) =>
  buildCell({ direction: "p2p", memory: "device", device, peer, path, GBps });

const compared: Situation[] = [
  ["a sweep", of(sweepCells())],
  [
    "other kinds of memory against pinned",
    of([
      ...pair(10, 55),
      ...(["staged", "registered", "mapped"] as const).map((memory, i) =>
        buildCell({ memory, GBps: 40 + 10 * i }),
      ),
    ]),
  ],
  [
    "more workers against one",
    of([...[1, 2, 4].map((workers) => buildCell({ memory: "pageable", workers, GBps: 10 * workers }))]),
  ],
  ["processes against threads", of([...pair(10, 30), ...pair(20, 30, asProcess)])],
  [
    "both directions at once against each alone",
    of([bidir(80), buildCell({ GBps: 55 }), buildCell({ ...d2h, GBps: 55 })]),
  ],
  [
    "a load takes half of the copies' rate",
    of([...pair(10, 50), ...pair(10, 25, { ...besideMemory, result: loaded(0.9) })]),
  ],
  [
    "the worst of two devices that copy at once",
    of(
      [
        ...[0, 1].flatMap((device) => [
          buildCell({ device, GBps: 50 }),
          buildCell({ device, ...together, GBps: device === 0 ? 40 : 30 }),
        ]),
      ],
      ordinals(0, 1),
    ),
  ],
  [
    "the best number of chunks",
    of([1, 4, 16].map((chunks) => buildCell({ chunks, GBps: 20 + 10 * Math.log2(chunks) }))),
  ],
  [
    "the smallest blocks against a loop",
    of([
      ...[ofBlocks("loop", 2), ofBlocks("batch", 3), ofBlocks("kernel", 30)],
      ...[ofBlocks("loop", 50, MiB), ofBlocks("kernel", 40, MiB)],
    ]),
  ],
  [
    "the slowest pair of devices, directly against through the host",
    of(
      [
        ...[between(0, 1, "write", 300), between(1, 0, "write", 100)],
        ...[between(0, 1, "through-host", 40), between(1, 0, "through-host", 40)],
      ],
      ordinals(0, 1),
    ),
  ],
  ["equal findings are one row", of([...pair(10, 20), ...pair(10, 20, d2h)])],
];

describeSituations("findings", [...headlines, ...compared], sentencesOf);

it("a run's headline has at most three lines", () => {
  for (const [name, document] of [...headlines, ...compared]) {
    const lines = sentencesOf(document).filter((line) => line.startsWith("=> "));
    expect(lines.length, name).toBeGreaterThan(0);
    expect(lines.length, name).toBeLessThanOrEqual(3);
  }
});

it.each([
  [null, "of this run"],
  [[1, 2], "of this run"],
  [[1, 2, 3], "between 3 runs"],
])("intervals from the runs %j are labelled %j", (runs, scope) => {
  expect(scopeOf(runs)).toBe(scope);
});

it("a run in progress shows preliminary figures once pinned and pageable copies were measured", () => {
  expect(preliminaryFigures(of(pair(10, 30, unfinished)))).toBe(
    "preliminary: 16 MiB H2D: pinned 30.0, pageable 10.0 GB/s",
  );
  expect(preliminaryFigures(of([latency(12, { memory: "pageable" }), latency(8)]))).toBe(
    "preliminary: 4 KiB H2D: pinned 8.00, pageable 12.0 µs",
  );
  expect(preliminaryFigures(of([buildCell({ GBps: 30 })]))).toBeNull();
});
