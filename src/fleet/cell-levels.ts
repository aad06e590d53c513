import { median } from "../stats/order-statistics.js";
import {
  chanceOfDrop,
  deviationOf,
  type FigureNoise,
  noiseOf,
  ofMedian,
  type WiderNoise,
} from "./figure-noise.js";
import type { FigureKind } from "./fleet-document.js";
import { kindOf, type NodeFigures } from "./node-figures.js";

/**
 * The levels of one cell in a group: the centre, how far each GPU and each node is below it, and whether the nodes are
 * on two levels. All are logarithms of speed; for a latency that is the inverse.
 */
export interface CellLevels {
  key: string;
  kind: FigureKind;
  /** What the GPUs are compared with: the others like them, or the reference for their kind. */
  against: "like" | "reference";
  /** The smallest drop that counts. */
  least: number;
  /** The smallest drop that is called slow; larger than `least` if nothing shows the noise of such figures. */
  namedFrom: number;
  /** The cells whose drops were combined; empty for a single cell. */
  members: readonly CellLevels[];
  /** One for each GPU, in the order of nodes and of their GPUs. */
  gpus: readonly GpuLevel[];
  /** One for each node with a figure. */
  nodes: readonly NodeLevel[];
  /** Centre of the group's GPUs. */
  centre: number;
  gpuNoise: FigureNoise;
  nodeNoise: FigureNoise;
  /** The GPUs that the noise is known from, and their drops. */
  shown: readonly GpuLevel[];
  residuals: readonly number[];
  /** How many of `residuals` show noise: about a common centre, all but one. */
  spare: number;
  /** Set if the noise is wider than recorded. */
  wider: WiderNoise | null;
  /** Null if the nodes are on one level. */
  parts: TwoParts | null;
  /** Places whose GPUs, on all nodes, differ from those at other places. */
  oddPlaces: ReadonlyMap<string, PlaceLevel>;
}

/** A place with different GPUs: the change of the logarithm, and the number of GPUs that differ. */
export interface PlaceLevel {
  change: number;
  changed: number;
  gpus: number;
}

/** A GPU's figure in a cell; `node` and `device` are indices into the group's nodes and the node's GPUs. */
export interface GpuLevel {
  node: number;
  device: number;
  /** The centre that it is compared with, and how far below that it is. */
  centre: number;
  drop: number;
}

/** A node's level: the medians of its GPUs. */
export interface NodeLevel {
  node: number;
  centre: number;
  drop: number;
}

/** Nodes on two levels, much further apart than the nodes of each level. */
export interface TwoParts {
  /** Indices of the group's nodes. */
  slow: readonly number[];
  fast: readonly number[];
  slowCentre: number;
  fastCentre: number;
}

/** The reference for a GPU's kind: the logarithm of a healthy one's speed, and how far below it one may be. */
export interface KnownLevel {
  speed: number;
  tolerated: number;
}

/** The reference for a cell of a GPU; null without one. */
export type KnownOf = (node: number, device: number, key: string) => KnownLevel | null;

/** With fewer GPUs at a place, their median may be that of slow ones, so all of them must differ. */
const enoughForPlaces = 5;

/**
 * Smallest share of the nodes in each part. A smaller slow part consists of outliers; a fast part may be smaller,
 * because no fault makes a node fast.
 */
const leastPart = { slow: 0.25, fast: 0.1 };
/**
 * Smallest gap between the parts in standard deviations within them, and the largest chance of such a gap over all
 * nodes.
 */
const leastGap = 6;
const mostGapChance = 1e-3;
/**
 * A drop that cannot be noise, even if no figures show the noise and it may differ from any recorded one: link faults
 * cost half.
 */
export const leastUnshown = -Math.log1p(-0.25);
/** At most this number of nodes, or a single fast one, do not show their own spread. */
export const fewNodes = 3;

interface Speed {
  node: number;
  device: number;
  speed: number;
  place: string;
  model: string;
  /** Whether it is slower than its kind's reference allows. */
  isIll: boolean;
}

