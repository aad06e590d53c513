import { describe, expect, it } from "vitest";
import type { BarChart, Chart, CurveChart } from "../../../src/draw/chart/chart.js";
import { resultPictures } from "../../../src/report/page/result-charts.js";
import { sampleCharts } from "../../../src/report/page/sample-charts.js";
import type { CellResult } from "../../../src/results/cell-schema.js";
import { buildBlocks } from "../../helpers/blocks.js";
import {
  buildCell,
  buildColdStart,
  buildDevice,
  buildDocument,
  type CellPart,
  type DocumentPart,
  KiB,
  MiB,
} from "../../helpers/result-document.js";

const chartsOf = (cells: CellResult[], part: DocumentPart = {}) =>
  resultPictures(buildDocument({ cells, ...part })).charts;
const namesIn = (charts: readonly Chart[], end: string) =>
  charts.map(({ name }) => name).filter((name) => name.endsWith(end));
const curves = (charts: readonly Chart[], name: string) =>
  charts.find((one) => one.name === name) as CurveChart;
const bars = (charts: readonly Chart[], name: string) => charts.find((one) => one.name === name) as BarChart;
const barsOf = ({ groups }: BarChart) =>
  groups.map(({ name, bars }) => [name, ...bars.map((bar) => `${bar.name}: ${bar.text}`)]);

/** The same cell at two sizes. */
const twoSizes = (part: CellPart) =>
  [MiB, 2 * MiB].map((sizeBytes) => buildCell({ GBps: 50, ...part, sizeBytes }));
const both = (h2d: number, d2h: number) =>
  ({ direction: "bidir", GBps: { h2d, d2h, sum: h2d + d2h } }) as const;
const latency = (median: number, part: CellPart = {}) =>
  buildCell({ mode: "latency", GBps: 1, latencyUs: { median, p99: 2 * median }, ...part });
const devices = [0, 1].map((ordinal) => buildDevice({ ordinal }));

describe("curves by size", () => {
  it("are of threads and of rates alone, without the link's limit for latencies", () => {
    const cells = [
      ...twoSizes({}),
      ...twoSizes({ workerKind: "process", GBps: 10 }),
      ...[MiB, 2 * MiB].map((sizeBytes) => latency(10, { sizeBytes })),
    ];
    const charts = chartsOf(cells);
    expect(curves(charts, "h2d-by-size").curves.map(({ points }) => points.map(({ y }) => y))).toEqual([
      [50, 50],
    ]);
    expect(curves(charts, "h2d-latency-by-size").rules).toEqual([]);
    expect(namesIn(charts, "by-memory")).toEqual([]);
  });

  it("of latencies both ways at once are a chart for each direction", () => {
    const cells = [MiB, 2 * MiB].map((sizeBytes) => {
      const cell = latency(10, { ...both(1, 1), sizeBytes });
      const [h2d, d2h] = cell.stats;
      return { ...cell, stats: [h2d!, { ...d2h!, latencyUs: { ...d2h!.latencyUs!, median: 30 } }] };
    });
    const charts = chartsOf(cells);
    for (const [direction, y] of [
      ["h2d", 10],
      ["d2h", 30],
    ] as const) {
      const chart = curves(charts, `bidir-${direction}-latency-by-size`);
      expect(chart.title).toContain(`Both directions at once, ${direction.toUpperCase()}: µs a copy`);
      expect(chart.curves[0]!.points.map((point) => point.y)).toEqual([y, y]);
    }
  });

  it("are told of the six with the highest ends, with what did not converge", () => {
    const kinds = [
      "pageable",
      "staged",
      "pinned",
      "registered",
      "write-combined",
      "mapped",
      "system",
    ] as const;
    const cells = kinds.flatMap((memory, i) =>
      twoSizes({ memory, GBps: 50 - i, result: { outcome: i === 0 ? "budget" : "converged" } }),
    );
    const chart = curves(chartsOf(cells), "h2d-by-size");
    expect(chart.description).toMatch(/^pageable 50\.0 .*; mapped 45\.0 [^;]*; and 1 more curve\./);
    expect(chart.curves[0]!.points[0]!.text).toBe("1 MiB: 50.0 GB/s ±0.4 % (not converged)");
  });

  it("between devices are of eight pairs at most, and of rates apart from latencies", () => {
    const pairs = [0, 1, 2, 3].flatMap((device) =>
      [0, 1, 2, 3].flatMap((peer) => (peer === device ? [] : [[device, peer]])),
    );
    const cells = pairs.flatMap(([device, peer]) => {
      const part = {
        direction: "p2p",
        memory: "device",
        device: device!,
        peer: peer!,
        path: "write",
      } as const;
      return [...twoSizes(part), ...[MiB, 2 * MiB].map((sizeBytes) => latency(9, { ...part, sizeBytes }))];
    });
    const charts = chartsOf(cells, { devices: [0, 1, 2, 3].map((ordinal) => buildDevice({ ordinal })) });
    expect(namesIn(charts, "by-size")).toEqual(["p2p-write-by-size", "p2p-write-latency-by-size"]);
    const chart = curves(charts, "p2p-write-by-size");
    expect(chart.curves).toHaveLength(8);
    expect(chart.title).toContain("Between devices (P2P), write, 8 of 12 pairs: GB/s");
  });
});

