import { readFileSync } from "node:fs";
import { idWithoutDevice, parseCellId, variantPlaces } from "../../../src/results/cell-id.js";
import type { CellResult } from "../../../src/results/cell-schema.js";
import { areRecorded, claimedBlockRate, claimedInterval } from "../../../src/results/claimed-interval.js";
import {
  blockColumns,
  findBlockCutoffs,
  sizesToMeasure,
} from "../../../src/results/cutoffs/block-cutoffs.js";
import { cudaVersionName, linkLimitGBps, pcieLimitGBps } from "../../../src/results/device-facts.js";
import { importNvbandwidth } from "../../../src/results/import-nvbandwidth.js";
import * as loader from "../../../src/results/loader-setting.js";
import * as cellFigure from "../../../src/results/naming/cell-figure.js";
import * as wording from "../../../src/results/naming/wording.js";
import * as nodeRates from "../../../src/results/nodes/node-rates.js";
import * as programs from "../../../src/results/other-programs.js";
import { checkedFigures, parseResult, withoutSamples } from "../../../src/results/parse.js";
import * as variant from "../../../src/results/variant.js";
import { blockWays } from "../../../src/settings/choices.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  type CellPart,
  KiB,
  MiB,
} from "../../helpers/result-document.js";
import { seeded } from "../../helpers/seeded.js";
import { draws, refusalOf } from "../draws.js";