/**
 * The levels of a cell in a group; `threshold` is the smallest relative loss that counts. Null if nobody has a figure.
 * GPUs that are slow by the reference of their kind do not count in the centre and the noise.
 */
export function cellLevels(
  nodes: readonly NodeFigures[],
  key: string,
  placeOf: PlaceOf,
  threshold: number,
  knownOf: KnownOf = () => null,
  wider: WiderNoise | null = null,
): CellLevels | null {
  const kind = kindOf(key);
  const least = -Math.log1p(-threshold);
  const speeds = speedsOf(nodes, key, placeOf, least, knownOf);
  if (speeds.length === 0) return null;
  const models = [...new Set(speeds.map(({ model }) => model))];
  const isWell = speeds.some(({ isIll }) => !isIll) ? ({ isIll }: Speed) => !isIll : () => true;
  const overall = median(speeds.filter(isWell).map(({ speed }) => speed));
  const offsetOf = new Map(
    models.map((model) => {
      const ofModel = speeds.filter((one) => one.model === model);
      const well = ofModel.filter(isWell);
      const own = median((well.length > 0 ? well : ofModel).map(({ speed }) => speed));
      return [model, models.length === 1 ? 0 : own - overall] as const;
    }),
  );
  const plain = speeds.map((one) => ({ ...one, speed: one.speed - offsetOf.get(one.model)! }));
  const noise: NoiseOf = (residuals) => noiseOf(residuals, kind, models, { wider });
  const first = placesElsewhere(plain.filter(isWell), least, noise);
  const withoutPlace = plain.map((one) => ({
    node: one.node,
    speed: one.speed - (first.odd.get(one.place)?.change ?? 0),
  }));
  const parts = twoParts(
    byNode(withoutPlace, ({ speed }) => speed),
    least,
    noise,
  );
  const slowOnes = new Set(parts?.slow);
  const isSlow = ({ node }: { node: number }) => slowOnes.has(node);
  // If the slow part is the smaller one, it is compared with the fast one. Otherwise the figures do not show which part
  // is healthy, and nodes are compared with their own part.
  const isFastLarger = parts !== null && parts.fast.length > parts.slow.length;
  const shift = parts === null || isFastLarger ? 0 : parts.slowCentre - parts.fastCentre;
  const well = plain.filter((one) => isWell(one) && !isSlow(one));
  const { odd, centre } =
    parts === null
      ? first
      : placesElsewhere(well.length > 0 ? well : plain.filter((one) => !isSlow(one)), least, noise);

  const gpus = speeds.map(({ node, device, speed, place, model }) => {
    const own =
      centre + offsetOf.get(model)! + (odd.get(place)?.change ?? 0) + (slowOnes.has(node) ? shift : 0);
    return { node, device, centre: own, drop: own - speed };
  });
  const ofNodes = nodeLevels(gpus);
  const illNodes = new Set(ofNodes.map(({ node }) => node));
  for (const { node, isIll } of speeds) if (!isIll) illNodes.delete(node);
  const counts = (one: { node: number }) => !(isFastLarger && isSlow(one));
  const counted = gpus.filter((one, i) => counts(one) && isWell(speeds[i]!));
  const residuals = counted.map(({ drop }) => drop);
  return {
    key,
    kind,
    against: "like",
    least,
    namedFrom: least,
    members: [],
    gpus,
    nodes: ofNodes,
    centre,
    gpuNoise: noise(residuals),
    nodeNoise: noise(ofNodes.filter((one) => counts(one) && !illNodes.has(one.node)).map(({ drop }) => drop)),
    shown: counted,
    residuals,
    spare: counted.length - new Set(counted.map((one) => one.centre)).size,
    wider,
    parts,
    oddPlaces: odd,
  };
}

function speedsOf(
  nodes: readonly NodeFigures[],
  key: string,
  placeOf: PlaceOf,
  least: number,
  knownOf: KnownOf,
): Speed[] {
  const isTime = kindOf(key).unit === "us";
  return nodes.flatMap(({ devices }, node) =>
    devices.flatMap(({ figures, name: model }, device) => {
      const figure = figures.get(key);
      if (figure === undefined || !(figure > 0)) return [];
      const speed = isTime ? -Math.log(figure) : Math.log(figure);
      const known = knownOf(node, device, key);
      const isIll = known !== null && known.speed - speed > Math.max(least, known.tolerated);
      return [{ node, device, speed, place: placeOf(node, device), model, isIll }];
    }),
  );
}

