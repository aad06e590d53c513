import { describe, expect, it } from "vitest";
import { type Grid, headTexts } from "../../src/draw/report.js";
import { cellGrids } from "../../src/report/tables/cell-grids.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
} from "../helpers/result-document.js";

const gridsOf = (cells: CellResult[], part: DocumentPart = {}) =>
  cellGrids(buildDocument({ cells, ...part }));
const textsOf = ({ rows }: Grid) => rows.map((row) => row.map(({ text, note }) => `${text} ${note}`.trim()));
const headsOf = ({ columns }: Grid) => headTexts(columns);
const latency = (part: CellPart) =>
  buildCell({ mode: "latency", GBps: 1, latencyUs: { median: 10, p99: 20 }, ...part });

describe("the rows of a table", () => {
  it("are in the order of size, number and kind of workers, whatever that of measuring", () => {
    const parts: CellPart[] = [
      { sizeBytes: MiB, workers: 2, workerKind: "process" },
      { sizeBytes: MiB, workers: 2 },
      { sizeBytes: MiB, workers: 1 },
      { sizeBytes: 64 * KiB, workers: 4 },
    ];
    const [grid] = gridsOf(parts.map((part) => buildCell({ GBps: 50, ...part })));
    expect(textsOf(grid!).map((row) => row.slice(0, 2).join(" x"))).toEqual([
      ...["64 KiB x4", "1 MiB x1", "1 MiB x2", "1 MiB x2 processes"],
    ]);
  });

  it("of scattered blocks are in the order of block, count, workers and memory", () => {
    const parts: CellPart[] = [
      { blockBytes: 8 * KiB, sizeBytes: 64 * KiB },
      { blockBytes: 4 * KiB, sizeBytes: 128 * KiB },
      { blockBytes: 4 * KiB, sizeBytes: 64 * KiB, workers: 2 },
      { blockBytes: 4 * KiB, sizeBytes: 64 * KiB },
      { blockBytes: 4 * KiB, sizeBytes: 64 * KiB, memory: "pageable" },
    ];
    const [rates, costs] = gridsOf(parts.map((part) => buildCell({ GBps: 5, blockWay: "loop", ...part })));
    expect(textsOf(rates!).map((row) => row.slice(0, 4).join(" "))).toEqual([
      "4 KiB 16 1 pageable",
      "4 KiB 16 1 pinned",
      "4 KiB 16 2 pinned",
      "4 KiB 32 1 pinned",
      "8 KiB 8 1 pinned",
    ]);
    expect([rates!.isDetail, costs!.isDetail]).toEqual([undefined, true]);
  });

  it("without --verbose are sizes spread over all with the fewest workers, and the largest with the most", () => {
    const cells = Array.from({ length: 12 }, (_, i) => i + 1).flatMap((size) =>
      [4, 1, 2].map((workers) => buildCell({ sizeBytes: size * MiB, workers, GBps: 50 })),
    );
    const [{ rows, keyRows, coreRows }] = gridsOf(cells) as [Grid];
    const named = (shown: readonly number[]) =>
      shown.map((row) => [rows[row]![0]!.text, rows[row]![1]!.text].join(" x"));
    expect(named(keyRows!)).toEqual([1, 4, 7, 9, 12].map((size) => `${size} MiB x1`).concat("12 MiB x4"));
    expect(named(coreRows!)).toEqual(["12 MiB x1"]);
  });
});

describe("the columns of a table", () => {
  it.each<[string, CellPart[], string[]]>([
    ["pinned beside others", [{ memory: "staged" }, { memory: "pinned" }], ["pinned/link"]],
    ["one other kind", [{ memory: "staged" }], ["staged/link"]],
    ["several others", [{ memory: "staged" }, { memory: "pageable" }], ["best/link"]],
  ])("say whose share of the link it is: %s", (_, parts, heads) => {
    const [grid] = gridsOf(parts.map((part) => buildCell({ GBps: 50, ...part })));
    expect(headsOf(grid!).slice(2 + parts.length)).toEqual(heads);
  });

  it("keep a share of the link that some rows lack", () => {
    const [first, second] = [1, 2].map((workers) => buildCell({ workers, GBps: 31.5 }));
    const stats = second!.stats.map((one) => ({ ...one, linkShare: null }));
    const [grid] = gridsOf([first!, { ...second!, stats }]);
    expect(textsOf(grid!).map((row) => row.at(-1))).toEqual(["49.9 %", "-"]);
  });

  it("have no ratio over a rate of nothing", () => {
    const [grid] = gridsOf([buildCell({ GBps: 50 }), buildCell({ memory: "pageable", GBps: 0 })]);
    expect(headsOf(grid!)[4]).toBe("pinned/pageable");
    expect(textsOf(grid!)[0]![4]).toBe("-");
  });

  it("of latencies have the median before the 99th percentile, for each direction of both at once", () => {
    const cell = latency({ direction: "bidir", GBps: { h2d: 1, d2h: 1 } });
    const [h2d, d2h] = cell.stats;
    const stats = [h2d!, { ...d2h!, latencyUs: { ...d2h!.latencyUs!, median: 30, p99: 40 } }];
    const [grid] = gridsOf([{ ...cell, stats }]);
    expect(grid!.caption).toBe("Both directions at once, latency in µs");
    expect(headsOf(grid!)).toEqual([
      "size",
      "workers",
      "memory",
      "H2D median",
      "H2D p99",
      "D2H median",
      "D2H p99",
    ]);
    expect(textsOf(grid!)).toEqual([["16 MiB", "1", "pinned", "10.0", "20.0", "30.0", "40.0"]]);
  });

  it("of both directions have the gain over pageable, blank for itself, only beside another kind", () => {
    const both = (memory: CellResult["memory"], sum: number) =>
      buildCell({ direction: "bidir", memory, GBps: { h2d: sum / 2, d2h: sum / 2, sum } });
    const [grid] = gridsOf([both("pageable", 10), both("pinned", 63.2)]);
    expect(headsOf(grid!).slice(3)).toEqual(["H2D", "D2H", "sum", "sum/pageable", "sum/2× link"]);
    expect(textsOf(grid!).map((row) => row.slice(5))).toEqual([
      ["10.0", "", "7.9 %"],
      ["63.2", "6.3×", "50.1 %"],
    ]);
    const [staged] = gridsOf([both("staged", 10), both("pinned", 63)]);
    expect(headsOf(staged!)).not.toContain("sum/pageable");
  });
});