it("a chart whose name is taken already has a number", () => {
  const part = { direction: "p2p", memory: "device", device: 0, peer: 1 } as const;
  const processes = { workerKind: "process", together: [0, 1] } as const;
  const cells = [0, 1].flatMap((device) => [
    buildCell({ device, together: [0, 1], GBps: 50 }),
    buildCell({ ...processes, device, together: [0, 1, 2], GBps: 40 }),
  ]);
  const charts = chartsOf([...cells, buildCell({ ...part, path: "write", GBps: 1 })], { devices });
  expect(namesIn(charts, "at-once").concat(namesIn(charts, "at-once-2"))).toEqual([
    "h2d-at-once",
    "h2d-at-once-2",
  ]);
});

describe("bars of a single size", () => {
  it("are of the fewest threads that were measured, without what nobody asked for, by device and clock", () => {
    const cells = [
      latency(10, { device: 1 }),
      buildCell({ device: 1, GBps: 55 }),
      buildCell({ device: 1, workers: 2, GBps: 60 }),
      buildCell({ device: 1, workerKind: "process", GBps: 70 }),
      buildCell({ device: 1, memory: "host", GBps: 12 }),
      buildCell({ device: 0, GBps: 54 }),
      buildCell({ device: 0, GBps: 53, cache: "warm" }),
    ];
    const charts = chartsOf(cells, { devices });
    expect(namesIn(charts, "by-memory")).toEqual(["gpu1-by-memory", "gpu0-by-memory", "gpu0-warm-by-memory"]);
    expect(barsOf(bars(charts, "gpu1-by-memory"))).toEqual([["pinned", "Host to device (H2D): 55.0"]]);
  });

  it("are none of several sizes", () => {
    expect(namesIn(chartsOf(twoSizes({})), "by-memory")).toEqual([]);
  });

  it("are told of sixteen at most", () => {
    const kinds = ["pageable", "staged", "pinned", "registered", "write-combined", "mapped"] as const;
    const cells = kinds.flatMap((memory) => [
      ...(["h2d", "d2h"] as const).map((direction) => buildCell({ memory, direction, GBps: 50 })),
      buildCell({ memory, ...both(40, 40) }),
    ]);
    const { description } = bars(chartsOf(cells), "by-memory");
    expect(description).toMatch(/; and 2 more bars\.$/);
    expect(description.split("; ")).toHaveLength(17);
  });
});

describe("curves by workers", () => {
  const byWorkers = (part: CellPart, rates: number[]) =>
    rates.map((GBps, i) => buildCell({ workers: 2 ** i, ...part, GBps }));

  it("have no second chart for a size at which workers gain hardly more", () => {
    const cells = [
      ...byWorkers({ sizeBytes: MiB }, [10, 21]),
      ...byWorkers({ sizeBytes: 2 * MiB }, [10, 20]),
    ];
    expect(namesIn(chartsOf(cells), "most-gain")).toEqual([]);
  });

  it("are of rates, the sum for both directions, and of processes in their memory's style if alone", () => {
    const processes = curves(chartsOf(byWorkers({ workerKind: "process" }, [10, 20])), "h2d-by-workers");
    const threads = curves(chartsOf(byWorkers({}, [10, 20])), "h2d-by-workers");
    expect(processes.curves[0]).toMatchObject({ name: "pinned, processes", style: threads.curves[0]!.style });
    const sums = [1, 2].map((workers) => buildCell({ ...both(20, 20), workers }));
    expect(curves(chartsOf(sums), "bidir-by-workers").title).toContain("GB/s, the sum, by number of workers");
    const latencies = [1, 2].map((workers) => latency(10, { workers }));
    expect(namesIn(chartsOf(latencies), "by-workers")).toEqual([]);
  });
});

