import { describe, expect, it } from "vitest";
import { comparisonCharts } from "../../../src/compare/report/comparison-charts.js";
import { comparisonKind } from "../../../src/compare/report/comparison-report.js";
import type { ForestChart } from "../../../src/draw/chart/chart.js";
import { buildCellComparison, buildComparison, buildGroup } from "../../helpers/comparison.js";
import { blocksOf, reportOf } from "../../helpers/drawn.js";
import { MiB } from "../../helpers/result-document.js";

const chartsOf = (...cells: Parameters<typeof buildCellComparison>[0][]) =>
  comparisonCharts(buildComparison({ cells: cells.map(buildCellComparison) })) as ForestChart[];

describe("a comparison's forest plot", () => {
  it("has a row a cell with its change, interval and thresholds, sorted by change", () => {
    const [chart] = chartsOf(
      { sizeBytes: 16 * MiB, change: 0.01 },
      { sizeBytes: 64 * MiB, change: -0.098, margin: 0.003, verdict: "slower", threshold: 0.05 },
    );
    expect(chart).toMatchObject({
      ...{ kind: "forest", name: "throughput-changes", limitName: "threshold" },
      title: "Throughput: change of each cell (more is faster)",
      description:
        "1 not slower and 1 slower; from −9.8 % (H2D pinned 64 MiB x1) to +1.0 % (H2D pinned 16 MiB x1).",
      x: { label: "change of GB/s" },
    });
    expect(chart!.rows.map(({ label, figure }) => [label, figure])).toEqual([
      ["H2D pinned 64 MiB x1", "−9.8 %"],
      ["H2D pinned 16 MiB x1", "+1.0 %"],
    ]);
    const [slower] = chart!.rows;
    expect(slower!.value).toBeCloseTo(-0.098);
    expect(slower!.low).toBeLessThan(slower!.value);
    expect(slower!.high).toBeGreaterThan(slower!.value);
    expect(slower!.limits).toEqual([-0.05, 0.05]);
    expect(chart!.kinds[slower!.kind]!.name).toMatch(/^slower: /);
    expect(slower!.text).toMatch(/^H2D pinned 64 MiB x1: 55\.4 GB\/s before, .* now: −9\.8 %/);
  });

  it("shows times in a chart of their own", () => {
    const charts = chartsOf({}, { mode: "latency", baseline: 6, change: 0.2, verdict: "slower" });
    expect(charts.map(({ name }) => name)).toEqual(["throughput-changes", "latency-changes"]);
    expect(charts[1]).toMatchObject({
      title: "Time of a copy: change of each cell (less is faster)",
      x: { label: "change of µs a copy" },
    });
  });

  it("leaves out what has no change, and says so", () => {
    const [chart] = chartsOf({}, { sizeBytes: 4096, change: null, verdict: "missing" });
    expect(chart!.rows).toHaveLength(1);
    expect(chart!.description).toContain("1 cell without a change is only in the table");
    expect(chartsOf({ change: null, verdict: "missing" })).toEqual([]);
    const [, times] = chartsOf({}, { change: null, verdict: "missing" }, { mode: "latency" });
    expect(times!.description).not.toContain("only in the table");
  });

  it("shows large losses of many cells as well as large gains, and each direction by itself", () => {
    const many = Array.from({ length: 40 }, (_, i) => ({
      ...{ sizeBytes: (i + 1) * MiB, change: i < 30 ? 0.001 : -0.1 },
      direction: i % 2 === 0 ? ("h2d" as const) : ("d2h" as const),
    }));
    const [cells, kinds] = chartsOf(...many);
    expect(cells!.rows.filter(({ value }) => value < 0)).toHaveLength(10);
    expect(kinds!.rows.map(({ label }) => label)).toEqual(["H2D pinned, 20 cells", "D2H pinned, 20 cells"]);
  });

  it("shows of more than 24 cells those that are not the same, then the largest changes, and sums up all by kind", () => {
    const many = Array.from({ length: 90 }, (_, index) => ({
      sizeBytes: (index + 1) * MiB,
      memory: index < 30 ? "pageable" : "pinned",
      change: index / 10_000,
      ...(index === 3 ? { verdict: "inconclusive" as const } : { verdict: "not slower" as const }),
    }));
    const [cells, kinds] = chartsOf(...many);
    expect(cells!.rows).toHaveLength(24);
    expect(cells!.title).toContain("24 most remarkable of 90 cells");
    expect(cells!.rows.map(({ label }) => label)).toContain("H2D pageable 4 MiB x1");
    expect(cells!.rows.map(({ label }) => label)).not.toContain("H2D pageable 3 MiB x1");
    expect(kinds!.name).toBe("throughput-changes-by-kind");
    expect(kinds!.rows.map(({ label }) => label)).toEqual(["H2D pageable, 30 cells", "H2D pinned, 60 cells"]);
    expect(kinds!.title).toBe("Throughput: change of all 90 cells, by direction and memory (more is faster)");
    expect(kinds!.rows[0]).toMatchObject({
      ...{ low: 0, high: 0.0029 },
      text: "H2D pageable, 30 cells: +0.1 % in the middle, from 0.0 % to +0.3 %",
    });
  });

  it("has the figure of a group's table as the change of the group's middle cell", () => {
    const cells = Array.from({ length: 30 }, (_, index) =>
      buildCellComparison({ sizeBytes: (index + 1) * MiB, change: -0.0999 }),
    );
    const charts = (change: number, of = cells) =>
      comparisonCharts(buildComparison({ cells, groups: [buildGroup(of, { change })] })) as ForestChart[];
    expect(charts(-0.0985)[1]!.rows).toMatchObject([{ value: -0.0985, figure: "−9.9 %" }]);
    expect(charts(-0.0985, cells.slice(1))[1]!.rows).toMatchObject([{ figure: "−10.0 %" }]);
    // Which may lie beyond those of all cells.
    expect(charts(-0.05)[1]!.rows).toMatchObject([{ value: -0.05, low: -0.0999, high: -0.05 }]);
    const other = [{ ...buildGroup(cells, { change: -0.05 }), moved: "d2h" as const }];
    const [, kinds] = comparisonCharts(buildComparison({ cells, groups: other })) as ForestChart[];
    expect(kinds!.rows).toMatchObject([{ figure: "−10.0 %" }]);
  });

  it("has the middle of the times themselves for latencies, as a group's change is one of speed", () => {
    const cells = Array.from({ length: 30 }, (_, index) =>
      buildCellComparison({ mode: "latency", sizeBytes: (index + 1) * MiB, change: 0.1 }),
    );
    const groups = [buildGroup(cells, { change: -0.09 })];
    const [, kinds] = comparisonCharts(buildComparison({ cells, groups })) as ForestChart[];
    expect(kinds!.rows).toMatchObject([{ value: 0.1, figure: "+10.0 %" }]);
  });
});

