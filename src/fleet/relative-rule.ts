import { groupBy } from "../stats/group-by.js";
import { median, robustDeviation } from "../stats/order-statistics.js";
import { type CopySeries, type FleetThresholds, noiseFloors } from "./copy-series.js";
import { type DeviceFigures, kindOf, type NodeFigures } from "./node-figures.js";

/*
 * Rule 2: which nodes and GPUs of a group are slower than the others in one series of copies. All levels are logarithms
 * of speed; for a latency that is the inverse. A score is how far a GPU is above the median of its group, as the median
 * over its cells. Noise is 1.4826 times the median absolute deviation, which is the standard deviation of a normal
 * distribution (F. R. Hampel, "The Influence Curve and its Role in Robust Estimation", 1974), and at least the floor.
 */

/** A node is slow from this many times the noise of nodes on, a GPU from this many times that of GPUs. */
const factors = { node: 4, gpu: 6 } as const;

/** Parts and slots have this share of the nodes or more. */
const quarter = 0.25;

/** With fewer GPUs, nothing shows which of them is slow. */
const fewestGpus = 3;

/** A GPU's score; `node` and `device` are indices into the group's nodes and the node's GPUs. */
export interface GpuScore {
  node: number;
  device: number;
  /** Its cells, with their levels for GPUs of its model. */
  cells: readonly { key: string; level: number }[];
  /** How far above these levels those lie that it is compared with. */
  offset: number;
  /** How far it is above what it is compared with, as the median over the cells. */
  score: number;
}

/** A slow node (`device` null) or GPU: `drop` is how far it is below its level, more than `bound`. */
export interface SlowOne {
  node: number;
  device: number | null;
  drop: number;
  bound: number;
}

export interface SeriesJudgement {
  series: CopySeries;
  gpus: readonly GpuScore[];
  slow: readonly SlowOne[];
  /** The slower of two parts of the nodes; null without. */
  part: SlowPart | null;
  /** Slots that are slower in nearly all nodes, whose GPUs are compared with one another. */
  slots: readonly { slot: string; drop: number }[];
  bounds: Bounds;
}

/** The drops from which on a node or a GPU is slow; null if none is compared. */
interface Bounds {
  node: number | null;
  gpu: number | null;
}

export interface SlowPart {
  nodes: readonly number[];
  others: readonly number[];
  drop: number;
  bound: number;
}

/** The speed of a figure, as a logarithm. */
export function speedOf(figure: number, key: string): number {
  return kindOf(key).unit === "us" ? -Math.log(figure) : Math.log(figure);
}

/** A GPU's slot: its PCI address, or its number on the node. */
const slotOf = ({ pciBusId, ordinal }: DeviceFigures) => pciBusId ?? `GPU ${ordinal}`;

/** Judges a group's nodes in one series. Within parts, which are those of this series unless `parted` has them. */
export function judgeSeries(
  nodes: readonly NodeFigures[],
  series: CopySeries,
  thresholds: FleetThresholds,
  parted: SlowPart | null,
): SeriesJudgement {
  const threshold = -Math.log1p(-thresholds[series.kind]);
  const boundOf = (noise: number, factor: number) =>
    Math.max(threshold, factor * Math.max(noiseFloors[series.kind], noise));
  const boundOfGpus = (deviations: readonly number[]) => boundOf(robustDeviation(deviations), factors.gpu);
  const all = scoresOf(nodes, series);
  if (all.length === 0)
    return { series, gpus: [], slow: [], part: null, slots: [], bounds: { node: null, gpu: null } };
  const slots = oddSlots(nodes, all, boundOfGpus);
  const atSlots = all.map((gpu) =>
    against(gpu, slots.get(slotOf(nodes[gpu.node]!.devices[gpu.device]!)) ?? 0),
  );
  const ofNodes = scoresOfNodes(atSlots);
  const part = slowerPart(ofNodes, (noise) => boundOf(noise, factors.node));
  const levels = levelsOfParts(ofNodes, new Set((parted ?? part)?.nodes));
  const inParts = atSlots.map((gpu) => against(gpu, levels.get(gpu.node)!));
  const middle = median(inParts.map(({ score }) => score));
  const gpus = inParts.map((gpu) => against(gpu, middle));
  const scores = scoresOfNodes(gpus).map(({ score }) => score);
  const centre = median(scores);
  const noise = robustDeviation(scores.map((score) => score - centre));
  const bound = scores.length < 2 ? null : boundOf(noise, factors.node);
  const { slow, bounds } = slowOnes(nodes, gpus, { centre, bound }, (deviations) =>
    deviations.length < fewestGpus ? null : boundOfGpus(deviations),
  );
  return {
    ...{ series, gpus, slow, bounds, part },
    slots: [...slots].flatMap(([slot, level]) => (level < 0 ? [{ slot, drop: -level }] : [])),
  };
}

