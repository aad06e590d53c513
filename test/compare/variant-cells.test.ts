import { describe, expect, it } from "vitest";
import { comparisonSchema } from "../../src/compare/comparison.js";
import { sensitivityOf } from "../../src/compare/evidence/sensitivity.js";
import { describeHistory } from "../../src/compare/history/courses.js";
import { joinRuns } from "../../src/compare/series.js";
import { kindOf } from "../../src/results/variant.js";
import { buildEntry, buildFigure, pinnedId } from "../helpers/history.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, resultSet, usualRule } from "../helpers/runs.js";

/** A cell of each kind that is not plain. */
const variants: CellPart[] = [
  { memory: "pageable", workerKind: "process", GBps: 20 },
  { memory: "pinned", together: [0, 1], GBps: 50 },
  { memory: "pinned", beside: "memory", GBps: 50 },
  { memory: "pinned", chunks: 4, GBps: 40 },
  { memory: "device", direction: "p2p", peer: 1, path: "read", GBps: 390 },
  { memory: "pinned", blockBytes: 4096, blockWay: "kernel", blockSms: 8, GBps: 31 },
];

describe("variants of cells in comparisons", () => {
  const before = buildRuns({ cells: variants });

  it("are joined by their ids, which have the variant", () => {
    const comparison = compareRuns(before, buildRuns({ cells: variants, seed: 2 }));
    expect(comparison.cells.map(({ id }) => id.split("/").slice(8).join("/"))).toEqual([
      "process",
      "together-0-1",
      "beside-memory",
      "chunks-4",
      "to-1/read",
      "blocks-4096-kernel-sms-8",
    ]);
    expect(comparison.cells[1]).toMatchObject({ together: [0, 1] });
    expect(comparison.cells[4]).toMatchObject({ peer: 1, path: "read" });
    expect(comparison.cells[5]).toMatchObject({ blockBytes: 4096, blockWay: "kernel", blockSms: 8 });
    expect(comparisonSchema.parse(comparison)).toEqual(comparison);
  });

  it("are separate kinds, because what runs with them adds noise", () => {
    const { series } = joinRuns({ baseline: resultSet(before).runs, first: [], fresh: [] });
    expect(series.map(kindOf)).toEqual([
      "pageable process",
      "pinned together",
      "pinned beside memory",
      "pinned pipeline",
      "device read",
      "pinned blocks kernel",
    ]);
    const latency = { ...series[1]!, unit: "us" as const };
    expect(kindOf(latency)).toBe("pinned latency together");
  });

  it("do not affect the noise of plain cells", () => {
    const plain = [1, 2, 3, 4].map((workers): CellPart => ({ workers, GBps: 55 }));
    const noisy = (part: CellPart) =>
      [1, 2, 3, 4].map((workers): CellPart => ({ workers, GBps: 50, ...part }));
    const quietRuns = buildRuns({ cells: plain, deviation: 0.001, count: 10 });
    const noisyRuns = buildRuns({ cells: noisy({ together: [0, 1] }), deviation: 0.1, count: 10, seed: 5 });
    const both = quietRuns.map((run, i) => ({ ...run, cells: [...run.cells, ...noisyRuns[i]!.cells] }));
    const kindsOf = (runs: typeof both) => sensitivityOf(resultSet(runs).runs, 5, usualRule)!.kinds;
    const [alone] = kindsOf(quietRuns);
    const [pinned, together] = kindsOf(both);
    expect(pinned).toMatchObject({ name: "pinned", cells: 4, largestDeviation: alone!.largestDeviation });
    expect(together).toMatchObject({ name: "pinned together", cells: 4 });
    expect(together!.typicalDeviation).toBeGreaterThan(20 * pinned!.typicalDeviation);
  });

  it.each(variants.slice(1))("fail no comparison by single slow runs: %o", (part) => {
    const speed = [0.6, 0.6, 1, 1, 1];
    const unsteady = compareRuns(buildRuns({ cells: [part] }), buildRuns({ cells: [part], speed, seed: 2 }));
    expect(unsteady).toMatchObject({ outcome: "pass", counts: { unsteady: 1 } });
    const slower = compareRuns(
      buildRuns({ cells: [part] }),
      buildRuns({ cells: [part], speed: 0.6, seed: 2 }),
    );
    expect(slower).toMatchObject({ outcome: "regression", counts: { slower: 1 } });
  });
});

describe("variants of cells in a history", () => {
  it("have their own groups", () => {
    const ids = ["", "/process", "/together-0-1", "/beside-compute", "/chunks-8", "/blocks-4096-loop"].map(
      (end) => pinnedId + end,
    );
    const entries = [buildEntry(0, { series: ids.map((id) => buildFigure({ id })) })];
    const history = { entries, notes: [] };
    const { courses } = describeHistory({ version: "0.1.0", path: "history", history, cells: null });
    expect(courses.map(({ name }) => name)).toEqual([
      "h2d pinned",
      "h2d pinned, process",
      "h2d pinned, together",
      "h2d pinned, beside compute",
      "h2d pinned, pipeline",
      "h2d pinned, blocks loop",
    ]);
  });
});