describe("pinned over pageable", () => {
  const pairs = (pageable: number, part: CellPart = {}) => [
    ...twoSizes({ ...part, GBps: 50 }),
    ...twoSizes({ ...part, memory: "pageable", GBps: pageable }),
  ];
  const shows = "pinned-over-pageable-by-size";
  const gainsOf = (chart: CurveChart) => chart.curves.map(({ points }) => points.map(({ y }) => y));

  it("is a chart for each device, of rates by the fewest workers that have a curve", () => {
    const cells = [
      ...[MiB, 2 * MiB].flatMap((sizeBytes) => [
        latency(10, { sizeBytes, workers: 2 }),
        latency(30, { sizeBytes, workers: 2, memory: "pageable" }),
      ]),
      ...pairs(10, { device: 0, workers: 2 }),
      ...pairs(25, { device: 0, workers: 4 }),
      buildCell({ device: 0, GBps: 50 }),
      ...pairs(5, { device: 1 }),
    ];
    const charts = chartsOf(cells, { devices });
    expect(namesIn(charts, shows)).toEqual([`gpu0-${shows}`, `gpu1-${shows}`]);
    expect(curves(charts, `gpu0-${shows}`).title).toBe(
      "Device 0: Speed of pinned over pageable memory by size, 2 workers",
    );
    expect(gainsOf(curves(charts, `gpu0-${shows}`))).toEqual([[5, 5]]);
    expect(gainsOf(curves(charts, `gpu1-${shows}`))).toEqual([[10, 10]]);
  });

  it("is no chart of one size, and has no interval if a rate may be nothing", () => {
    const oneSize = pairs(10).filter(({ sizeBytes }) => sizeBytes === MiB);
    expect(namesIn(chartsOf(oneSize), shows)).toEqual([]);
    const unsure = curves(chartsOf(pairs(10, { relativeHalfWidth: 1 })), shows);
    expect(unsure.curves[0]!.points[0]).toMatchObject({ low: null, high: null });
  });
});

it("costs of memory have charts for each device, for each direction its own", () => {
  const coldStart = [0, 1].map((device) => {
    const costs = buildColdStart({ device });
    const payOff = { pinned: { h2d: 2 + device, d2h: 7 + device }, registered: { h2d: 0, d2h: 0 } };
    return { ...costs, pinning: costs.pinning.map((record) => ({ ...record, payOff })) };
  });
  const charts = chartsOf([], { devices, coldStart });
  expect(curves(charts, "gpu1-cost-of-pinning-by-size").title).toMatch(/^Device 1: One-time cost/);
  for (const device of [0, 1]) {
    for (const [direction, y] of [
      ["h2d", 2 + device],
      ["d2h", 7 + device],
    ] as const) {
      const chart = curves(charts, `gpu${device}-${direction}-pinning-pays-off-by-size`);
      expect(chart.curves[0]!.points.map((point) => point.y)).toEqual([y, y]);
    }
  }
});

