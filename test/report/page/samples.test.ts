import { describe, expect, it } from "vitest";
import type { CurveChart } from "../../../src/draw/chart/chart.js";
import type { Chapter, SampleSeries } from "../../../src/draw/page/chapter.js";
import { sampleData } from "../../../src/draw/page/sample-data.js";
import { printableText } from "../../../src/draw/printable-text.js";
import { sampleCharts, sampleSeries } from "../../../src/report/page/sample-charts.js";
import type { CellResult, CellSamples } from "../../../src/results/cell-schema.js";
import {
  buildCell,
  buildDocument,
  buildMismatch,
  buildSkipped,
  KiB,
  MiB,
} from "../../helpers/result-document.js";

function columns(part: Partial<CellSamples>): CellSamples {
  return {
    direction: "h2d",
    bytesPerSample: 1e9,
    startNs: [2e6, 1e6],
    durationNs: [2e7, 1e7],
    round: [0, 0],
    ...part,
  };
}

function seriesOf(...cells: CellResult[]): SampleSeries[] {
  return sampleSeries(buildDocument({ cells }));
}

const withSamples = (cell: CellResult, ...samples: CellSamples[]): CellResult => ({ ...cell, samples });

describe("the charts of samples", () => {
  it("are folded away, and their axes are as long as the samples differ", () => {
    const samples = columns({ durationNs: [1.001e7, 1e7] });
    const charts = sampleCharts(seriesOf(withSamples(buildCell({ GBps: 75 }), samples)));
    expect(charts.map(({ isFolded }) => isFolded)).toEqual([true, true]);
    expect(charts[0]!.y.includes ?? []).toEqual([]);
  });
});

describe("the samples of a cell", () => {
  it("are rates in the order of time", () => {
    const [series] = seriesOf(withSamples(buildCell({ GBps: 75 }), columns({})));
    expect(series).toMatchObject({ unit: "GB/s", startMs: [1, 2], values: [100, 50], process: null });
  });

  it("count what is read and what is written within a device, as its rate does", () => {
    const cell = buildCell({ direction: "d2d", memory: "device", GBps: 150 });
    const [series] = seriesOf(withSamples(cell, columns({ direction: "d2d" })));
    expect(series!.values).toEqual([200, 100]);
  });

  it("are times of a copy if latency was measured", () => {
    const cell = buildCell({ mode: "latency", GBps: 1, latencyUs: { median: 15, p99: 20 } });
    const [series] = seriesOf(withSamples(cell, columns({ durationNs: [20_000, 10_000] })));
    expect(series).toMatchObject({ unit: "µs", values: [10, 20] });
  });

  it("are a series a direction and process", () => {
    const cell = buildCell({ direction: "bidir", GBps: { h2d: 40, d2h: 40, sum: 80 } });
    const parts = [0, 1].flatMap((process) =>
      (["h2d", "d2h"] as const).map((direction) => columns({ direction, process })),
    );
    const series = seriesOf(withSamples(cell, ...parts));
    expect(series.map(({ direction, process }) => `${direction} ${process}`)).toEqual([
      "h2d 0",
      "d2h 0",
      "h2d 1",
      "d2h 1",
    ]);
    expect(new Set(series.map(({ id }) => id)).size).toBe(1);
    expect(series.map(({ name }) => name.split(", ").at(-1))).toEqual(["H2D", "D2H", "H2D", "D2H"]);
  });

  it("leave out what no machine measures", () => {
    const odd = columns({ startNs: [1e6, 2e6, 1e300], durationNs: [1e7, 1e-320, 1e7], round: [0, 0, 0] });
    expect(seriesOf(withSamples(buildCell({ GBps: 100 }), odd))[0]!.values).toEqual([100]);
  });
});

