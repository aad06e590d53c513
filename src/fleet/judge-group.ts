import { holm } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { type CellLevels, cellLevels, type NodeLevel, placesOf } from "./cell-levels.js";
import { chanceOfDrop } from "./figure-noise.js";
import type { NodeFigures } from "./node-figures.js";

/** By what an outlier is one. */
export interface FleetRule {
  /** The chance that a group without a slow GPU has an outlier all the same, if its noise is as assumed. */
  significance: number;
  /** The least relative loss that is told: 0.05 is 5 %. */
  threshold: number;
}

/** A GPU, or a node as a whole, that lies below its like; `node` and `device` are indices into the group and its node. */
export interface SlowOne {
  node: number;
  /** Null where it is the node. */
  device: number | null;
  /** The cells in which it does, that of the largest drop first. */
  cells: readonly SlowCell[];
}

/** A cell in which it lies below its like; centre and drop as logarithms of speed. */
export interface SlowCell {
  levels: CellLevels;
  centre: number;
  drop: number;
  adjustedPValue: number;
}

/** What a group's figures say. */
export interface GroupJudgement {
  levels: readonly CellLevels[];
  /** How many figures were held against a centre: what p-values are corrected for. */
  tests: number;
  /** The largest drop first, as in the two below. */
  outliers: readonly SlowOne[];
  /** Not shown to be slow, and lower than one figure in the whole group is by chance. */
  suspects: readonly SlowOne[];
}

/** A figure's, or a node's, test; `device` as in SlowOne. */
interface Test extends SlowCell {
  node: number;
  device: number | null;
  pValue: number;
}

/** With fewer figures of a cell there is no centre that one of them can be told from. */
const fewestFigures = 3;

/** So much of a node's GPUs are slow where the node is, and so far below their centre for a share of its drop. */
const nodeShare = { gpus: 0.75, drop: 0.5 };

/** Holds each GPU, and each node of several, of a group against the group's centre, cell by cell. */
export function judgeGroup(nodes: readonly NodeFigures[], rule: FleetRule): GroupJudgement {
  const keys = new Set(nodes.flatMap(({ devices }) => devices.flatMap(({ figures }) => [...figures.keys()])));
  const placeOf = placesOf(nodes);
  const levels = [...keys]
    .map((key) => cellLevels(nodes, key, placeOf, rule.threshold))
    .filter((one) => one !== null);
  const least = leastDrop(rule);
  const tests = levels.reduce((sum, one) => sum + testsOf(one), 0);
  const below = levels.flatMap((one) => (testsOf(one) === 0 ? [] : testsBelow(one, least)));
  const adjusted = holm(
    below.map(({ pValue }) => pValue),
    tests,
  );
  below.forEach((test, i) => {
    test.adjustedPValue = adjusted[i]!;
  });
  const outliers = slowOnes(
    nodes,
    levels,
    below.filter((test) => test.adjustedPValue < rule.significance),
    least,
  );
  const named = new Set(outliers.map(({ node }) => node));
  const suspects = slowOnes(
    nodes,
    levels,
    below.filter((test) => test.pValue * tests <= 1 && !named.has(test.node)),
    least,
  );
  return { levels, tests, outliers, suspects };
}

/** The least drop of the logarithm of a figure that counts. */
export function leastDrop({ threshold }: FleetRule): number {
  return -Math.log1p(-threshold);
}

/** Whether nodes are held against one another, and not only their GPUs. */
function judgesNodes({ gpus, nodes }: CellLevels): boolean {
  return gpus.length > nodes.length && nodes.length >= fewestFigures;
}

/** How many figures of a cell are held against its centre: its GPUs', and those of nodes of several. */
function testsOf(levels: CellLevels): number {
  if (levels.gpus.length < fewestFigures) return 0;
  return levels.gpus.length + (judgesNodes(levels) ? levels.nodes.length : 0);
}

/** The tests of what lost more than counts; the others are not told whatever their p-values are. */
function testsBelow(levels: CellLevels, least: number): Test[] {
  const testOf = ({ node, centre, drop }: NodeLevel, device: number | null) => ({
    ...{ levels, node, device, centre, drop },
    pValue: chanceOfDrop(drop, device === null ? levels.nodeNoise : levels.gpuNoise),
    adjustedPValue: 1,
  });
  const isBelow = ({ drop }: NodeLevel) => drop > least;
  const ofGpus = levels.gpus.filter(isBelow).map((gpu) => testOf(gpu, gpu.device));
  if (!judgesNodes(levels)) return ofGpus;
  return [...ofGpus, ...levels.nodes.filter(isBelow).map((node) => testOf(node, null))];
}

/** Who the slow figures belong to: in each cell a node where nearly all of its GPUs are slow alike, else single GPUs. */
function slowOnes(
  nodes: readonly NodeFigures[],
  levels: readonly CellLevels[],
  slow: readonly Test[],
  least: number,
): SlowOne[] {
  const found = new Map<string, { node: number; device: number | null; cells: SlowCell[] }>();
  const add = (node: number, device: number | null, { levels, centre, drop, adjustedPValue }: SlowCell) => {
    const name = `${node} ${device}`;
    const one = found.get(name) ?? { node, device, cells: [] };
    one.cells.push({ levels, centre, drop, adjustedPValue });
    found.set(name, one);
  };
  for (const ofCell of levels) {
    const tests = slow.filter((test) => test.levels === ofCell);
    for (const node of new Set(tests.map((test) => test.node))) {
      const own = tests.filter((test) => test.node === node);
      const whole = nodes[node]!.devices.length > 1 ? wholeNode(ofCell, node, own) : null;
      if (whole !== null) add(node, null, whole);
      // On a slow node a GPU is told by itself where it is slower than the node by as much again as counts.
      const ofGpus = own.filter(
        ({ device, drop }) => device !== null && drop > (whole?.drop ?? 0) + (whole ? least : 0),
      );
      for (const test of ofGpus) add(node, test.device, test);
    }
  }
  const ones = [...found.values()];
  for (const { cells } of ones) cells.sort((a, b) => b.drop - a.drop);
  return ones.sort((a, b) => b.cells[0]!.drop - a.cells[0]!.drop);
}

/** The node's own test, or what stands for it where its GPUs alone are shown to be slow; null where it is not the node. */
function wholeNode(levels: CellLevels, node: number, slow: readonly Test[]): SlowCell | null {
  const gpus = levels.gpus.filter((one) => one.node === node);
  if (gpus.length < 2) return null;
  const drop = median(gpus.map((one) => one.drop));
  const alike = gpus.filter((one) => one.drop >= nodeShare.drop * drop).length;
  if (alike < nodeShare.gpus * gpus.length) return null;
  const own = slow.find(({ device }) => device === null);
  const ofGpus = slow.filter(({ device }) => device !== null);
  if (own === undefined && ofGpus.length < nodeShare.gpus * gpus.length) return null;
  const adjustedPValue = Math.min(...slow.map((test) => test.adjustedPValue));
  return { levels, centre: median(gpus.map((one) => one.centre)), drop, adjustedPValue };
}

/** The figure of a speed's logarithm: a latency is the inverse of its speed. */
export function figureOf({ kind }: CellLevels, logSpeed: number): number {
  return Math.exp(kind.unit === "us" ? -logSpeed : logSpeed);
}
