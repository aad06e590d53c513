import { describe, expect, it } from "vitest";
import { bySession, groupsOf, relativeTo, relativeValues } from "../../src/compare/groups.js";
import { joinRuns } from "../../src/compare/series.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

const seriesOf = (cells: readonly CellPart[], speeds: readonly number[], first = speeds) => {
  const runs = (speed: readonly number[]) => resultSet(buildRuns({ cells, deviation: 0, speed })).runs;
  return joinRuns({ baseline: runs(speeds), first: runs(first), fresh: [] }).series;
};

describe("cells of one memory kind, direction and mode", () => {
  it("are a group on each device, each direction of a bidir cell apart", () => {
    const latency = { mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } } as const;
    const cells: CellPart[] = [
      { GBps: 50 },
      { GBps: 50, workers: 4 },
      { GBps: 50, direction: "d2h" },
      latency,
      { GBps: 9, memory: "pageable" },
      { direction: "bidir", GBps: { h2d: 40, d2h: 42, sum: 80 } },
    ];
    const groups = groupsOf(seriesOf(cells, [1]));
    expect(
      groups.map(({ kind, direction, moved, members }) => [kind, direction, moved, members.length]),
    ).toEqual([
      ["pinned", "h2d", "h2d", 2],
      ["pinned", "d2h", "d2h", 1],
      ["pinned latency", "h2d", "h2d", 1],
      ["pageable", "h2d", "h2d", 1],
      ["pinned", "bidir", "h2d", 1],
      ["pinned", "bidir", "d2h", 1],
      ["pinned", "bidir", "sum", 1],
    ]);
  });

  it("have one value for each run: the median of the cells' changes", () => {
    const cells = [{ GBps: 50 }, { GBps: 20, workers: 2 }, { GBps: 10, workers: 4 }];
    const series = seriesOf(cells, [1, 1, 1.1], [0.5]);
    const values = (side: "baseline" | "first") =>
      [...relativeValues(series, side).values()].map(({ value }) => value);
    expect(values("baseline")).toEqual([0, 0, Math.log(1.1)].map((value) => expect.closeTo(value, 9)));
    expect(values("first")).toEqual([expect.closeTo(Math.log(0.5), 9)]);
  });
});

it("a group's values are relative to another group's values of the same runs only", () => {
  const of = (...values: [number, number][]) =>
    new Map(values.map(([run, value]) => [run, { session: run % 2, value }]));
  const relative = relativeTo(of([0, 1], [1, 2], [2, 4]), of([0, 1], [2, 1], [3, 7]));
  expect([...relative]).toEqual([
    [0, { session: 0, value: 0 }],
    [2, { session: 0, value: 3 }],
  ]);
  expect(bySession(of([0, 1], [1, 2], [2, 4]).values())).toEqual([[1, 4], [2]]);
});