/** The figure for a speed's logarithm: a latency is the inverse of its speed. */
export function figureOf({ kind }: CellLevels, logSpeed: number): number {
  return Math.exp(kind.unit === "us" ? -logSpeed : logSpeed);
}

/** The median of each node's values. */
function byNode<One extends { node: number }>(
  ones: readonly One[],
  take: (one: One) => number,
): { node: number; speed: number }[] {
  const values = new Map<number, number[]>();
  for (const one of ones) {
    const ofNode = values.get(one.node);
    if (ofNode === undefined) values.set(one.node, [take(one)]);
    else ofNode.push(take(one));
  }
  return [...values].map(([node, ofNode]) => ({ node, speed: median(ofNode) }));
}

/** The nodes of these GPUs: the medians of their GPUs' levels. */
export function nodeLevels(gpus: readonly GpuLevel[]): NodeLevel[] {
  const centres = byNode(gpus, ({ centre }) => centre);
  const drops = byNode(gpus, ({ drop }) => drop);
  return centres.map(({ node, speed }, i) => ({ node, centre: speed, drop: drops[i]!.speed }));
}

/**
 * The widest gap between ascending values with at least `fewest` of them on either side: how many are below it, and its
 * width.
 */
function widestGap(
  sorted: readonly number[],
  fewest: { below: number; above: number },
): { at: number; gap: number } {
  let widest = { at: 0, gap: 0 };
  for (let at = fewest.below; at <= sorted.length - fewest.above; ++at) {
    const gap = sorted[at]! - sorted[at - 1]!;
    if (gap > widest.gap) widest = { at, gap };
  }
  return widest;
}

/** The noise of figures like these, which are relative to their centre. */
type NoiseOf = (residuals: readonly number[]) => FigureNoise;

/** Two parts of the nodes with a gap between them that is no noise. */
function twoParts(
  nodes: readonly { node: number; speed: number }[],
  least: number,
  noiseOf: NoiseOf,
): TwoParts | null {
  const sorted = [...nodes].sort((a, b) => a.speed - b.speed);
  const { length } = sorted;
  const below = length === 2 ? 1 : Math.max(2, Math.ceil(leastPart.slow * length));
  const { at, gap } = widestGap(
    sorted.map(({ speed }) => speed),
    { below, above: Math.ceil(leastPart.fast * length) },
  );
  const isFew = length <= fewNodes || length - at === 1;
  if (gap < (isFew ? Math.max(least, leastUnshown) : least)) return null;
  const [slow, fast] = [sorted.slice(0, at), sorted.slice(at)];
  const slowCentre = median(slow.map(({ speed }) => speed));
  const fastCentre = median(fast.map(({ speed }) => speed));
  const within = [
    ...slow.map(({ speed }) => speed - slowCentre),
    ...fast.map(({ speed }) => speed - fastCentre),
  ];
  const noise = noiseOf(within);
  if (gap < leastGap * deviationOf(noise) || length * chanceOfDrop(gap, noise) > mostGapChance) return null;
  const nodeOf = ({ node }: { node: number }) => node;
  return {
    slow: slow.map(nodeOf),
    fast: fast.map(nodeOf),
    slowCentre,
    fastCentre,
  };
}

/** Identifies a GPU's place in its machine; equal in all machines of a kind. */
export type PlaceOf = (node: number, device: number) => string;

/**
 * A GPU's place in its machine: its PCI address if the machines have equal addresses, otherwise its ordinal, which
 * shifts if a GPU is missing.
 */