/** What a function gives, or its refusal. */
function tried(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return refusalOf(error);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: changes put anything there that a file may hold.
type Json = Record<string, any>;
/** All lists with one value of each list. */
const combined = (lists: readonly (readonly unknown[])[]): unknown[][] =>
  lists.reduce<unknown[][]>((all, list) => all.flatMap((one) => list.map((v) => [...one, v])), [[]]);
/** What a function gives for all combinations of these arguments. */
// biome-ignore lint/suspicious/noExplicitAny: any function, with arguments that may be wrong.
const crossed = (of: (...values: any[]) => unknown, ...lists: readonly (readonly unknown[])[]) =>
  combined(lists).map((values) => tried(() => of(...values)));
/** Every object with one of the values of each key. */
const varied = (lists: Readonly<Record<string, readonly unknown[]>>): Json[] =>
  combined(Object.values(lists)).map((values) =>
    Object.fromEntries(Object.keys(lists).map((key, i) => [key, values[i]])),
  );
const times = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
let chance = seeded(0);
const one = <Value>(values: readonly Value[]) => chance.one(values);

const kinds: readonly CellPart[] = [
  {},
  { direction: "d2h", memory: "host", workers: 4 },
  { direction: "bidir" },
  { direction: "d2d", memory: "device", device: 1 },
  { mode: "latency", timer: "event", cache: "warm" },
  { workerKind: "process", together: [0, 1, 12] },
  { workerKind: "process", workers: 2, beside: "host", cpuNode: 1, memoryNode: 1 },
  { direction: "p2p", memory: "device", peer: 1, path: "kernel-read" },
  { chunks: 1, cpuNode: 0, memoryNode: 1 },
  { chunks: 4, together: [0, 2] },
  ...blockWays.map(
    (blockWay, i): CellPart => ({ blockBytes: 4 * KiB, blockWay, ...(i % 2 === 0 && { beside: "compute" }) }),
  ),
  ...[1, 8].map((blockSms): CellPart => ({ blockBytes: 64 * KiB, blockWay: "kernel", blockSms })),
];
const cellOutcomes = ["converged", "budget", "failed", "mismatch", "skipped", null] as const;

/** A cell of this kind with figures, at this many GB/s. */
function cellOf(part: CellPart, GBps = 50 + chance.normal()): CellResult {
  return buildCell({
    relativeHalfWidth: one([null, 0.002, 0.009, 0.02, 0.03, 0.2]),
    ...part,
    GBps: part.direction === "bidir" ? { h2d: GBps, d2h: 0.8 * GBps, sum: 1.8 * GBps } : GBps,
    ...(part.mode === "latency" && { latencyUs: { median: 9 + chance.normal(), p99: 20 } }),
    result: { outcome: one(["converged", "budget", "budget", null]), ...part.result },
  });
}
const wholeDocument = () =>
  buildDocument({ cells: kinds.map((kind) => cellOf(kind)), run: { labels: { rack: "7", row: "b" } } });

const inWhole = (part: Json) => (whole: Json) => Object.assign(whole, part);
const inPart = (part: Json) => (_: Json, one: Json) => Object.assign(one, part);
const inStats = (part: Json) => (_: Json, cell: Json) => Object.assign(cell.stats.at(-1).bandwidthGBps, part);
const inSamples = (part: Json) => (_: Json, cell: Json) => Object.assign(cell.samples[0], part);
const fine = { median: 1, min: 1, max: 1, low: 0.5, high: 1.5 };
const odd = (median: number) => ({ ...fine, median, low: null, high: null, p90: 1, p99: 1 });
const inLoad = (part: Json) =>
  inPart({ load: { unit: "GB/s", alone: fine, during: fine, keptShare: fine, ...part } });

/** Faults of a result, each at a cell or at the whole. */
const faults: readonly ((document: Json, cell: Json) => unknown)[] = [
  ...["startNs", "durationNs", "round"].flatMap((column) => [
    ...[[1], [1, -1], [1, 2, 3], "1"].map((value) => inSamples({ [column]: value })),
  ]),
  ...[{ samples: [] }, { stats: [] }, { stats: [], samples: [], outcome: "budget" }].map(inPart),
  inSamples({ direction: "d2d" }),
  ...[0, -1, 1e-10, 1e-9, 2001, 4001, 1e6].flatMap((figure) => [
    ...[{ median: figure, low: null, high: null }, { low: figure }, { high: figure }].map(inStats),
    inStats({ processMedians: [50, figure] }),
    (_: Json, { stats: [first] }: Json) => Object.assign(first, { latencyUs: odd(figure / 1e5) }),
    ...["alone", "during", "keptShare"].map((key) => inLoad({ [key]: odd(figure) })),
  ]),
  (document) => document.cells.push(document.cells[0]),
  ...["comparison", "history", "fleet-run", "toString"].map((kind) => inWhole({ kind })),
  ...[undefined, null, 2, "1", [], {}].map((schemaVersion) => inWhole({ schemaVersion })),
  ...[{ backend: "emulated" }, { plan: null }, { fingerprint: [] }, { run: { startedAt: "now" } }].map(
    inWhole,
  ),
];

const refusals = () =>
  crossed(
    (fault: (typeof faults)[number], at: number, isWhole: boolean) => {
      const document = structuredClone(wholeDocument()) as Json;
      fault(document, document.cells[at]);
      const text = JSON.stringify(document);
      return Object.keys(
        isWhole ? parseResult(text, "a.json") : checkedFigures(JSON.parse(withoutSamples(text)), "b.json"),
      );
    },
    faults,
    [0, 1, 2, 4],
    [true, false],
  );

const rows = [["N/A", "55.1"], ["1e1", 3, "N/A"], ["0"], ["1e12"], ["4e11"], [[]], ["5 "], [null]];
const unlike = "device_latency_sm device_to_device all_to_host host_to_device_bidirectional x_sm y".split(
  " ",
);

/** Changes of nvbandwidth's file, and of one of its tests. */
const changesOfNvbandwidth: readonly ((file: Json, test: Json) => unknown)[] = [
  ...["v0.6", "0.7.1", "0.9", "0.10", "", undefined, "x"].map((version) => inWhole({ version })),
  ...[...rows.map((row) => [row]), undefined, [], [[1], [2]], [1]].map((matrix) =>
    inPart({ bandwidth_matrix: matrix }),
  ),
  ...["Waived", "Running", "Error", "ERROR"].map((status) => inPart({ status })),
  (file, test) => file.testcases.push({ ...test, status: "Error", error: `bad\n  ${"x".repeat(300)}.` }),
  (file, test) => file.testcases.push(test),
  ...[{ testcases: [] }, { testcases: undefined }, { error: "no\n device." }].map(inWhole),
  ...[12090, -1].map((version) => inWhole({ "CUDA Runtime Version": version })),
  ...["smaller than the default buffer size", ["a"]].map((warning) => inWhole({ warning })),
  inWhole({ "GPU Device list": ["0: NVIDIA H200 (00010000:0A:06): (node-1)", "11: X"] }),
  ...[["0: X", "GPU 1"], undefined].map((list) => inWhole({ "GPU Device list": list })),
  (file) => file.testcases.unshift(...unlike.map((name) => ({ name, status: "Passed" }))),
];

const imports = () =>
  crossed(
    (version: string, change: (typeof changesOfNvbandwidth)[number], bufferSizeBytes: number | null) => {
      const fixture = new URL(`../../fixtures/nvbandwidth-${version}.json`, import.meta.url);
      const value = JSON.parse(readFileSync(fixture, "utf8")) as { nvbandwidth: Json };
      change(
        value.nvbandwidth,
        value.nvbandwidth.testcases.find(({ name }: Json) => name === "device_to_host_memcpy_ce"),
      );
      const options = {
        path: "old/old.json",
        fileName: "old.json",
        measuredAt: new Date(0),
        runId: "r",
        pinbenchVersion: "0.1.0",
      };
      return importNvbandwidth(JSON.stringify(value), { ...options, bufferSizeBytes });
    },
    ["0.5", "0.8"],
    changesOfNvbandwidth,
    [null, 32 * MiB, 512 * MiB, 1000],
  );

/** Ways of copying blocks whose rates cross. */
const searched = () =>
  times(12, () => {
    const ways: CellPart[] = [
      ...blockWays.filter(() => chance.uniform() < 0.5).map((blockWay) => ({ blockWay })),
      { blockWay: "kernel", blockSms: 8 },
    ];
    const cells = [4, 16, 32, 64, 256, 1024].flatMap((size, place) =>
      ways.map((way, i) => {
        const part: CellPart = {
          device: one([0, 0, 1]),
          memory: one(["pinned", "pinned", "pageable"]),
          direction: one(["h2d", "h2d", "d2h"]),
          blockBytes: size * KiB,
          sizeBytes: size * one([8, 8, 64]) * KiB,
        };
        const result = { outcome: one([...cellOutcomes, "converged", "converged", "converged"] as const) };
        return cellOf(
          { ...part, ...way, relativeHalfWidth: one([0.001, 0.03, null]), result },
          10 + 8 * Math.abs(Math.sin(i * 2 + place)),
        );
      }),
    );
    return [findBlockCutoffs(cells), blockColumns([...cells, cellOf({})]).map(sizesToMeasure)];
  });

const onNodes = () =>
  times(60, () => {
    const nodes = times(one([1, 2, 2, 3, 4]), (node) => node);
    const [held, slow] = [
      one([["pinned"], ["pageable"], ["pinned", "pageable", "staged"]]),
      one([1, 0.98, 0.9, 0.6]),
    ];
    const cells = combined([[0, 1], nodes, nodes, held, ["h2d", "d2h"]]).flatMap((values) => {
      const [device, memoryNode, cpuNode, memory, direction] = values as [
        number,
        number,
        number,
        "pinned",
        "h2d",
      ];
      if (memory === "pinned" && cpuNode !== memoryNode && chance.uniform() < 0.9) return [];
      const ofNodes = [
        { node: memoryNode, pages: one([95, 94, 100]) },
        { node: 9, pages: one([5, 6]) },
      ];
      const result = {
        pages: one([null, null, { kind: "base" as const, arenaBytes: 1, hugePageBytes: null, ofNodes }]),
        outcome: one(["converged", "converged", "converged", null, "failed"] as const),
      };
      const part: CellPart = {
        ...{ device, direction, memory, cpuNode, memoryNode, result },
        mode: one(["throughput", "throughput", "latency"]),
        relativeHalfWidth: one([0.004, 0.004, 0.05]),
      };
      const GBps =
        50 *
        (memoryNode === device % nodes.length ? 1 : slow) *
        (cpuNode === memoryNode ? 1 : 0.8) *
        (1 + 0.002 * chance.normal());
      return [{}, { together: [0, 1] }]
        .slice(0, one([1, 1, 2]))
        .map((more) => cellOf({ ...part, ...more }, GBps));
    });
    const devices = [0, 1].map((ordinal) => buildDevice({ ordinal, numaNode: one([null, 0, 1, 5]) }));
    const document = buildDocument({ devices, cells });
    const verdicts = nodeRates
      .verdictsOnNodes(document, 0.01)
      .map(({ cellOf: find, ...one }) => [one, one.verdict.costs.map(({ condition }) => find(condition).id)]);
    return [
      verdicts,
      nodeRates.crossedCosts(document, 0.01),
      nodeRates.placedCells(document).map(nodeRates.isElsewhere),
    ];
  });

const others = varied({
  kind: ["pinbench", "program"],
  pid: [null, 1, 4711],
  name: [null, "run"],
  since: [null, "2026-11-20T10:00:07.5Z"],
  deviceMemoryBytes: [null, 512 * MiB],
  wasThereBefore: [true, false],
});
const activities = [
  null,
  ...varied({
    computeShare: [null, 0.05, 0.051, 0.7],
    toDeviceGBps: [null, 0.1, 0.11, 9],
    fromDeviceGBps: [null, 0.1, 7],
  }),
];
const sharing = () =>
  times(60, () => {
    const record = (device: number) =>
      ({
        device,
        others: times(one([0, 1, 3, 4, 12]), () => one(others)),
        activityBefore: one(activities),
        unseen: one([[], ["pinbench"], ["pinbench", "programs"]]),
      }) as programs.SharingRecord;
    const joined = programs.joinSharing(times(one([1, 2, 3]), () => [record(0), record(one([0, 1]))]));
    return [joined, joined.map(programs.describeSharing), joined.map(programs.describeUnseen)];
  });

const typos = [
  "0/h2d/pined/16MiB/4",
  "gpu1/H2D/pinned/64KiB/x2/latency",
  "d0/h2d/pinned/4096/w1/*",
  "d00/h2d/pinned/1/w1/throughput/wall/cold",
  "d0/d2h/paged/65536/w3/thruput/wal/cld",
  "x",
  "d0/h2d/pinned/1e3/w1/throughput/wall/cold/process/x",
];

/** Names, kinds and figures of cells. */
function named() {
  const cells = cellOutcomes.flatMap((outcome) =>
    kinds.map((kind) => cellOf({ ...kind, result: { outcome } })),
  );
  const ids = cells.slice(0, kinds.length).map(({ id }) => id);
  const ofCell = [
    idWithoutDevice,
    variantPlaces,
    ...[
      variant.variantOf,
      variant.variantName,
      variant.isPlain,
      variant.isSteady,
      variant.idOfAlone,
      variant.blockWayOf,
    ],
    variant.aloneIn(cells.slice(0, 3)),
  ];
  const halves = ["h2d", "d2h", "sum"] as const;
  return [
    ...[ids, ids.slice(0, 3), ids.slice(5, 7), ["nonsense", ids[9]!], ids.slice(9, 12)].map((set) =>
      [true, false].map((showsIds) => set.map(wording.cellNames(set, { showsIds }))),
    ),
    ...ofCell.flatMap((of) => crossed(of as () => unknown, cells)),
    ...crossed(cellFigure.medianFigure, [...cells, undefined], halves, [0.001, 0.01, 0.05]),
    ...crossed(cellFigure.tableFigures, cells, halves, ["latency", "throughput"], [0.01]),
    ...crossed(cellFigure.shareOfSpeed, cells.slice(-12), cells.slice(-14), halves),
    ...crossed(parseCellId, [...typos, ...ids]),
    cells
      .map(variant.blockWayOf)
      .filter((way) => way !== null)
      .sort(variant.compareBlockWays),
    ...crossed(wording.guestOf, varied({ virtualization: [null, "kvm"], container: [null, "docker"] })),
    ...crossed(wording.noticeIn, varied({ notice: [null, "it is odd"], backend: ["emulated", "cuda"] })),
    ...crossed(wording.countedCpus, [1, 8], [null, 2.5]),
    ...[
      wording.labelsLine(wholeDocument()),
      wording.wayName,
      wording.directionTitle,
      wording.besideName,
      wording.pcieLink(5, 16),
    ],
    ...crossed(areRecorded, [[], ["NVIDIA H200"], ["NVIDIA H200", "NVIDIA H100"]]),
    ...crossed(cudaVersionName, [12090, 13012]),
    ...crossed(linkLimitGBps, [null, 0, 1, 2, 3, 4, 5, 6, 7], [null, 0, 8]),
    ...crossed(pcieLimitGBps, varied({ integrated: [true, false], coherent: [true, false] }), [
      { generation: 5, width: 16 },
    ]),
  ];
}

function claimed() {
  const figures = varied({
    median: [0, 10, 54, 60],
    low: [null, 9],
    high: [null, 70],
    processMedians: [undefined, null, [1, 2, 3]],
  });
  const memories = ["pinned", "pageable", "staged", "mapped"];
  return [
    ...crossed(claimedInterval, memories, figures),
    ...crossed(claimedBlockRate, varied({ memory: memories, blockWay: blockWays }), figures, [
      undefined,
      30,
      200,
    ]),
  ];
}

function loaders() {
  const settings = combined([
    [0, 1, 8],
    [true, false],
    [1, 2, 4],
  ]).flatMap((values) =>
    [{}, { nonBlocking: true }].map((part) => ({
      ...loader.usualSetting(...(values as [number, boolean, number])),
      ...part,
    })),
  );
  const probes = varied({
    framework: [null, "transformers", "timm", "lightning", undefined],
    kind: ["torch", "live"],
    device: [null, "cuda:0"],
  });
  return [
    ...crossed(loader.describeSetting, settings, [true, false]),
    ...[loader.settingKey, loader.batchesInFlight].flatMap((of) => crossed(of, settings)),
    ...crossed(loader.toPaste, probes, settings),
    ...crossed(
      loader.spread,
      times(40, (most) => most),
    ),
    ...[settings, loader.torchDefault],
  ];
}

draws(import.meta.url, () => {
  const parts = { refusals, imports, searched, onNodes, sharing, named, claimed, loaders };
  const outputs = Object.entries(parts).map(([name, part]) => {
    chance = seeded(5);
    return [name, part()] as const;
  });
  return outputs;
});