describe("a comparison's report", () => {
  it("shows the verdict, both machines with differences first, and both times", () => {
    const { baseline, candidate } = buildComparison();
    const side = (driver: string, startedAt: string) => ({
      fingerprint: { gpu: "NVIDIA H200", driver },
      startedAt,
    });
    const report = reportOf(
      comparisonKind,
      buildComparison({
        cells: [buildCellComparison({ change: -0.1, verdict: "slower" })],
        baseline: { ...baseline, ...side("580", "2026-11-01T10:00:00Z") },
        candidate: {
          ...{ ...candidate, startedAt: "2026-11-20T10:00:00Z" },
          fingerprint: { gpu: "NVIDIA H200", driver: "590", kernel: "6.8" },
        },
        outcome: "regression",
      }),
    );
    expect(report.name).toBe("Check: NVIDIA H200, 2026-11-01 10:00 UTC and 2026-11-20 10:00 UTC");
    expect(reportOf(comparisonKind, buildComparison({ command: "compare" })).name).toMatch(/^Comparison: /);
    expect(blocksOf(report, "answer")).toMatchObject([
      { text: expect.stringContaining("−10.0 %"), tone: "failure" },
    ]);
    const [machines] = blocksOf({ ...report, blocks: blocksOf(report, "fold").at(-1)!.blocks }, "table");
    expect(machines!.grid.rows.map((row) => row.map(({ text }) => text))).toEqual([
      ["driver", "580", "590"],
      ["kernel", "not known", "6.8"],
      ["gpu", "NVIDIA H200", "NVIDIA H200"],
    ]);
  });
});

it("a row of a forest plot has the threshold of its own cell", () => {
  const [chart] = chartsOf({ change: -0.01, threshold: 0.03 }, { change: 0.01, threshold: 0.1, workers: 2 });
  expect(chart!.rows.map(({ limits }) => limits)).toEqual([
    [-0.03, 0.03],
    [-0.1, 0.1],
  ]);
});

it("rows of equal changes are in the order of the cells' ids", () => {
  const [chart] = chartsOf({ workers: 2 }, { workers: 1 });
  expect(chart!.rows.map(({ label }) => label)).toEqual(["H2D pinned 16 MiB x1", "H2D pinned 16 MiB x2"]);
});
