import { describe, expect, it } from "vitest";
import type { CurveChart } from "../../src/draw/chart/chart.js";
import { headTexts } from "../../src/draw/report.js";
import { resultPictures } from "../../src/report/page/result-charts.js";
import { resultKind } from "../../src/report/result-report.js";
import { cellGrids } from "../../src/report/tables/cell-grids.js";
import { termsNamed } from "../../src/report/terms.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { blockCells, buildBlocks } from "../helpers/blocks.js";
import { drawn } from "../helpers/drawn.js";
import {
  buildCell,
  buildDistribution,
  buildDocument,
  buildSkipped,
  KiB,
  MiB,
} from "../helpers/result-document.js";

const gridsOf = (cells: CellResult[]) => {
  const grids = cellGrids(buildDocument({ cells }));
  return grids
    .filter(({ caption }) => caption.includes("in scattered blocks"))
    .map(({ caption, columns, rows }) => ({
      caption,
      heads: headTexts(columns),
      rows: rows.map((row) => row.map(({ text }) => text)),
    }));
};

const two = [
  ...buildBlocks(4 * KiB, 4096, 55.1, {
    loop: [1.41, 2850],
    batch: [2.83, 1420],
    kernel: [49.3, 5.2],
    "kernel on 8": [31.5, 5.1],
    gather: [8.82, 455],
  }),
  ...buildBlocks(MiB, 256, 55.3, { loop: [51.9, 19500], gather: [5.84, 179_000] }),
];

describe("copies in scattered blocks", () => {
  const [rates, costs] = gridsOf(two);

  it("have their rates in a row for each size of a block, a column a way, beside those in one piece", () => {
    expect(rates).toEqual({
      caption: "Host to device (H2D), in scattered blocks, GB/s",
      heads: ["block", "count", "memory", "one piece", "loop", "batch", "kernel", "kernel 8 SMs", "gather"],
      rows: [
        ["4 KiB", "4096", "pinned", "55.1", "1.41", "2.83", "49.3", "31.5", "8.82"],
        ["1 MiB", "256", "pinned", "55.3", "51.9", "", "", "", "5.84"],
      ],
    });
  });

  it("have in a second table how many blocks a millisecond they are, and what each takes of a CPU", () => {
    expect(costs).toEqual({
      caption: "Host to device (H2D), in scattered blocks, what a block takes",
      heads: ["block", "memory", "", "loop", "batch", "kernel", "kernel 8 SMs", "gather"],
      rows: [
        ["4 KiB", "pinned", "blocks/ms", "344", "690", "12036", "7690", "2153"],
        ["4 KiB", "pinned", "host ns", "2850", "1420", "5.20", "5.10", "455"],
        ["1 MiB", "pinned", "blocks/ms", "49.4", "", "", "", "5.56"],
        ["1 MiB", "pinned", "host ns", "19500", "", "", "", "179000"],
      ],
    });
  });

  it("have the sum of both directions at once, and the blocks of both", () => {
    const cells = buildBlocks(4 * KiB, 4096, 90, { loop: [2.6, 3100] }, { direction: "bidir" });
    const [both, costs] = gridsOf(cells);
    expect(both).toMatchObject({
      caption: "Both directions at once, in scattered blocks, GB/s, the sum",
      rows: [["4 KiB", "4096", "pinned", "90.0", "2.60"]],
    });
    expect(costs).toMatchObject({
      caption: "Both directions at once, in scattered blocks, what a block takes",
      rows: [
        ["4 KiB", "pinned", "blocks/ms", "634"],
        ["4 KiB", "pinned", "host ns", "3100"],
      ],
    });
  });

  it("say how many workers if they are several, and how many blocks if one size has two counts", () => {
    const cells = [4096, 8192].flatMap((count) =>
      buildBlocks(4 * KiB, count, 55, { loop: [1.4, 2850] }, { workers: 2 }),
    );
    const [first, second] = gridsOf(cells);
    expect(first!.heads.slice(0, 4)).toEqual(["block", "count", "workers", "memory"]);
    expect(second!.rows.map((row) => row.slice(0, 4))).toEqual([
      ["4 KiB", "4096", "2", "pinned"],
      ["4 KiB", "4096", "2", "pinned"],
      ["4 KiB", "8192", "2", "pinned"],
      ["4 KiB", "8192", "2", "pinned"],
    ]);
  });

  it("show what was skipped or failed as other tables do", () => {
    const part = { sizeBytes: 16 * MiB, blockBytes: 4 * KiB } as const;
    const cells = [
      buildSkipped({ ...part, blockWay: "batch" }, "the driver lacks cuMemcpyBatchAsync"),
      buildCell({ ...part, blockWay: "loop", GBps: 1.4 }),
      buildCell({
        ...{ ...part, blockWay: "kernel", GBps: 1.4 },
        result: { outcome: "mismatch", hostNsPerBlock: buildDistribution(100) },
      }),
    ];
    const [first, second] = gridsOf(cells);
    expect(first!.rows[0]!.slice(3)).toEqual(["", "1.40", "-", "MISMATCH"]);
    // A result of another program may lack what a block takes.
    expect(second!.rows[1]!.slice(3)).toEqual(["-", "-", "-"]);
  });

  it("have heads and words that are explained", () => {
    const words = [...rates!.heads, ...costs!.heads, ...costs!.rows.map((row) => row[2]!)];
    expect(words.filter((word) => word !== "" && termsNamed(word).length === 0)).toEqual([]);
  });

  it("are the same in Markdown", () => {
    expect(drawn(resultKind, buildDocument({ cells: two }), "markdown")).toContain(
      "| 4 KiB | 4096 | pinned | 55.1 | 1.41 | 2.83 | 49.3 | 31.5 | 8.82 |",
    );
  });

  it("have columns of their own in CSV, behind those before them", () => {
    const [head, , loop, , , few] = drawn(resultKind, buildDocument({ cells: two }), "csv")
      .trim()
      .split("\n");
    expect(head).toMatch(
      /,block_bytes,block_way,block_sms,host_ns_per_block_median,host_ns_per_block_low,host_ns_per_block_high,cpu_node,memory_node$/,
    );
    expect(loop).toMatch(/,4096,loop,,2850,2838\.6,2861\.4,,$/);
    expect(few).toMatch(/,4096,kernel,8,5\.1,/);
  });
});