describe("devices at once", () => {
  it("are in the order of their numbers, with a group for each direction's latency of both ways", () => {
    const rates = [1, 0].flatMap((device) => [
      buildCell({ device, GBps: 50 }),
      buildCell({ device, together: [0, 1], GBps: 40 }),
      buildCell({ device, together: [0, 1], sizeBytes: MiB, GBps: 9 }),
      buildCell({ device, together: [0, 1], sizeBytes: 64 * MiB, workerKind: "process", GBps: 8 }),
    ]);
    const chart = bars(chartsOf(rates, { devices }), "h2d-at-once");
    // Of threads, and of these the largest size.
    expect(chart.title).toContain("copies of 16 MiB, 1 worker a device");
    const [group] = barsOf(chart);
    expect(group!.slice(1).map((bar) => bar.split(":")[0])).toEqual([
      ...["device 0 alone", "at once", "device 1 alone", "at once"],
    ]);
    const cells = [0, 1].flatMap((device) => [
      latency(2.341, { ...both(1, 1), device }),
      latency(4.682, { ...both(1, 1), device, together: [0, 1] }),
    ]);
    const groups = barsOf(bars(chartsOf(cells, { devices }), "bidir-latency-at-once"));
    expect(groups.map(([name]) => name)).toEqual(["pinned, H2D", "pinned, D2H"]);
    expect(groups[0]!.slice(1, 3)).toEqual(["device 0 alone: 2.35", "at once: 4.69, 50.0 % as fast"]);
  });

  it("have no share of a rate of nothing", () => {
    const cells = [0, 1].flatMap((device) => [
      buildCell({ device, GBps: 0 }),
      buildCell({ device, together: [0, 1], GBps: 40 }),
    ]);
    expect(barsOf(bars(chartsOf(cells, { devices }), "h2d-at-once"))[0]![0]).toBe(
      "pinned: all devices at once 80.0 GB/s",
    );
  });

  it("of pairs are one chart of up to 40 bars, and rates apart from latencies", () => {
    const pair = { direction: "p2p", memory: "device", path: "write" } as const;
    const cells = [0, 1, 2, 3, 4].flatMap((device) =>
      [0, 1, 2, 3, 4].flatMap((peer) =>
        peer === device
          ? []
          : (["write", "read"] as const).map((path) => buildCell({ ...pair, device, peer, path, GBps: 9 })),
      ),
    );
    const charts = chartsOf([...cells, latency(9, { ...pair, device: 0, peer: 1 })], {
      devices: [0, 1, 2, 3, 4].map((ordinal) => buildDevice({ ordinal })),
    });
    expect(namesIn(charts, "pairs")).toEqual(["p2p-pairs", "p2p-latency-pairs"]);
    expect(bars(charts, "p2p-pairs").groups).toHaveLength(2);
  });
});

it("memory of NUMA nodes has a group for each device and kind, its nodes in order, with the CPUs near to it", () => {
  const at = (memoryNode: number, GBps: number, part: CellPart = {}) =>
    buildCell({ memoryNode, cpuNode: memoryNode, GBps, ...part });
  const cells = [
    at(1, 33, { together: [0, 1] }),
    at(1, 34),
    at(0, 55),
    at(0, 12, { memory: "pageable" }),
    at(0, 5, { memory: "pageable", cpuNode: 1 }),
    at(0, 54, { device: 1 }),
  ];
  expect(barsOf(bars(chartsOf(cells, { devices }), "h2d-by-node"))).toEqual([
    ["device 0, pinned", "node 0: 55.0", "node 1: 34.0", "node 1, all at once: 33.0"],
    ["device 0, pageable", "node 0: 12.0"],
    ["device 1, pinned", "node 0: 54.0"],
  ]);
});

describe("copies beside loads and in chunks", () => {
  it("have groups by direction, rates apart from latencies, and nothing of the host's own copies", () => {
    const cells = [
      buildCell({ ...both(40, 40) }),
      buildCell({ ...both(20, 30), beside: "memory" }),
      buildCell({ ...both(10, 10), beside: "memory", memory: "host" }),
      latency(10, { ...both(1, 1), beside: "memory" }),
    ];
    const charts = chartsOf(cells);
    expect(namesIn(charts, "beside")).toEqual(["bidir-beside", "bidir-latency-beside"]);
    expect(barsOf(bars(charts, "bidir-beside"))).toEqual([
      ["pinned, sum", "alone: 80.0", "beside device memory: 50.0, 62.5 % of alone"],
    ]);
    expect(bars(charts, "bidir-latency-beside").groups.map(({ name }) => name)).toEqual([
      ...["pinned, H2D", "pinned, D2H"],
    ]);
  });

  it("are in the order of chunks, with what they are held against as outlines", () => {
    const chunked = [4, 1].map((chunks) => buildCell({ chunks, GBps: 25, result: { computeNs: 2e6 } }));
    const { groups } = bars(chartsOf([buildCell({ GBps: 50 }), ...chunked]), "h2d-pipeline");
    expect(groups[0]!.bars.map(({ name, isReference = false }) => [name, isReference])).toEqual([
      ["copy alone", true],
      ["kernels alone", true],
      ["1 chunk", false],
      ["4 chunks", false],
    ]);
  });

  it("have their gain over one chunk, and none if that was not measured", () => {
    const chunked = [1, 2, 4].map((chunks) => buildCell({ chunks, GBps: 25 * chunks }));
    const gainsOf = (cells: CellResult[]) => {
      const [group] = bars(chartsOf(cells), "h2d-pipeline").groups;
      return group!.bars.map(({ text }) => / gain .*/.exec(text)?.[0] ?? null);
    };
    expect(gainsOf(chunked)).toEqual([null, " gain 2.0×", " gain 4.0×"]);
    expect(gainsOf(chunked.slice(1))).toEqual([null, null]);
  });
});