/**
 * The nodes and GPUs that are slower than what they are compared with by more than a bound. On a slow node, a GPU is slow by
 * itself if it is slower than its node. `boundOfGpus()` gets the GPUs' drops beside those of slow nodes.
 */
export function slowOnes(
  nodes: readonly NodeFigures[],
  gpus: readonly GpuScore[],
  ofNodes: { centre: number; bound: number | null },
  boundOfGpus: (drops: readonly number[]) => number | null,
): { slow: SlowOne[]; bounds: Bounds } {
  const isAlone = (node: number) => nodes[node]!.devices.length === 1;
  const slowBy = <One extends { drop: number }>(ones: readonly One[], bound: number | null) =>
    bound === null ? [] : ones.filter(({ drop }) => drop > bound).map((one) => ({ ...one, bound }));
  const slowNodes = slowBy(
    scoresOfNodes(gpus).map(({ node, score }) => {
      return { node, device: isAlone(node) ? 0 : null, drop: ofNodes.centre - score };
    }),
    ofNodes.bound,
  );
  const drops = new Map(slowNodes.map(({ node, drop }) => [node, drop]));
  const beside = gpus.map(({ node, device, score }) => ({
    node,
    device,
    drop: -score - (drops.get(node) ?? 0),
  }));
  const comparable = beside.filter(({ node }) => !isAlone(node));
  const bound = comparable.length === 0 ? null : boundOfGpus(beside.map(({ drop }) => drop));
  return { slow: [...slowNodes, ...slowBy(comparable, bound)], bounds: { node: ofNodes.bound, gpu: bound } };
}

/** The GPU compared with another level, above the present one by this much. */
function against(gpu: GpuScore, level: number): GpuScore {
  return level === 0 ? gpu : { ...gpu, offset: gpu.offset + level, score: gpu.score - level };
}

/** The GPUs with figures of a series, each cell against the median of the GPUs of its model, if several have it. */
function scoresOf(nodes: readonly NodeFigures[], { keys }: CopySeries): GpuScore[] {
  const speeds = new Map<string, Map<string, number[]>>();
  for (const { name, figures } of nodes.flatMap(({ devices }) => devices)) {
    const ofModel = speeds.get(name) ?? new Map<string, number[]>(keys.map((key) => [key, []]));
    speeds.set(name, ofModel);
    for (const key of keys) if (figures.has(key)) ofModel.get(key)!.push(speedOf(figures.get(key)!, key));
  }
  // The cells of a model are shared by its GPUs, of which there may be 100 000.
  const cellsOf = new Map(
    [...speeds].map(([name, ofModel]) => {
      const known = [...ofModel].filter(([, all]) => all.length > 1);
      return [name, known.map(([key, all]) => ({ key, level: median(all) }))];
    }),
  );
  return nodes.flatMap(({ devices }, node) =>
    devices.flatMap((gpu, device) => {
      return scoreIn(gpu, { node, device, cells: cellsOf.get(gpu.name)!, offset: 0 }) ?? [];
    }),
  );
}

export function scoreIn(
  { figures }: Pick<DeviceFigures, "figures">,
  gpu: Omit<GpuScore, "score">,
): GpuScore | null {
  const above: number[] = [];
  for (const { key, level } of gpu.cells) {
    const figure = figures.get(key);
    if (figure !== undefined) above.push(speedOf(figure, key) - level);
  }
  return above.length === 0 ? null : { ...gpu, score: median(above) - gpu.offset };
}

