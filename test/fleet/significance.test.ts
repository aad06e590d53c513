import { expect, it } from "vitest";
import { chanceOfDrop } from "../../src/fleet/figure-noise.js";
import { judgeGroup, testsOf } from "../../src/fleet/judge-group.js";
import { fleetNodes, type GpuFigures, nodesOf, wobble } from "../helpers/plain-nodes.js";

const rule = { threshold: 0.05 };
const known = () => ({ speed: Math.log(50), tolerated: 0.05 });
const nodes = nodesOf(12, (node) => [node === 5 ? 46 : 50 * wobble(node)]);

it("the significance of a group is all of it for cells, or 45 parts for these and 10 for what is known", () => {
  const { levels, outliers, levelOf } = judgeGroup(nodes, rule);
  const [cell] = outliers[0]!.cells;
  expect(levelOf(levels[0]!)).toBeCloseTo(0.01 / 12, 10);
  expect(cell!.adjustedPValue).toBeCloseTo(12 * chanceOfDrop(cell!.drop, levels[0]!.gpuNoise), 12);
  const beside = judgeGroup(nodes, rule, known);
  expect(beside.levelOf(beside.levels[0]!)).toBeCloseTo((0.01 * 45) / 55 / 12, 10);
  expect(beside.levelOf(beside.known[0]!)).toBeCloseTo((0.01 * 10) / 55 / 12, 10);
  expect(beside.known[0]).toMatchObject({ against: "reference", least: expect.closeTo(-Math.log(0.95)) });
});

const two = [50, 50];
it.each<[string, GpuFigures[][], number[], number[]]>([
  ["no test of two GPUs, but beside what is known", [[50], [50]], [0], [0, 2]],
  ["one of each of three GPUs", [[50], [50], [50]], [3], [3, 3]],
  ["one of each GPU, and beside what is known of each node", [two, two], [4], [4, 6]],
  ["one of each node of several GPUs", [two, [50], [50]], [7], [7, 7]],
])("a cell has %s", (_, gpus, alone, beside) => {
  const tests = (knownOf?: typeof known) => {
    const judgement = judgeGroup(fleetNodes(gpus), rule, knownOf);
    return [...judgement.levels, ...judgement.known].map(testsOf);
  };
  expect([tests(), tests(known)]).toEqual([alone, beside]);
});