describe("charts of scattered blocks", () => {
  const charts = resultPictures(buildDocument({ cells: blockCells() })).charts.filter(({ name }) =>
    name.endsWith("by-block"),
  ) as CurveChart[];

  it("are one for each direction and kind of memory, a curve a way, over the size of a block", () => {
    expect(charts.map(({ name }) => name)).toEqual([
      "h2d-pageable-by-block",
      "h2d-pinned-by-block",
      "d2h-pinned-by-block",
    ]);
    const [, pinned] = charts;
    expect(pinned!.title).toBe(
      "Host to device (H2D) in scattered blocks, pinned: GB/s by size of a block, 1 worker",
    );
    expect(pinned!.curves.map(({ name, points }) => `${name}: ${points.length}`)).toEqual([
      "one piece: 3",
      "loop: 3",
      "batch: 3",
      "kernel: 3",
      "kernel on 8 SMs: 3",
      "gather: 3",
    ]);
    expect(pinned!.curves[1]!.points[0]).toMatchObject({ x: 4 * KiB, y: 1.41 });
  });

  it("have the sum of both directions at once", () => {
    const cells = [4 * KiB, MiB].flatMap((bytes) =>
      buildBlocks(bytes, 256, 90, { loop: [2.6, 3100] }, { direction: "bidir" }),
    );
    const chart = resultPictures(buildDocument({ cells })).charts.find(
      ({ name }) => name === "bidir-pinned-by-block",
    ) as CurveChart;
    expect(chart.title).toContain("pinned: GB/s, the sum, by size of a block");
    expect(chart.curves.map(({ points }) => points.map(({ y }) => y))).toEqual([
      [90, 90],
      [2.6, 2.6],
    ]);
  });

  it("are of the fewest workers, and name the others", () => {
    const cells = [2, 1].flatMap((workers) =>
      [4 * KiB, MiB].flatMap((bytes) =>
        buildBlocks(bytes, 256, 50 + workers, { loop: [workers, 3100] }, { workers }),
      ),
    );
    const chart = resultPictures(buildDocument({ cells })).charts.find(
      ({ name }) => name === "h2d-pinned-by-block",
    ) as CurveChart;
    expect(chart.title).toContain("1 worker");
    expect(chart.description).toContain("The tables also have 2 workers.");
    expect(chart.curves.map(({ points }) => points.map(({ y }) => y))).toEqual([
      [51, 51],
      [1, 1],
    ]);
  });

  it("are none of a single size", () => {
    const cells = buildBlocks(4 * KiB, 4096, 55, { loop: [1.4, 2800] });
    expect(resultPictures(buildDocument({ cells })).charts.map(({ name }) => name)).not.toContain(
      "h2d-pinned-by-block",
    );
  });
});