/** The score that at least half of a node's GPUs do not exceed: one slow GPU of two makes no slow node. */
export function scoreOfNode(scores: readonly number[]): number {
  return [...scores].sort((a, b) => a - b)[Math.floor(scores.length / 2)]!;
}

interface NodeScore {
  node: number;
  score: number;
}

function scoresOfNodes(gpus: readonly GpuScore[]): NodeScore[] {
  const nodes: { node: number; all: number[] }[] = [];
  for (const { node, score } of gpus) {
    if (nodes.at(-1)?.node !== node) nodes.push({ node, all: [] });
    nodes.at(-1)!.all.push(score);
  }
  return nodes.map(({ node, all }) => ({ node, score: scoreOfNode(all) }));
}

/**
 * The levels of slots that differ from the others beyond the bound for GPUs, on three quarters of the nodes or more:
 * built so, or a fault of all nodes, which their figures do not distinguish. Noise is that within the slots.
 */
function oddSlots(
  nodes: readonly NodeFigures[],
  gpus: readonly GpuScore[],
  boundOf: (deviations: readonly number[]) => number,
): Map<string, number> {
  const slots = [...groupBy(gpus, ({ node, device }) => slotOf(nodes[node]!.devices[device]!))]
    .map(([slot, there]) => ({ slot, there, level: median(there.map(({ score }) => score)) }))
    .filter(({ there }) => there.length > 1 && there.length >= (1 - quarter) * nodes.length);
  if (slots.length < 2) return new Map();
  const centre = median(slots.map(({ level }) => level));
  const bound = boundOf(slots.flatMap(({ there, level }) => there.map(({ score }) => score - level)));
  const isOdd = ({ there, level }: (typeof slots)[number]) => {
    const beyond = there.filter(({ score }) => Math.sign(level - centre) * (score - centre) > bound);
    return beyond.length >= (1 - quarter) * there.length;
  };
  return new Map(slots.filter(isOdd).map(({ slot, level }) => [slot, level - centre]));
}

/**
 * The slower of two parts of the nodes at their largest gap, each with a quarter of the nodes or more; null unless three
 * quarters of the slower part are below three quarters of the faster one by the bound for nodes. Noise is that within the
 * parts.
 */
function slowerPart(scores: readonly NodeScore[], boundOf: (noise: number) => number): SlowPart | null {
  const sorted = scores.toSorted((a, b) => a.score - b.score);
  const fewest = Math.max(1, Math.ceil(quarter * sorted.length));
  let split: number | null = null;
  for (let at = fewest; at <= sorted.length - fewest; ++at) {
    const gapAt = (index: number) => sorted[index]!.score - sorted[index - 1]!.score;
    // Of gaps that differ by rounding alone, the first.
    if (split === null || gapAt(at) > gapAt(split) + 1e-9) split = at;
  }
  if (split === null) return null;
  const [slow, fast] = [sorted.slice(0, split), sorted.slice(split)];
  const [nodes, others] = [slow, fast].map((part) => part.map(({ node }) => node)) as [number[], number[]];
  const levels = levelsOfParts(sorted, new Set(nodes));
  const bound = boundOf(robustDeviation(sorted.map(({ node, score }) => score - levels.get(node)!)));
  const most = (part: readonly unknown[]) => Math.ceil((1 - quarter) * part.length);
  if (fast.at(-most(fast))!.score - slow[most(slow) - 1]!.score <= bound) return null;
  return { nodes, others, drop: levels.get(others[0]!)! - levels.get(nodes[0]!)!, bound };
}

function levelsOfParts(scores: readonly NodeScore[], slow: ReadonlySet<number>): Map<number, number> {
  const parts = groupBy(scores, ({ node }) => String(slow.has(node)));
  return new Map(
    [...parts.values()].flatMap((part) => {
      const level = median(part.map(({ score }) => score));
      return part.map(({ node }) => [node, level] as const);
    }),
  );
}
