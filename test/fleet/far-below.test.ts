import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import type { NodeFigures } from "../../src/fleet/node-figures.js";
import { drainReport } from "../../src/fleet/report/drain-lines.js";
import { fleetAnswer } from "../../src/fleet/report/fleet-answer.js";
import { fleetGrids } from "../../src/fleet/report/fleet-content.js";
import { fleetKind } from "../../src/fleet/report/fleet-report.js";
import { drawn } from "../helpers/drawn.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode, fleetNodes, type GpuFigures } from "../helpers/plain-nodes.js";
import { seeded } from "../helpers/seeded.js";

const fleetOf = (...gpus: (readonly GpuFigures[])[]) => judged([], { nodes: fleetNodes(gpus) });
const alone = (...figures: number[]) => fleetOf(...figures.map((figure) => [figure]));
const pageable = (...figures: number[]) => fleetOf(...figures.map((figure) => [{ pageable: figure }]));
const named = ({ outliers }: FleetDocument) =>
  outliers.map(({ host, device }) => `${host} ${device ?? "all"}`);

const bothWays = (...figures: number[]) =>
  fleetOf(...figures.map((figure) => [{ pinned: figure, back: figure }]));

/** Few nodes that scatter by 12 to 19 %: by their noise alone, even a tenth of the others' rate might be chance. */
describe("a GPU far below all others", () => {
  it("is named, however much the others scatter", () => {
    const fleet = alone(50, 5, 45, 52.5);
    expect(named(fleet)).toEqual(["n01 0"]);
    expect(fleetAnswer(fleet, ({ cell }) => cell)[0]!.text).toMatch(
      /^1 of 4 nodes is slow: GPU 0 of n01 \(89\.\d % slower/,
    );
    expect(fleet.groups[0]!.tooFew).toBe(
      "4 nodes of this kind are few: a GPU counts as slow only if it loses 58 % in h2d pinned 64 MiB.",
    );
    expect(named(alone(50, 5, 45))).toEqual(["n01 0"]);
    expect(named(fleetOf([50, 45, 5, 52.5]))).toEqual(["n00 2"]);
    expect(named(fleetOf([50, 45, 5, 52.5], [55, 48, 46, 50]))).toEqual(["n00 2"]);
  });

  it("is a whole node, if all of its GPUs are", () => {
    expect(named(fleetOf([50, 45], [5, 5.5], [52.5, 55], [48, 46]))).toEqual(["n01 all"]);
  });

  it("has at most half of the slowest other's pinned rate, and a third in other copies", () => {
    expect(named(alone(50, 22.4, 45, 52.5))).toEqual(["n01 0"]);
    expect(named(alone(50, 22.6, 45, 52.5))).toEqual([]);
    expect(named(pageable(50, 14.9, 45, 52.5))).toEqual(["n01 0"]);
    expect(named(pageable(50, 15.1, 45, 52.5))).toEqual([]);
  });

  it("is below all others by four times their range", () => {
    // The range is 0.3185: four of them below 40 are 11.19.
    expect(named(alone(50, 11.1, 40, 55))).toEqual(["n01 0"]);
    expect(named(alone(50, 11.3, 40, 55))).toEqual([]);
  });

  it("has two thirds of all others at most, by three times their range, if each of its pinned cells shows it", () => {
    const half = bothWays(55, 51.2, 47.3, 27.5);
    expect(named(half)).toEqual(["n03 0"]);
    expect(half.groups[0]!.tooFew).toMatch(
      /^4 nodes .* loses 97 % in one cell; or 46 % in all 2 pinned cells\.$/,
    );
    expect(named(alone(55, 51.2, 47.3, 27.5))).toEqual([]);
    expect(named(bothWays(50, 48, 46.5, 30.9))).toEqual(["n03 0"]);
    expect(named(bothWays(50, 48, 46.5, 31.1))).toEqual([]);
    // The range is 0.1508: three of them below 47.3 are 30.08.
    expect(named(bothWays(55, 51.2, 47.3, 30))).toEqual(["n03 0"]);
    expect(named(bothWays(55, 51.2, 47.3, 30.2))).toEqual([]);
    const rule = { significance: 0.01, threshold: 0.5 };
    const nodes = fleetNodes([50, 48, 46.5, 30].map((rate) => [{ pinned: rate, back: rate }]));
    const atMostHalf = judged([], { nodes, rule });
    expect(named(atMostHalf)).toEqual([]);
    expect(atMostHalf.groups[0]!.found[0]!.inAllCells).toBeGreaterThan(0.5);
    // Two others do not show how much they differ.
    expect(named(bothWays(55, 51.2, 27.5))).toEqual([]);
  });

  it("is only said to be found as far below a reference that the others exceed", () => {
    const nodes = fleetNodes([100, 96, 92, 98].map((rate) => [{ pinned: rate, back: rate }]));
    const referenceOf = () => ({ h2d: 55, d2h: 55, together: null, source: "", tolerance: 0.05 });
    const lossFound = (request: object) => judged([], { nodes, ...request }).groups[0]!.found[0]!;
    expect(lossFound({})).toMatchObject({ inAllCells: expect.closeTo(0.387, 2) });
    const found = lossFound({ referenceOf });
    const loss = Math.min(found.inOneCell!, found.inAllCells ?? 1);
    const slow = fleetNodes([100 * (1 - loss), 96, 92, 98].map((rate) => [{ pinned: rate, back: rate }]));
    expect(named(judged([], { nodes: slow, referenceOf }))).toEqual(["n00 0"]);
  });

  it("is one of four at most, and none of two", () => {
    const eight = [50, 45, 52.5, 48, 47, 51];
    expect(named(fleetOf([...eight, 5, 6]))).toEqual(["n00 6", "n00 7"]);
    expect(named(fleetOf([...eight.slice(1), 5, 6]))).toEqual([]);
    expect(named(fleetOf([50, 5]))).toEqual([]);
  });

  it("is one of 40 at most: more of them show their noise themselves", () => {
    const scattered = (count: number) =>
      Array.from({ length: count }, (_, i) => (i === 7 ? 5 : 50 * Math.exp(0.08 * Math.sin(7 * i))));
    expect(named(alone(...scattered(40)))).toEqual(["n07 0"]);
    expect(named(alone(...scattered(41)))).toEqual([]);
  });

  it("is as far below the rate of healthy machines, where that is known", () => {
    const nodes = fleetNodes([[50], [20], [45], [52.5]]);
    const referenceOf = (rate: number) => () => ({
      h2d: rate,
      d2h: rate,
      together: null,
      source: "",
      tolerance: 0.1,
    });
    expect(named(judged([], { nodes, referenceOf: referenceOf(41) }))).toEqual(["n01 0"]);
    expect(named(judged([], { nodes, referenceOf: referenceOf(21) }))).toEqual([]);
  });
});

it.each([
  ["pageable", [12, 10, 3]],
  ["pageable", [12, 6, 0.35]],
  ["pinned", [50, 43, 20]],
  ["pinned", [50, 40, 16]],
] as const)("one far below all others is confirmed by the same figure, %s %s", (memory, figures) => {
  const nodes = fleetNodes(figures.map((figure) => [{ [memory]: figure }]));
  const again = (fresh: readonly NodeFigures[]) => judged([], { nodes, fresh });
  expect(named(again([]))).toEqual(["n02 0"]);
  expect(again([nodes[2]!]).outliers).toMatchObject([{ host: "n02", confirmed: true }]);
  const healthy = fleetNode("n02", [{ [memory]: figures[1] }]);
  expect(again([healthy])).toMatchObject({ outliers: [], cleared: [{ host: "n02" }] });
});

it("a GPU is slow only beside those of its node too, as few nodes do not show how far apart machines are", () => {
  const node = (gpus: readonly number[]) => gpus.map((rate) => ({ pageable: rate }));
  const usual = [22.6, 22.8, 22.4, 22.9, 22.7, 22.5, 23, 22.7];
  const slower = [17.2, 17.5, 17, 17.3, 16.8, 13, 17.1, 17.4];
  expect(named(fleetOf(node(slower), node(usual), node(usual), node(usual)))).toEqual([]);
  // Beside healthy ones of its node it is slow, also if these are fewer than the slow ones.
  const five = [22.6, 22.8, 22.4, 9, 9, 9, 9, 9];
  expect(named(fleetOf(node(five), node(usual), node(usual), node(usual)))).toEqual(
    [3, 4, 5, 6, 7].map((gpu) => `n00 ${gpu}`),
  );
});

describe("a GPU that lost a third or more, among too few to say that this is no noise", () => {
  const fleet = (...figures: number[]) => bothWays(...figures);

  it("must be measured again, as the first lines, the exit code's node and the list to drain say", () => {
    const three = fleet(55, 51.2, 27.5);
    expect(three).toMatchObject({ outliers: [], suspects: ["n02"] });
    expect(three.nodes.map(({ action }) => action)).toEqual(["none", "none", "monitor"]);
    expect(fleetAnswer(three, ({ cell }) => cell).map(({ text }) => text)).toEqual([
      "none of 3 nodes (3 GPUs) is called slow, but n02 may be",
      expect.stringMatching(
        /^n02's GPU 0 is 46 % slower than similar ones in h2d pinned 64 MiB, which may be noise: such figures vary by ±\d+ %\. Measure it again$/,
      ),
    ]);
    const why = "GPU 0 is 46 % slower than similar ones in h2d pinned 64 MiB, which may be noise";
    expect(drainReport(three, null)).toBe(`# n02 may be slow: ${why}\n`);
    const [table] = fleetGrids(three, ({ cell }) => cell);
    expect(table!.caption).toBe("Nodes without a valid, complete and clear result");
    expect(table!.rows.map((row) => row.map(({ text }) => text))).toEqual([
      ["unclear", "1", "n02", why, "monitor"],
    ]);
    const gauges = drawn(fleetKind, three, "openmetrics", fileScreen());
    expect(gauges).toContain('pinbench_node_state{host="n02",state="unclear"} 1\n');
    expect(gauges).toContain('pinbench_fleet_nodes{state="measured"} 2\n');
    expect(gauges).toContain('pinbench_fleet_nodes{state="unclear"} 1\n');
  });

  it.each([
    ["below two thirds of all others", [55, 51.2, 47.3, 31.4], ["n03"]],
    ["not above two thirds of them", [55, 51.2, 47.3, 31.6], []],
    ["below them by more than their range", [60, 50, 39, 25.2], ["n03"]],
    ["not below them by less", [60, 50, 39, 25.5], []],
  ])("is %s", (_, figures, hosts) => {
    const { nodes, suspects, outliers } = fleet(...figures);
    expect(outliers).toEqual([]);
    expect(nodes.filter(({ action }) => action === "monitor").map(({ host }) => host)).toEqual(hosts);
    expect(suspects).toEqual(expect.arrayContaining(hosts));
  });

  it("is hardly ever a healthy one", () => {
    const { normal } = seeded(3);
    const mayBeSlow = (count: number) => {
      const rates = Array.from({ length: count }, () => 20 * Math.exp(0.15 * normal()));
      return fleet(...rates).nodes.some(({ action }) => action === "monitor");
    };
    for (const count of [4, 8, 20])
      expect(Array.from({ length: 100 }, () => mayBeSlow(count)).filter(Boolean).length).toBeLessThan(3);
  });

  it("is no more in doubt once a fresh process has made up half of the loss; the same loss asks for more nodes", () => {
    const nodes = fleetNodes([55, 51.2, 27.5].map((rate) => [{ pinned: rate, back: rate }]));
    const again = (rate: number) =>
      judged([], { nodes, fresh: [fleetNode("n02", [{ pinned: rate, back: rate }])] });
    expect(again(45).doubts).toEqual([]);
    const same = again(27);
    expect(same.doubts).toEqual([
      expect.stringMatching(
        /^n02's GPU 0 is 46 % slower than similar ones in h2d pinned 64 MiB, also when it was measured again; healthy ones may differ as much: such figures vary by ±\d+ %\. More nodes like it are needed to tell\.$/,
      ),
    ]);
    expect(same.nodes[2]).toMatchObject({ action: "monitor", reason: expect.stringContaining("again") });
  });

  it("is told of its node's GPU that lost most", () => {
    const gpus = [
      [55, 51.2, 47.3, 54],
      [52, 31, 28, 50],
    ].map((ofNode) => ofNode.map((rate) => ({ pinned: rate, back: rate })));
    const { outliers, nodes } = fleetOf(...gpus);
    expect(outliers).toEqual([]);
    expect(nodes[1]).toMatchObject({ action: "monitor", reason: expect.stringMatching(/^GPU 2 is /) });
  });

  it("does not hide that a node copied wrong data", () => {
    const nodes = fleetNodes([55, 51.2, 27.5].map((rate) => [{ pinned: rate, back: rate }]));
    const wrong = { ...nodes[2]!, state: "wrong data" as const, reason: "wrong" };
    expect(judged([], { nodes: [...nodes.slice(0, 2), wrong] }).nodes[2]!.action).toBe("isolate");
  });
});
