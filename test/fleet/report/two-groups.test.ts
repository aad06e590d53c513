import { describe, expect, it } from "vitest";
import type { StripChart } from "../../../src/draw/chart/chart.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { FleetGroup } from "../../../src/fleet/fleet-document.js";
import type { NodeFigures } from "../../../src/fleet/node-figures.js";
import { fleetCharts } from "../../../src/fleet/report/fleet-charts.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { groupFacts } from "../../../src/fleet/report/fleet-text.js";
import { drawn } from "../../helpers/drawn.js";
import { judged } from "../../helpers/node-results.js";
import { facts, fleetNode, type GpuFigures, nodesOf, wobble } from "../../helpers/plain-nodes.js";

/** A fleet of two kinds of nodes, of which the smaller group has other cells, and a slow GPU. */

const link = { generation: 4, width: 8 };
const l4 = (node: number, figures: GpuFigures, changes: Partial<NodeFigures> = {}) =>
  fleetNode(`a${node}`, [figures], { facts: { ...facts, gpu: "L4", gpuCount: "1" }, ...changes }, () => ({
    name: "L4",
    pciBusId: "0000:aa:00.0",
    uuid: `GPU-a${node}`,
    ...{ link, linkCapability: link },
  }));
const late = { startedAt: "2026-11-20T10:30:00.000Z" };
const nodes = [
  ...[0, 1, 2, 3, 4].map((node) =>
    l4(
      node,
      { pageable: node === 3 ? 4 : 25 * wobble(node), latency: 4 * wobble(node) },
      node === 1 ? late : {},
    ),
  ),
  ...nodesOf(6, (node) => [{ pinned: 50 * wobble(node), back: 48 * wobble(node), pageable: 10 }]),
];
const fleet = () => judged([], { nodes });
const textOf = (format: "table" | "csv" | "openmetrics", document = fleet()) =>
  drawn(fleetKind, document, format, fileScreen({ columns: 1000 }));