describe("tables that are joined in a terminal", () => {
  const cells = [buildCell({ GBps: 50 }), buildCell({ direction: "d2h", GBps: 50 })];

  it("are those of one device's plain copies", () => {
    expect(gridsOf(cells).map(({ joins }) => joins)).toEqual([
      { row: "H2D", caption: "GB/s" },
      { row: "D2H", caption: "GB/s" },
    ]);
    const devices = [0, 1].map((ordinal) => buildDevice({ ordinal }));
    expect(gridsOf(cells, { devices }).map(({ joins }) => joins)).toEqual([undefined, undefined]);
    const beside = buildCell({ beside: "memory", GBps: 50 });
    expect(gridsOf([...cells, beside]).map(({ joins }) => joins)).toEqual([undefined, undefined, undefined]);
  });
});

describe("the matrix of copies between devices", () => {
  it("has the devices in order, whatever that of measuring", () => {
    const devices = [0, 1, 2].map((ordinal) => buildDevice({ ordinal }));
    const between = (device: number, peer: number) =>
      buildCell({
        device,
        peer,
        direction: "p2p",
        memory: "device",
        path: "write",
        GBps: 100 + 10 * device + peer,
      });
    const [grid] = gridsOf([between(2, 0), between(1, 2), between(0, 1)], { devices });
    expect(headsOf(grid!)).toEqual(["path", "from", "to 0", "to 1", "to 2"]);
    expect(textsOf(grid!)).toEqual([
      ["write", "0", "", "101.0", ""],
      ["write", "1", "", "", "112.0"],
      ["write", "2", "120.0", "", ""],
    ]);
  });
});

describe("copies at once", () => {
  const devices = [0, 1].map((ordinal) => buildDevice({ ordinal }));
  const both = { direction: "bidir", GBps: { h2d: 1, d2h: 1 } } as const;

  it("of latencies of both directions are not held against nvbandwidth's rates", () => {
    const cells = [0, 1].map((device) => latency({ ...both, device, together: [0, 1] }));
    const [grid] = gridsOf(cells, { devices });
    expect(headsOf(grid!)).not.toContain("sum");
    expect(grid!.footnote).not.toContain("nvbandwidth");
  });
});

describe("memory of NUMA nodes", () => {
  const devices = [1, 3].map((ordinal) => buildDevice({ ordinal, numaNode: ordinal === 3 ? 1 : null }));
  const at = (device: number, memoryNode: number, GBps: number, part: CellPart = {}) =>
    buildCell({ device, memoryNode, cpuNode: memoryNode, GBps, ...part });
  const staged = { memory: "staged" } as const;
  const cells = [
    ...[1, 0].map((node) => at(3, node, 40 + node, { together: [1, 3] })),
    at(3, 1, 55),
    at(3, 0, 33),
    ...[1, 0].flatMap((cpuNode) =>
      [1, 0].map((node) => at(3, node, 10 + 2 * cpuNode + node, { ...staged, cpuNode })),
    ),
    at(1, 0, 54),
  ];
  const [grid] = gridsOf(cells, { devices }) as [Grid];

  it("have a row for each device, memory and CPUs' node, alone and at once, a column a node", () => {
    expect(headsOf(grid)).toEqual(["device", "sysfs", "memory", "CPUs", "", "node 0", "node 1"]);
    expect(textsOf(grid)).toEqual([
      ["1", "-", "pinned", "nearest", "alone", "54.0", "-"],
      ["3", "node 1", "staged", "node 0", "alone", "10.0", "11.0"],
      ["3", "node 1", "staged", "node 1", "alone", "12.0", "13.0"],
      ["3", "node 1", "pinned", "nearest", "alone", "33.0", "55.0"],
      ["3", "node 1", "pinned", "nearest", "at once", "40.0", "41.0"],
    ]);
  });

  it("show without --verbose the rows in which CPUs matter least", () => {
    expect(grid.keyRows).toEqual([0, 3, 4]);
  });

  it("have a row for each direction of both at once, and workers in the caption if they vary", () => {
    const both = { direction: "bidir", GBps: { h2d: 30, d2h: 31, sum: 61 } } as const;
    const [one, two] = gridsOf(
      [1, 2].map((workers) => buildCell({ ...both, device: 1, memoryNode: 0, cpuNode: 0, workers })),
      { devices },
    );
    expect(textsOf(one!).map((row) => row.slice(4, 6))).toEqual([
      ["alone h2d", "30.0"],
      ["alone d2h", "31.0"],
      ["alone sum", "61.0"],
    ]);
    expect([one!.caption, two!.caption]).toEqual([
      "Both directions at once, by NUMA node of the memory, 16 MiB, 1 worker, GB/s",
      "Both directions at once, by NUMA node of the memory, 16 MiB, 2 workers, GB/s",
    ]);
  });
});
