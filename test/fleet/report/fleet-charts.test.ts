import { describe, expect, it } from "vitest";
import type { StripChart } from "../../../src/draw/chart/chart.js";
import { fleetCharts } from "../../../src/fleet/report/fleet-charts.js";
import { pageOfDocuments } from "../../../src/kinds/draw-documents.js";
import { buildFleet, buildLacking, buildNode, buildOutlier } from "../../helpers/fleet.js";

const chartsOf = (...args: Parameters<typeof buildFleet>) => fleetCharts(buildFleet(...args)) as StripChart[];

describe("the chart of a group", () => {
  it("has every GPU in each cell: those that are not slow as dots, and the slow ones as marks with their names", () => {
    const [chart] = chartsOf({ outliers: [buildOutlier("n02")] });
    expect(chart).toMatchObject({ name: "gpus", kind: "strips" });
    expect(chart!.rows.map(({ label, dots, marks }) => [label, dots.length, marks.length])).toEqual([
      ["H2D pinned 64 MiB x1", 7, 1],
      ["D2H pinned 64 MiB x1", 8, 0],
      ["H2D pinned 4 KiB x1 latency", 8, 0],
    ]);
    const [slow] = chart!.rows[0]!.marks;
    expect(slow!.value).toBeCloseTo(-0.5, 2);
    expect(slow!.text).toMatch(/^n02 GPU 1: 27\.7 GB\/s, 49\.\d % slower$/);
  });

  it("marks all GPUs of a node that is slow as a whole", () => {
    const [chart] = chartsOf({ outliers: [buildOutlier("n02", { device: null, uuid: null })] });
    expect(chart!.rows[0]!.marks.map(({ text }) => text.slice(0, 9))).toEqual(["n02 GPU 0", "n02 GPU 1"]);
    // One of them may be as fast as others.
    const fleet = buildFleet({ outliers: [buildOutlier("n02", { device: null, uuid: null })] });
    fleet.groups[0]!.cells[0]!.values[2] = 60;
    const [fast, slow] = (fleetCharts(fleet) as StripChart[])[0]!.rows[0]!.marks;
    expect([fast!.text, slow!.text]).toEqual(["n02 GPU 0: 60.0 GB/s", expect.stringMatching(/slower$/)]);
  });

  it("marks a GPU in the direction of a cell in which it is slow", () => {
    const cell = "bidir/pinned/67108864/w1/throughput/wall/cold";
    const [outlier] = [buildOutlier("n02")];
    const fleet = buildFleet({ outliers: [{ ...outlier, cells: [{ ...outlier.cells[0]!, cell }] }] });
    for (const one of fleet.groups[0]!.cells.slice(0, 2)) one.cell = cell;
    const [chart] = fleetCharts(fleet) as StripChart[];
    expect(chart!.rows.map(({ marks }) => marks.length)).toEqual([1, 0, 0]);
  });

  it("names a slow GPU by its number, which may be another than its place in the list", () => {
    const node = buildNode("n02");
    const nodes = [
      "n01",
      { ...node, devices: node.devices.map((one, i) => ({ ...one, ordinal: 1 + 2 * i })) },
    ];
    const [chart] = chartsOf({ nodes, outliers: [buildOutlier("n02", { device: 3 })] });
    expect(chart!.rows[0]!.marks.map(({ name }) => name)).toEqual(["n02 GPU 3"]);
  });

  it("marks a slow GPU in each cell in which it lost the threshold, also where this cell alone does not show it", () => {
    const fleet = buildFleet({ outliers: [buildOutlier("n02")] });
    const [, second, third] = fleet.groups[0]!.cells;
    // The GPUs of n01 and n02, in the order of the document: of these n02's GPU 1 is the named one.
    second!.values[2] = 0.9 * second!.centre;
    second!.values[3] = 0.9 * second!.centre;
    third!.values[3] = 1.03 * third!.centre;
    const [chart] = fleetCharts(fleet) as StripChart[];
    expect(chart!.rows.map(({ marks }) => marks.map(({ text }) => text))).toEqual([
      [expect.stringMatching(/^n02 GPU 1: 27\.7 GB\/s/)],
      [expect.stringMatching(/^n02 GPU 1: 47\.\d GB\/s, 10\.0 % slower$/)],
      [],
    ]);
    expect(chart!.rows.map(({ dots }) => dots.length)).toEqual([7, 7, 8]);
  });

  it("draws one of several GPUs if they are very many, says so, and still marks each that is slow", () => {
    const nodes = Array.from({ length: 2500 }, (_, i) => `n${i}`);
    const [chart] = chartsOf({ nodes, outliers: ["n7", "n8", "n2499"].map((host) => buildOutlier(host)) });
    expect(chart!.dotsName).toBe("GPU, one of 3");
    expect(chart!.rows[0]!.dots).toHaveLength(Math.ceil((5000 - 3) / 3));
    expect(chart!.rows[0]!.marks).toHaveLength(3);
  });

  it("is none if no node has figures", () => {
    expect(chartsOf({ nodes: [buildLacking("n1", "late", "Too late.")] })).toEqual([]);
  });
});

it("a page of a fleet obeys no name in it", async () => {
  const name = '<img src=x onerror=alert(1)>"\u202e';
  const document = buildFleet({ nodes: [name], outliers: [buildOutlier(name, { evidence: [name] })] });
  const html = await pageOfDocuments([{ kind: "fleet", path: null, document }]);
  expect(html).toContain("&lt;img src=x");
  expect(html).not.toMatch(/<img|\u202e/);
});

it("a page of a fleet has its answer, and the table of what is slow, before its charts", async () => {
  const document = buildFleet({ outliers: [buildOutlier("n02")] });
  const html = await pageOfDocuments([{ kind: "fleet", path: null, document }]);
  const body = html.slice(html.indexOf("<body"));
  const places = ["is slow: ", "Slower than expected", "<svg"].map((text) => body.indexOf(text));
  expect(Math.min(...places)).toBeGreaterThan(0);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});