it("their charts are each of one group, with its own cells, GPUs and slow ones", () => {
  const [first, second] = fleetCharts(fleet()) as [StripChart, StripChart];
  expect([first.name, second.name]).toEqual(["gpus-of-group-1", "gpus-of-group-2"]);
  expect(first.title).toMatch(/^Group 1: each GPU against the median \(NVIDIA H200, .*\), right is faster$/);
  expect(second.title).toMatch(/^Group 2: each GPU against the median \(L4, /);
  expect(first.description).toBe("6 GPUs of 6 nodes in 3 cells; none is called slow.");
  expect(second.description).toBe("5 GPUs of 5 nodes in 2 cells; 1 figure is called slow.");
  expect(second.rules?.map(({ value }) => value)).toEqual([0, -0.05]);
  const rows = second.rows.map(({ label, figure, dots, marks }) => [label, figure, dots.length, marks]);
  const slow = {
    value: expect.closeTo(-0.84, 3),
    name: "a3 GPU 0",
    text: "a3 GPU 0: 4.00 GB/s, 84.0 % slower",
  };
  expect(rows).toEqual([
    ["H2D pageable 64 MiB x1", "25.0 GB/s", 4, [slow]],
    ["H2D pinned 4 KiB x1 latency", "4.00 µs", 5, []],
  ]);
});

it("their rows of csv have what each GPU, and its group's cells are", () => {
  const [head, ...lines] = textOf("csv").trimEnd().split("\n");
  expect(lines).toHaveLength(2 * 5 + 3 * 6);
  const names = head!.split(",");
  const rows = lines.map((line) => {
    const fields = line.split(",");
    return Object.fromEntries(names.map((name, i) => [name, fields[i]!]));
  });
  const [pageable, latency] = rows.filter(({ host }) => host === "a3");
  expect(pageable).toMatchObject({
    ...{ notice: "", run_id: "run-of-a3", started_at: "2026-11-20T09:00:00.000Z", group: "2", device: "0" },
    ...{ device_name: "L4", uuid: "GPU-a3", pci_bus_id: "0000:aa:00.0", link: "gen4 x8" },
    ...{ cell: "h2d/pageable/67108864/w1/throughput/wall/cold", figure: "4", slow: "gpu", confirmed: "" },
  });
  expect(Number(pageable!.group_centre)).toBeCloseTo(25, 1);
  expect(Number(pageable!.change)).toBeCloseTo(-0.84, 3);
  expect(latency).toMatchObject({ unit: "us", slow: "", adjusted_p_value: "" });
});

it("their figures are gauges of each, and both are counted", () => {
  const lines = textOf("openmetrics").split("\n");
  const labels = 'host="a3",gpu="0",uuid="GPU-a3"';
  expect(lines).toContain(
    `pinbench_bandwidth_bytes_per_second{${labels},cell="h2d/pageable/67108864/w1/throughput/wall/cold",direction="h2d"} 4000000000`,
  );
  expect(lines).toContain(`pinbench_fleet_outlier{${labels}} 1`);
  expect(lines).toContain("pinbench_fleet_groups 2");
});

it("it is not clear which is slow if one of them is in doubt, and one that cannot tell leaves the other", () => {
  const document = { ...fleet(), outliers: [] };
  const [first, second] = document.groups;
  second!.tooFew = "They are too few.";
  second!.found = second!.found.map((one) => ({ ...one, inOneCell: null }));
  expect(textOf("table", document)).toMatch(/^=> none of 11 nodes \(11 GPUs\) is slower than similar ones$/m);
  second!.slowPart = { hosts: ["a0"], reason: "a0 is slow.", action: "monitor" };
  expect(textOf("table", document)).toMatch(/^=> it is not clear which of 11 nodes \(11 GPUs\) are slow$/m);
  expect(first!.slowPart).toBeNull();
});

it("a group is called by its GPU, link and driver, as far as these are known, and by what sets it apart", () => {
  const [one, other] = [{ cpu: "a" }, { cpu: "b" }].map(
    (more) => ({ facts: { gpu: null, driver: null, numaNodes: "2", ...more } }) as unknown as FleetGroup,
  );
  expect(groupFacts(one!, [one!])).toBe("GPU not known, driver not known");
  expect(groupFacts(one!, [one!, other!])).toBe("GPU not known, driver not known, cpu a");
});

describe("their report", () => {
  it("has the facts and the tables of each, and the slow GPU among its group's cells", () => {
    const text = textOf("table");
    expect(text).toMatch(/ Nodes +11: 11 measured\n/);
    expect(text).toMatch(/ GPUs +11 in 2 groups of similar nodes\n/);
    expect(text).toMatch(/ Measured +2026-11-20 09:00 UTC to 2026-11-20 10:30 UTC\n/);
    expect(text).toMatch(
      / Finds in group 1 +pinned .*\n +Finds in group 2 +pageable \d+ % in one cell; pinned latency /,
    );
    expect(text).toMatch(/Group 1: 6 nodes, 6 GPUs, NVIDIA H200/);
    expect(text).toMatch(/Group 2: 5 nodes, 5 GPUs, L4/);
    expect(text).toMatch(
      / a3 +0 +84\.0 % +H2D pageable 64 MiB x1 +4\.00 GB\/s +25\.0 GB\/s +1 of 2 +2026-11-20 09:00 UTC or before +isolate\n/,
    );
    expect(text).toMatch(/ H2D pageable 64 MiB x1 +5 +GB\/s +25\.0 +4\.00 +25\.0 +±1\d\.\d+ %\n/);
  });

  it("names the group in each sentence on one", () => {
    const document = fleet();
    const [first, second] = document.groups;
    first!.tooFew = "They are few.";
    second!.notes = ["They differ."];
    second!.slowAsAWhole = "All are slow.";
    const text = textOf("table", document);
    expect(text).toMatch(/^=> group 2: All are slow$/m);
    expect(text).toMatch(/^ *group 1: They are few$/m);
    expect(text).toMatch(/^ *group 2: They differ$/m);
  });
});
