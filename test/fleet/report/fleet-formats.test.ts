import { describe, expect, it } from "vitest";
import type { StripChart } from "../../../src/draw/chart/chart.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { FleetDocument } from "../../../src/fleet/fleet-document.js";
import { fleetCharts } from "../../../src/fleet/report/fleet-charts.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { pageOfDocuments } from "../../../src/kinds/draw-documents.js";
import { drawn } from "../../helpers/drawn.js";
import {
  buildFleet,
  buildLacking,
  buildNode,
  buildOutlier,
  pinnedTo,
  smallCopy,
} from "../../helpers/fleet.js";
import { judged } from "../../helpers/node-results.js";
import { facts, fleetNode, nodesOf, wobble } from "../../helpers/plain-nodes.js";

/** Charts, CSV rows and Prometheus metrics of a fleet. */

type Part = NonNullable<Parameters<typeof buildFleet>[0]>;

const link = { generation: 4, width: 8 };
/** Six nodes of one kind, and five of another kind with other cells and one slow GPU. */
const twoGroups = () =>
  judged([], {
    nodes: [
      ...[0, 1, 2, 3, 4].map((node) =>
        fleetNode(
          `a${node}`,
          [{ pageable: node === 3 ? 2 : 12.5 * wobble(node), latency: 4 * wobble(node) }],
          { facts: { ...facts, gpu: "L4", gpuCount: "1" } },
          () => ({ name: "L4", pciBusId: "0000:aa:00.0", link, linkCapability: link }),
        ),
      ),
      ...nodesOf(6, (node) => [{ pinned: 50 * wobble(node), back: 48 * wobble(node), pageable: 10 }]),
    ],
  });
/** A cell with two directions. */
const bothWays = "bidir/pinned/67108864/w1/throughput/cold";
function ofBothWays(part: Part = {}): FleetDocument {
  const fleet = buildFleet(part);
  for (const one of fleet.groups[0]!.cells.slice(0, 2)) one.cell = bothWays;
  return fleet;
}
const wholeNode = buildOutlier("n02", { device: null, uuid: null });

