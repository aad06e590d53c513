import { groupBy } from "../stats/group-by.js";
import { median, robustDeviation } from "../stats/order-statistics.js";
import { type CopySeries, type FleetThresholds, noiseFloors } from "./copy-series.js";
import { type DeviceFigures, kindOf, type NodeFigures } from "./node-figures.js";

/*
 * Rule 2: nodes and GPUs that are slower than their group in one series of copies. Levels are logarithms of speed (for
 * latencies, of its inverse). A score is a GPU's distance above its group's median, as the median over cells. Noise is
 * 1.4826 times the median absolute deviation, the standard deviation of normal values (F. R. Hampel, "The Influence
 * Curve and its Role in Robust Estimation", 1974), and at least the minimum.
 */

/** A node or GPU is slow beyond this many times the noise of nodes or of GPUs. */
const factors = { node: 4, gpu: 6 } as const;

/** Parts have at least this share of the nodes; odd slots are odd on all but this share. */
const quarter = 0.25;

/** With fewer GPUs, none can be called the slow one. */
const fewestGpus = 3;

/** A GPU's score. `node` is an index into the group's nodes, `device` into the node's GPUs. */
export interface GpuScore {
  node: number;
  device: number;
  /** Its cells, with the median level of its model. */
  cells: readonly { key: string; level: number }[];
  /** Distance of its reference level (its part or slot) above these levels. */
  offset: number;
  /** Median over the cells of its distance above the reference level. */
  score: number;
}

/** A slow node (`device` is null) or GPU. `drop`: how far it is below its reference level, more than `bound`. */
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
  /** The slower part, if the nodes split into two; null otherwise. */
  part: SlowPart | null;
  /** Slots that are slower on nearly all nodes; their GPUs are compared with each other. */
  slots: readonly { slot: string; drop: number }[];
  bounds: Bounds;
}

/** Drops from which on a node or a GPU is slow; null if none can be compared. */
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

const slotOf = ({ pciBusId, ordinal }: DeviceFigures) => pciBusId ?? `GPU ${ordinal}`;

/** Judges a group's nodes in one series. Parts come from `parted`, or else from this series. */
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
 * Nodes and GPUs below their reference level by more than a bound. A GPU of a slow node is slow if it is also below its
 * node by the bound for GPUs. `boundOfGpus()` gets the drops of all GPUs, less those of their nodes if these are slow.
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

/** Compares the GPU with a level that is higher by `level`. */
function against(gpu: GpuScore, level: number): GpuScore {
  return level === 0 ? gpu : { ...gpu, offset: gpu.offset + level, score: gpu.score - level };
}

/**
 * Scores of GPUs with figures in a series. Each cell is compared with the median of its model, if several GPUs have it.
 */
function scoresOf(nodes: readonly NodeFigures[], { keys }: CopySeries): GpuScore[] {
  const speeds = new Map<string, Map<string, number[]>>();
  for (const { name, figures } of nodes.flatMap(({ devices }) => devices)) {
    const ofModel = speeds.get(name) ?? new Map<string, number[]>(keys.map((key) => [key, []]));
    speeds.set(name, ofModel);
    for (const key of keys) if (figures.has(key)) ofModel.get(key)!.push(speedOf(figures.get(key)!, key));
  }
  // Computed once per model, because a model may have 100 000 GPUs.
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

/** A node's score: at least half of its GPUs do not exceed it. One slow GPU of two makes no slow node. */
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
 * Levels of slots that differ from others by more than the bound, on at least three quarters of the nodes: built so, or
 * faulty on all nodes. Noise is measured within the slots.
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
 * Splits the nodes at their largest gap into two parts of at least a quarter; returns the slower part. Null unless
 * three quarters of it are slower by the bound than three quarters of the other. Noise is measured within the parts.
 */
function slowerPart(scores: readonly NodeScore[], boundOf: (noise: number) => number): SlowPart | null {
  const sorted = scores.toSorted((a, b) => a.score - b.score);
  const fewest = Math.max(1, Math.ceil(quarter * sorted.length));
  let split: number | null = null;
  for (let at = fewest; at <= sorted.length - fewest; ++at) {
    const gapAt = (index: number) => sorted[index]!.score - sorted[index - 1]!.score;
    // Takes the first of gaps that differ only by rounding.
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