describe("the cell whose samples are drawn", () => {
  const firstOf = (...cells: CellResult[]) => seriesOf(...cells)[0]!.id;

  it("is the largest H2D copy from pinned memory by the fewest workers", () => {
    const telling = buildCell({ sizeBytes: 64 * MiB, workers: 1, GBps: 55 });
    const others = [
      buildCell({ sizeBytes: 64 * MiB, workers: 4, GBps: 55 }),
      buildCell({ sizeBytes: 64 * KiB, GBps: 20 }),
      buildCell({ sizeBytes: 256 * MiB, memory: "pageable", GBps: 10 }),
      buildCell({ sizeBytes: 256 * MiB, direction: "d2h", GBps: 55 }),
      buildCell({ sizeBytes: 256 * MiB, beside: "host", GBps: 30 }),
      buildCell({ sizeBytes: 256 * MiB, workerKind: "process", GBps: 30 }),
    ];
    expect(firstOf(...others, telling)).toBe(telling.id);
  });

  it("is no control of the host's memory if a copy to the device was measured", () => {
    const control = buildCell({ sizeBytes: 64 * MiB, memory: "host", GBps: 12 });
    const copy = buildCell({ sizeBytes: 64 * KiB, memory: "pageable", GBps: 9 });
    expect(firstOf(control, copy)).toBe(copy.id);
  });

  it("is one with figures that count", () => {
    const good = buildCell({ memory: "pageable", GBps: 10 });
    expect(firstOf(buildMismatch({ GBps: 55 }), buildSkipped({ memory: "mapped" }, "no room"), good)).toBe(
      good.id,
    );
  });

  it("is none if nothing was measured", () => {
    expect(seriesOf(buildSkipped({}, "no room"))).toEqual([]);
    expect(sampleCharts([])).toEqual([]);
  });
});

describe("the charts of samples", () => {
  const series: SampleSeries = {
    id: "a",
    name: "H2D pinned 64 MiB x1",
    style: 3,
    direction: "h2d",
    process: null,
    unit: "GB/s",
    startMs: [500, 1000, 1500],
    values: [50, 55, 55],
  };
  const charts = (...some: SampleSeries[]) => sampleCharts(some) as [CurveChart, CurveChart];

  it("show every sample at its second, and how many had which rate, with the median as a line in both", () => {
    const [time, distribution] = charts(series, { ...series, id: "b", values: [1, 2, 3] });
    expect(time.curves[0]!.points.map(({ x, y }) => [x, y])).toEqual([
      [0.5, 50],
      [1, 55],
      [1.5, 55],
    ]);
    expect(distribution.curves[0]!.points.reduce((sum, { y }) => sum + y, 0)).toBe(3);
    expect(time.rules).toEqual([{ axis: "y", value: 55, label: "median 55.0 GB/s" }]);
    expect(distribution.rules).toEqual([{ axis: "x", value: 55, label: "median 55.0 GB/s" }]);
    expect(time.description).toBe("3 samples within 1.5 s: from 50.0 GB/s to 55.0 GB/s, median 55.0 GB/s.");
  });

  it("tell processes apart over time, and count them together", () => {
    const [time, distribution] = charts(...[0, 1].map((process) => ({ ...series, process })));
    expect(time.curves.map(({ name }) => name)).toEqual(["process 1", "process 2"]);
    expect(new Set(time.curves.map(({ style }) => style)).size).toBe(2);
    expect(distribution.curves).toHaveLength(1);
    expect(distribution.curves[0]!.points.reduce((sum, { y }) => sum + y, 0)).toBe(6);
  });
});

describe("the samples that a page carries", () => {
  const chapterWith = (samples: SampleSeries[]) => ({ samples }) as unknown as Chapter;
  const series = seriesOf(withSamples(buildCell({ GBps: 75 }), columns({ startNs: [1_234_567, 2_345_678] })));

  it("take at most 9 bytes a sample of a cell with many", () => {
    const count = 1000;
    const startNs = Array.from({ length: count }, (_, index) => 1e9 + index * 4.9e6);
    const durationNs = startNs.map((_, index) => 4.8e6 + (index % 13) * 1e4);
    const many = columns({ bytesPerSample: 268_435_456, startNs, durationNs, round: startNs.map(() => 0) });
    const json = sampleData([chapterWith(seriesOf(withSamples(buildCell({ GBps: 55 }), many)))]);
    expect(json.length / count).toBeLessThan(9);
  });

  it("cannot end the element that they stand in, nor begin a comment of it", () => {
    const name = "</script><!--<script>\u2028&";
    const text = sampleData([chapterWith(series.map((one) => ({ ...one, name })))]);
    expect(text).not.toMatch(/[<>&\u2028]/);
    expect(JSON.parse(text)[0][0].name).toBe(printableText(name));
  });
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