it("blocks have a chart for each device, and for each number of blocks if one size was copied in several", () => {
  const cells = [1, 0].flatMap((device) =>
    [256, 512].flatMap((count) =>
      [4 * KiB, 8 * KiB].flatMap((bytes) =>
        buildBlocks(bytes, count, 50, { loop: [count / 64, 100] }, { device }),
      ),
    ),
  );
  const charts = chartsOf(cells, { devices });
  expect(namesIn(charts, "by-block")).toEqual([
    ...["gpu0-h2d-pinned-256-blocks-by-block", "gpu0-h2d-pinned-512-blocks-by-block"],
    ...["gpu1-h2d-pinned-256-blocks-by-block", "gpu1-h2d-pinned-512-blocks-by-block"],
  ]);
  const chart = curves(charts, "gpu1-h2d-pinned-512-blocks-by-block");
  expect(chart.title).toMatch(/by size of a block, 512 blocks, 1 worker$/);
  expect(chart.curves.map(({ points }) => points.map(({ y }) => y))).toEqual([
    [50, 50],
    [8, 8],
  ]);
});

describe("samples of several series", () => {
  const series = (name: string, process: number | null, direction = "h2d") => ({
    ...{ id: "a", name, style: 3, direction, process, unit: "GB/s" as const },
    ...{ startMs: [500, 2500], values: [50, 55] },
  });

  it("of both directions are named after their direction, the cell after what they have in common", () => {
    const [time, distribution] = sampleCharts([
      ...["H2D", "D2H"].map((half) => series(`H2D+D2H pinned 1 MiB, ${half}`, null, half.toLowerCase())),
    ]) as [CurveChart, CurveChart];
    expect(time.title).toMatch(/over time: H2D\+D2H pinned 1 MiB$/);
    expect(distribution.title).toMatch(/of one cell: H2D\+D2H pinned 1 MiB$/);
    for (const chart of [time, distribution]) {
      expect(chart.curves.map(({ name }) => name.split(", ").at(-1))).toEqual(["H2D", "D2H"]);
      expect(chart.curves.map(({ style }) => style)).toEqual([3, 4]);
    }
    expect(time.description).toContain("within 2.5 s");
  });

  it("of more processes than there are styles share a curve for each direction", () => {
    const many = Array.from({ length: 60 }, (_, i) => series(`pinned, ${i % 2 ? "D2H" : "H2D"}`, i >> 1));
    const [time] = sampleCharts(many) as [CurveChart];
    expect(time.curves.map(({ name, points }) => [name, points.length])).toEqual([
      ["pinned, H2D", 60],
      ["pinned, D2H", 60],
    ]);
  });

  it("have columns around the middle of their values, and six of them at least", () => {
    const [, distribution] = sampleCharts([series("H2D pinned 1 MiB", null)]) as [CurveChart, CurveChart];
    const [{ points, columnWidth }] = distribution.curves as [CurveChart["curves"][number]];
    expect(points.length).toBeGreaterThanOrEqual(5);
    for (const value of [50, 55]) {
      const holding = points.filter(({ x }) => Math.abs(x - value) <= columnWidth! / 2);
      expect(holding.some(({ y }) => y === 1)).toBe(true);
    }
  });
});
