import { expect, it } from "vitest";
import type { BarChart } from "../../../src/draw/chart/chart.js";
import { resultPictures } from "../../../src/report/page/result-charts.js";
import { buildCell, buildDocument } from "../../helpers/result-document.js";

it("copies with each NUMA node's memory have a chart for each clock, with one bar a node", () => {
  const cells = (["wall", "event"] as const).flatMap((timer) =>
    [0, 1].map((node) => buildCell({ timer, cpuNode: node, memoryNode: node, GBps: 50 - node })),
  );
  const charts = resultPictures(buildDocument({ cells })).charts.filter(({ name }) =>
    name.includes("by-node"),
  ) as BarChart[];
  expect(charts.map(({ groups }) => groups.map(({ bars }) => bars.map(({ name }) => name)))).toEqual([
    [["node 0", "node 1"]],
    [["node 0", "node 1"]],
  ]);
  expect(new Set(charts.map(({ title }) => title)).size).toBe(2);
});