describe("the chart of a group", () => {
  const chartsOf = (fleet: FleetDocument) => fleetCharts(fleet) as StripChart[];
  const marksOf = (fleet: FleetDocument) =>
    chartsOf(fleet)[0]!.rows.map((one) => one.marks.map(({ text }) => text));

  it("has dots for its GPUs that are not slow, and named marks for the slow ones", () => {
    const [first, second] = chartsOf(twoGroups());
    expect([first!.name, second!.name]).toEqual(["gpus-of-group-1", "gpus-of-group-2"]);
    expect(first!.title).toMatch(
      /^Group 1: each GPU against the median \(NVIDIA H200, .*\), right is faster$/,
    );
    expect(second!.title).toMatch(/^Group 2: each GPU against the median \(L4, /);
    expect(first!.description).toBe("6 GPUs of 6 nodes in 3 cells; none is called slow.");
    expect(second!.description).toBe("5 GPUs of 5 nodes in 2 cells; 1 figure is called slow.");
    expect(second!.rules?.map(({ value }) => value)).toEqual([0]);
    const text = "a3 GPU 0: 2.00 GB/s, 84.0 % slower";
    const slow = { value: expect.closeTo(-0.84, 3), name: "a3 GPU 0", text };
    expect(second!.rows.map(({ label, figure, dots, marks }) => [label, figure, dots.length, marks])).toEqual(
      [
        ["H2D pageable 64 MiB", "12.5 GB/s", 4, [slow]],
        ["H2D pinned 4 KiB latency", "4.00 µs", 5, []],
      ],
    );
    expect(chartsOf(buildFleet())[0]).toMatchObject({ name: "gpus", kind: "strips" });
  });

  it("marks all GPUs of a node that is slow as a whole, even one that is fast", () => {
    const fleet = buildFleet({ outliers: [wholeNode] });
    fleet.groups[0]!.cells[0]!.values[2] = 60;
    expect(marksOf(fleet)[0]).toEqual([
      "n02 GPU 0: 60.0 GB/s",
      expect.stringMatching(/^n02 GPU 1: .* slower$/),
    ]);
  });

  it("marks a slow GPU by its number, in the direction in which it is slow", () => {
    const cells = [{ ...pinnedTo, cell: bothWays, figure: 27.7, expected: 55.4, change: -0.5 }];
    const node = buildNode("n02");
    const devices = node.devices.map((one, i) => ({ ...one, ordinal: 1 + 2 * i }));
    const outliers = [buildOutlier("n02", { device: 3, cells })];
    expect(marksOf(ofBothWays({ nodes: ["n01", { ...node, devices }], outliers }))).toEqual([
      [expect.stringMatching(/^n02 GPU 3: /)],
      [],
      [],
    ]);
  });

  it("draws only some of very many GPUs, but marks each slow one", () => {
    const nodes = Array.from({ length: 2500 }, (_, i) => `n${i}`);
    const outliers = ["n7", "n8", "n2499"].map((host) => buildOutlier(host));
    const [chart] = chartsOf(buildFleet({ nodes, outliers }));
    expect(chart!.dotsName).toBe("GPU, one of 3");
    expect(chart!.rows[0]!.dots).toHaveLength(Math.ceil((5000 - 3) / 3));
    expect(chart!.rows[0]!.marks).toHaveLength(3);
  });
});

it("the page of a fleet has its answer, chart and slow nodes in this order, and escapes names", async () => {
  const name = '<img src=x onerror=alert(1)>"\u202e';
  const document = buildFleet({ nodes: ["n1", name], outliers: [buildOutlier(name, { evidence: [name] })] });
  const html = await pageOfDocuments([{ kind: "fleet", path: null, document }]);
  expect(html).toContain("&lt;img src=x");
  expect(html).not.toMatch(/<img|\u202e/);
  const body = html.slice(html.indexOf("<body"));
  const places = ["is slow: ", "<svg", "Slower than expected"].map((text) => body.indexOf(text));
  expect(Math.min(...places)).toBeGreaterThan(0);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

describe("a fleet as csv", () => {
  /** Rows by column; no test has a field with a comma in quotes. */
  function rowsOf(fleet: FleetDocument): Record<string, string>[] {
    const [head = "", ...lines] = drawn(fleetKind, fleet, "csv", fileScreen()).trimEnd().split("\n");
    const names = head.split(",");
    return lines.map((line) => Object.fromEntries(line.split(",").map((field, i) => [names[i]!, field])));
  }
  const slowOf = (part: Part) => rowsOf(buildFleet(part)).filter((row) => row.slow !== "");

  it("has a row for each node, GPU and cell, with its figure and its group's median", () => {
    const rows = rowsOf(twoGroups());
    expect(rows).toHaveLength(2 * 5 + 3 * 6);
    const [pageable, latency] = rows.filter(({ host }) => host === "a3");
    expect(pageable).toMatchObject({
      ...{ backend: "cuda", state: "measured", run_id: "run-of-a3", started_at: "2026-11-20T09:00:00.000Z" },
      ...{ group: "2", device: "0", device_name: "L4", uuid: "GPU-a3-0", pci_bus_id: "0000:aa:00.0" },
      ...{ link: "gen4 x8", cell: "h2d/pageable/67108864/w1/throughput/cold", moved: "h2d" },
      ...{ unit: "GB/s", figure: "2", slow: "gpu", confirmed: "" },
    });
    expect(Number(pageable!.group_median)).toBeCloseTo(12.5, 1);
    expect(Number(pageable!.change)).toBeCloseTo(-0.84, 3);
    expect(latency).toMatchObject({ unit: "us", slow: "", confirmed: "" });
    // An apostrophe keeps a spreadsheet from running a name as a formula.
    const labelled = buildNode("=HYPERLINK(1)", { labels: { rack: "7", row: "b" } });
    expect(rowsOf(buildFleet({ nodes: [labelled], notice: "no GPUs" }))[0]).toMatchObject({
      ...{ backend: "emulated", host: "'=HYPERLINK(1)", labels: "rack=7; row=b" },
    });
  });

  it("marks slow figures of GPUs and of nodes, with their loss and whether it was confirmed", () => {
    const cells = [{ ...smallCopy, figure: 14.4, expected: 7.2, change: -0.5 }];
    const slow = slowOf({
      nodes: ["n1", "n02", "n3"],
      cleared: [buildOutlier("n3", { device: 0, confirmed: false })],
      outliers: [buildOutlier("n1"), { ...wholeNode, confirmed: true, cells }],
    });
    expect(slow.map((row) => [row.host, row.device, row.slow, row.confirmed])).toEqual([
      ["n1", "1", "gpu", ""],
      ["n3", "0", "gpu", "no"],
      ["n02", "0", "node", "yes"],
      ["n02", "1", "node", "yes"],
    ]);
    // The change of a slower latency is negative, as of a slower rate.
    for (const i of [0, 2, 3]) expect(Number(slow[i]!.change)).toBeCloseTo(-0.5, 2);
  });

  it("has a GPU's own loss if it is slower than its slow node", () => {
    const slow = slowOf({
      outliers: [buildOutlier("n02"), { ...wholeNode, cells: buildOutlier("n02").cells }],
    });
    expect(slow.map((row) => [row.device, row.slow])).toEqual([
      ["0", "node"],
      ["1", "gpu"],
    ]);
  });

  it("has one row for a node without figures", () => {
    const rows = rowsOf(buildFleet({ nodes: ["n1", buildLacking("n2", "late", "Too late.")] }));
    const row = { state: "late", reason: "Too late.", device: "", cell: "", figure: "" };
    expect(rows.filter(({ host }) => host === "n2")).toEqual([expect.objectContaining(row)]);
  });
});

describe("the Prometheus metrics of a fleet", () => {
  /** A line with a figure: a name, labels whose values escape backslash, quote and line feed, a number. */
  const sampleForm =
    /^([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

  /** The samples of a text; throws if it is no OpenMetrics 1.0 with only gauges. */
  function samplesOf(fleet: FleetDocument) {
    const lines = drawn(fleetKind, fleet, "openmetrics", fileScreen()).split("\n");
    expect(lines.slice(-2)).toEqual(["# EOF", ""]);
    const families: string[] = [];
    return lines.slice(0, -2).flatMap((line) => {
      const [, what, family = "", rest = ""] = /^# (TYPE|UNIT|HELP) ([a-z_]+) (.+)$/.exec(line) ?? [];
      if (what !== undefined) {
        if (what === "TYPE") {
          expect(families, "no family comes in two pieces").not.toContain(family);
          expect(rest).toBe("gauge");
          families.push(family);
        }
        expect(families.at(-1)).toBe(family);
        if (what === "UNIT") expect(family.endsWith(`_${rest}`)).toBe(true);
        if (what === "HELP") expect(rest).not.toMatch(/["\\]/);
        return [];
      }
      const sample = sampleForm.exec(line);
      expect(sample, line).not.toBeNull();
      const [, name = "", labels = "", value] = sample!;
      expect(name).toBe(families.at(-1));
      const pairs = [...labels.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, quoted]) => [
        key,
        quoted!.replaceAll(/\\(.)/g, (_, sign) => (sign === "n" ? "\n" : sign)),
      ]);
      return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
    });
  }
  const samples = () =>
    samplesOf(
      buildFleet({
        nodes: [
          ...["n1", "n2", "n02", buildLacking("n3", "missing", "Nothing came.")],
          buildNode("n4", { compared: false }),
        ],
        outliers: [buildOutlier("n2"), wholeNode],
        cleared: [buildOutlier("n1", { confirmed: false })],
      }),
    );
  const of = (name: string) => samples().filter((one) => one.name === name);

  it("have rates in bytes per second and latencies in seconds for each GPU and cell", () => {
    const name = "pinbench_bandwidth_bytes_per_second";
    const ofGpu = { host: "n2", gpu: "1", uuid: "GPU-n2-1" };
    expect(of(name)).toHaveLength(16);
    expect(of(name)).toContainEqual({
      name,
      labels: { ...ofGpu, cell: "h2d/pinned/67108864/w1/throughput/cold", direction: "h2d" },
      value: 27.7e9,
    });
    const latencies = of("pinbench_copy_latency_seconds").map(({ value }) => value);
    expect(latencies).toEqual(Array(8).fill(expect.closeTo(7.2e-6, 7)));
  });

  it("have for each GPU that was compared whether it is slow, and for each node its state", () => {
    const outliers = of("pinbench_fleet_outlier").map(
      ({ labels, value }) => `${labels.host} ${labels.gpu}: ${value}`,
    );
    expect(outliers).toEqual(["n1 0: 0", "n1 1: 0", "n2 0: 0", "n2 1: 1", "n02 0: 1", "n02 1: 1"]);
    expect(of("pinbench_node_state").map(({ labels }) => `${labels.host} ${labels.state}`)).toEqual([
      ...["n1 measured", "n2 measured", "n02 measured", "n3 missing", "n4 measured"],
    ]);
    expect(of("pinbench_fleet_judged_timestamp_seconds")[0]?.value).toBe(
      Date.UTC(2026, 10, 22, 9, 10) / 1000,
    );
  });

  it("have the direction of each figure, and whether devices were emulated", () => {
    const ofCell = samplesOf(ofBothWays()).filter(
      ({ labels }) => labels.cell === bothWays && labels.host === "n01" && labels.gpu === "0",
    );
    expect(ofCell.map(({ labels }) => labels.direction)).toEqual(["h2d", "d2h"]);
    const emulated = [null, "Emulated."].map(
      (notice) =>
        samplesOf(buildFleet({ notice })).find(({ name }) => name === "pinbench_fleet_emulated")?.value,
    );
    expect(emulated).toEqual([0, 1]);
  });

  it.each(['a"b', "a\\b", 'x"} 1\npinbench_node_state{host="n2', "\u001b[2J\u202e"])(
    "keep a hostile name within its label: %j",
    (host) => {
      const states = samplesOf(buildFleet({ nodes: [host] })).filter(
        ({ name }) => name === "pinbench_node_state",
      );
      expect(states).toHaveLength(1);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal would obey.
      expect(states[0]!.labels.host).not.toMatch(/[\x00-\x1f\u202e]/);
    },
  );
});
