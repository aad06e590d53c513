import { describe, expect, it } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import type { NodeFigures } from "../../src/fleet/node-figures.js";
import { fleetAnswer } from "../../src/fleet/report/fleet-answer.js";
import { judged } from "../helpers/node-results.js";
import { fleetNode, fleetNodes, type GpuFigures } from "../helpers/plain-nodes.js";

const fleetOf = (...gpus: (readonly GpuFigures[])[]) => judged([], { nodes: fleetNodes(gpus) });
const alone = (...figures: number[]) => fleetOf(...figures.map((figure) => [figure]));
const pageable = (...figures: number[]) => fleetOf(...figures.map((figure) => [{ pageable: figure }]));
const named = ({ outliers }: FleetDocument) =>
  outliers.map(({ host, device }) => `${host} ${device ?? "all"}`);

/** Few nodes that scatter by 12 to 19 %: by their noise alone, even a tenth of the others' rate might be chance. */
describe("a GPU far below all others", () => {
  it("is named, however much the others scatter", () => {
    const fleet = alone(50, 5, 45, 52.5);
    expect(named(fleet)).toEqual(["n01 0"]);
    expect(fleetAnswer(fleet, ({ cell }) => cell)[0]!.text).toMatch(
      /^1 of 4 nodes is slow: GPU 0 of n01 \(89\.\d % slower/,
    );
    expect(fleet.groups[0]!.tooFew).toBe(
      "4 nodes of this kind are few: a GPU counts as slow only if it loses 57 % in h2d pinned 64 MiB.",
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
