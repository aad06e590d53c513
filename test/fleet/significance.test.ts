import { describe, expect, it } from "vitest";
import { chanceOfDrop, processNoise } from "../../src/fleet/figure-noise.js";
import { judgeGroup, testsOf } from "../../src/fleet/judge-group.js";
import { keyOf } from "../../src/fleet/node-figures.js";
import { fleetNode, fleetNodes, type GpuFigures, hostOf, nodesOf, wobble } from "../helpers/plain-nodes.js";

describe("how the tests of a group share its significance", () => {
  const rule = { significance: 0.01, threshold: 0.05 };
  const nodes = nodesOf(12, (node) => [node === 5 ? 46 : 50 * wobble(node)]);
  const known = () => ({ speed: Math.log(50), tolerated: 0.05 });

  it("is all of it for cells alone", () => {
    const { levels, together, known: beside, outliers, levelOf } = judgeGroup(nodes, rule);
    const [cell] = outliers[0]!.cells;
    expect([together, beside]).toEqual([[], []]);
    expect(testsOf(levels[0]!)).toBe(12);
    expect(cell!.adjustedPValue).toBeCloseTo(12 * chanceOfDrop(cell!.drop, levels[0]!.gpuNoise), 12);
    expect(levelOf(levels[0]!)).toBeCloseTo(0.01 / 12, 10);
  });

  it("is 45 parts for cells, and 10 for what is known", () => {
    const { levels, known: beside, levelOf } = judgeGroup(nodes, rule, known);
    expect(levelOf(levels[0]!)).toBeCloseTo((0.01 * 45) / 55 / 12, 10);
    expect(levelOf(beside[0]!)).toBeCloseTo((0.01 * 10) / 55 / 12, 10);
    expect(beside[0]).toMatchObject({
      against: "reference",
      parts: null,
      least: expect.closeTo(-Math.log(0.95)),
    });
    expect(beside[0]!.oddPlaces.size).toBe(0);
    expect(beside[0]!.gpus[5]).toEqual({
      node: 5,
      device: 0,
      centre: Math.log(50),
      drop: expect.closeTo(Math.log(50 / 46)),
    });
  });

  it("is 45 parts each for cells, and for those of a kind together", () => {
    const three = (figure: number): GpuFigures => ({ pinned: figure, back: figure, latency: 4 });
    const { levels, levelOf, together } = judgeGroup(
      nodesOf(12, (node) => [three(50 * wobble(node))]),
      rule,
    );
    // Two rates and a latency are of two kinds: none has three cells.
    expect(together).toEqual([]);
    expect(levelOf(levels[0]!)).toBeCloseTo(0.01 / 36, 10);
  });

  it("gives cells together theirs, and beside what is known the noise of a process alone", () => {
    const sizes = [64, 65, 66].map((size) =>
      keyOf({ cell: `h2d/pinned/${size * 2 ** 20}/w1/throughput/wall/cold`, moved: "h2d", unit: "GB/s" }),
    );
    const three = Array.from({ length: 12 }, (_, node) =>
      fleetNode(hostOf(node), [{}], {}, () => ({
        figures: new Map(sizes.map((key) => [key, 50 * wobble(node)])),
      })),
    );
    const { levels, together, known: beside, levelOf } = judgeGroup(three, rule, known);
    expect(levelOf(together[0]!)).toBeCloseTo((0.01 * 0.45) / 12, 10);
    expect(levelOf(levels[0]!)).toBeCloseTo((0.01 * 0.45) / 36, 10);
    expect(levelOf(beside[0]!)).toBeCloseTo((0.01 * 0.1) / 36, 10);
    const noise = processNoise(levels[0]!.kind, ["NVIDIA H200"], null);
    expect(beside[0]).toMatchObject({ gpuNoise: noise, nodeNoise: noise });
  });

  it("has the least adjusted p-value of a whole node's tests", () => {
    const four = nodesOf(12, (node) =>
      node === 5 ? [44, 45, 45, 45] : [50, 50, 50, 50].map((one) => one * wobble(node)),
    );
    const { levels, outliers } = judgeGroup(four, rule);
    const [whole] = outliers;
    expect(whole).toMatchObject({ node: 5, device: null });
    const { gpus, nodes: ofNodes, gpuNoise, nodeNoise } = levels[0]!;
    const chances = [
      ...gpus.filter(({ node }) => node === 5).map(({ drop }) => chanceOfDrop(drop, gpuNoise)),
      chanceOfDrop(ofNodes[5]!.drop, nodeNoise),
    ];
    expect(whole!.cells[0]!.adjustedPValue / (60 * Math.min(...chances))).toBeCloseTo(1, 6);
  });

  it("takes the noise for wider where a group's own figures are", () => {
    const noisy = nodesOf(12, (node) => [50 * Math.exp(0.1 * Math.sin(12.9898 * (node + 1)))]);
    const [wide] = judgeGroup(noisy, rule).levels;
    expect(wide!.wider!.factor).toBeGreaterThan(2.5);
    expect(wide!.gpuNoise.betweenMachines.degreesOfFreedom).toBeLessThanOrEqual(3);
    expect(judgeGroup(nodes, rule).levels[0]!.wider).toBeNull();
  });

  it("tests nodes of several GPUs too, and nothing of fewer than three figures", () => {
    const tests = (gpus: readonly (readonly GpuFigures[])[], knownOf?: typeof known) => {
      const judgement = judgeGroup(fleetNodes(gpus), rule, knownOf);
      return [testsOf(judgement.levels[0]!), ...judgement.known.map(testsOf)];
    };
    expect(tests([[50], [50]])).toEqual([0]);
    expect(tests([[50], [50]], known)).toEqual([0, 2]);
    expect(
      tests([
        [50, 50],
        [50, 50],
      ]),
    ).toEqual([4]);
    expect(
      tests(
        [
          [50, 50],
          [50, 50],
        ],
        known,
      ),
    ).toEqual([4, 6]);
    expect(tests([[50, 50], [50], [50]])).toEqual([7]);
    expect(tests([[50], [50], [50]])).toEqual([3]);
  });

  it("has a cell once, as what is known shows it, and the drop beside that", () => {
    const { outliers } = judgeGroup(nodes, rule, () => ({ speed: Math.log(55), tolerated: 0.05 }));
    const one = outliers.find(({ node }) => node === 5)!;
    expect(one.cells).toHaveLength(1);
    expect(one.cells[0]!.levels.against).toBe("reference");
    expect(one.cells[0]!.drop).toBeCloseTo(Math.log(55 / 46));
    expect(outliers[0]!.node).toBe(5);
  });

  it("counts a drop below what is known from the widest tolerance of any GPU in the cell", () => {
    const tolerated = (node: number) => (node === 2 ? 0.2 : node === 3 ? 0.1 : 0.01);
    const knownOf = (node: number) => ({ speed: Math.log(50), tolerated: tolerated(node) });
    expect(judgeGroup(nodes, rule, knownOf).known[0]!.least).toBe(0.2);
    const narrow = () => ({ speed: Math.log(50), tolerated: 0.01 });
    expect(judgeGroup(nodes, rule, narrow).known[0]!.least).toBeCloseTo(-Math.log(0.95));
  });

  it("suspects no GPU of a node that is named", () => {
    const low = (one: number, other: number) =>
      judgeGroup(
        nodesOf(12, (node) => [node === 5 ? one : 50 * wobble(node), node === 5 ? other : 50 * wobble(node)]),
        rule,
      );
    const ofOne = ({ outliers, suspects }: ReturnType<typeof low>) =>
      [outliers, suspects].map((ones) => ones.map(({ node, device }) => [node, device]));
    expect(ofOne(low(30, 50))).toEqual([[[5, 0]], []]);
    expect(ofOne(low(30, 30))).toEqual([[[5, null]], []]);
  });
});