export function placesOf(nodes: readonly NodeFigures[]): PlaceOf {
  const addresses = new Set(nodes.flatMap(({ devices }) => devices.map(({ pciBusId }) => pciBusId)));
  const most = Math.max(...nodes.map(({ devices }) => devices.length));
  const areShared = !addresses.has(null) && addresses.size <= 2 * most;
  return (node, device) => {
    const { pciBusId, ordinal } = nodes[node]!.devices[device]!;
    return areShared ? pciBusId! : `GPU ${ordinal}`;
  };
}

/** A place is different if it differs by this many errors of its median. */
const leastPlaceErrors = 5;

/**
 * The level of most places' GPUs, and the places whose GPUs are farther than `least` from it. If the GPUs at one place
 * are on two levels, the upper one is the place's level: those below are slow, and not built so.
 */
function placesElsewhere(
  speeds: readonly { place: string; speed: number }[],
  least: number,
  noiseOf: NoiseOf,
): { odd: Map<string, PlaceLevel>; centre: number } {
  const byPlace = new Map<string, number[]>();
  for (const { place, speed } of speeds) {
    const there = byPlace.get(place);
    if (there === undefined) byPlace.set(place, [speed]);
    else there.push(speed);
  }
  const all = speeds.map(({ speed }) => speed);
  const most = Math.max(...[...byPlace.values()].map(({ length }) => length));
  const isKnown = (gpus: number) => gpus >= enoughForPlaces || (gpus >= 2 && gpus === most);
  const known = [...byPlace].filter(([, there]) => isKnown(there.length));
  if (byPlace.size < 2 || known.length === 0) return { odd: new Map(), centre: median(all) };
  const within = known.flatMap(([, there]) => {
    const middle = median(there);
    return there.map((speed) => speed - middle);
  });
  const noise = noiseOf(within);
  const deviation = deviationOf(noise);
  const usual = known.map(([place, there]) => ({
    place,
    there,
    level: levelOfPlace(there, Math.max(least, leastGap * deviation)),
  }));
  const centre = middleLevel(usual);
  const elsewhere = usual.flatMap(({ place, there, level }) => {
    const change = nearestOfFew(there, level, centre);
    const error = deviation * Math.sqrt(Math.PI / 2 / there.length);
    if (Math.abs(change) <= Math.max(least / 2, leastPlaceErrors * error)) return [];
    const chance = chanceOfDrop(Math.abs(change), ofMedian(noise, there.length));
    if (known.length * chance > mostGapChance) return [];
    const changed = there.filter((speed) => (speed - centre) / change > 0.5).length;
    return [[place, { change, changed, gpus: there.length }] as const];
  });
  const odd = new Map(elsewhere);
  const others = speeds.filter(({ place }) => !odd.has(place));
  return { odd, centre: others.length === 0 ? centre : median(others.map(({ speed }) => speed)) };
}

/** The median of a place's GPUs, or of the upper ones if a gap of `leastWide` divides them. */
function levelOfPlace(there: readonly number[], leastWide: number): number {
  const sorted = [...there].sort((a, b) => a - b);
  const above = sorted.length <= 3 ? 1 : Math.max(2, Math.ceil(leastPart.fast * sorted.length));
  const { at, gap } = widestGap(sorted, { below: 1, above });
  return median(gap >= leastWide ? sorted.slice(at) : sorted);
}

/** The level of the middle GPU's place: never a value between two levels. */
function middleLevel(usual: readonly { there: readonly number[]; level: number }[]): number {
  const levels = usual.flatMap(({ there, level }) => there.map(() => level)).sort((a, b) => a - b);
  return levels[Math.floor(levels.length / 2)]!;
}

/** How much a place differs: for few GPUs, as much as the nearest of them, if all are on one side. */
function nearestOfFew(there: readonly number[], level: number, centre: number): number {
  const change = level - centre;
  if (there.length >= enoughForPlaces) return change;
  const ofLevel = there.filter((speed) => speed >= level || Math.abs(speed - level) < Math.abs(change) / 2);
  // A single fast GPU is no level, or those at its place would be called slow.
  if (change > 0 && ofLevel.length < 2) return 0;
  const nearest = Math.min(...ofLevel.map((speed) => (speed - centre) * Math.sign(change)));
  return Math.sign(change) * Math.max(0, nearest);
}
