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
 * What one cell's figures of a group are like: where its centre lies, how far each GPU and each node lies below it, and
 * whether the nodes lie on two levels. All in logarithms of speed, of which the inverse of a latency is one.
 */
export interface CellLevels {
  key: string;
  kind: FigureKind;
  /** What the GPUs are compared with: their like, or what is known of their kind. */
  against: "like" | "reference";
  /** The least drop that counts. */
  least: number;
  /** The least drop that is called slow, more than `least` if nothing shows the noise of such figures. */
  namedFrom: number;
  /** The cells whose drops were put together; none where it is one cell. */
  members: readonly CellLevels[];
  /** A GPU each, in the order of nodes and of their GPUs. */
  gpus: readonly GpuLevel[];
  /** A node each that has a figure. */
  nodes: readonly NodeLevel[];
  /** Centre of the group's GPUs. */
  centre: number;
  gpuNoise: FigureNoise;
  nodeNoise: FigureNoise;
  /** The GPUs that the noise is known from, and their drops. */
  shown: readonly GpuLevel[];
  residuals: readonly number[];
  /** How many of `residuals` show noise: of those about one centre all but one. */
  spare: number;
  /** Where the noise is wider than recorded. */
  wider: WiderNoise | null;
  /** Null where the nodes lie on one level. */
  parts: TwoParts | null;
  /** Places at which the GPUs of all nodes lie elsewhere than those at other places. */
  oddPlaces: ReadonlyMap<string, PlaceLevel>;
}

/** A place whose GPUs lie elsewhere: by its change of the logarithm, and how many of its GPUs do. */
export interface PlaceLevel {
  change: number;
  changed: number;
  gpus: number;
}

/** A GPU's figure of a cell; `node` and `device` are indices into the group's nodes and the node's GPUs. */
export interface GpuLevel {
  node: number;
  device: number;
  /** What it is held against, and how far below that it lies. */
  centre: number;
  drop: number;
}

/** A node's: the medians of its GPUs'. */
export interface NodeLevel {
  node: number;
  centre: number;
  drop: number;
}

/** Nodes on two levels that are apart by far more than those of each level are from one another. */
export interface TwoParts {
  /** Indices of the group's nodes. */
  slow: readonly number[];
  fast: readonly number[];
  slowCentre: number;
  fastCentre: number;
}

/** What is known of a GPU's kind: the logarithm of the speed that a healthy one has, and how far below it one may lie. */
export interface KnownLevel {
  speed: number;
  tolerated: number;
}

/** What is known of a cell of a GPU; null for nothing. */
export type KnownOf = (node: number, device: number, key: string) => KnownLevel | null;

/** With fewer GPUs at a place, their median may be that of slow ones: all of them must lie elsewhere. */
const enoughForPlaces = 5;

/** A slow part has at least this share of the nodes; a smaller one is outliers. A fast one may be smaller: nothing is fast by a fault. */
const leastPart = { slow: 0.25, fast: 0.1 };
/**
 * By how many standard deviations within the parts these are apart at least, and what chance a gap like theirs has at most, all
 * nodes together.
 */
const leastGap = 6;
const mostGapChance = 1e-3;
/** A drop that is no noise, even if no figures show how wide theirs is and it may be other than any recorded: link faults take half. */
export const leastUnshown = -Math.log1p(-0.25);
/** So few nodes, or a single fast one, do not show their own spread. */
export const fewNodes = 3;

interface Speed {
  node: number;
  device: number;
  speed: number;
  place: string;
  model: string;
  /** Slower than what is known of its kind allows. */
  isIll: boolean;
}

/**
 * The levels of a cell in a group, `threshold` being the least relative loss that counts; null where nobody has a figure.
 * GPUs that are slow by what is known of their kind have no part in the centre and in the noise.
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
  // A slow part that is the smaller one is held against the fast one. Else nobody's figures say which of the two is
  // healthy, and nodes are held against their own part.
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

/** The nodes of these GPUs: the medians of what their GPUs have. */
export function nodeLevels(gpus: readonly GpuLevel[]): NodeLevel[] {
  const centres = byNode(gpus, ({ centre }) => centre);
  const drops = byNode(gpus, ({ drop }) => drop);
  return centres.map(({ node, speed }, i) => ({ node, centre: speed, drop: drops[i]!.speed }));
}

/**
 * The widest gap between values in ascending order that leaves `fewest` of them on either side: how many lie below it,
 * and how wide it is.
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

/** What names a GPU's place in its machine, the same in all machines of a kind. */
export type PlaceOf = (node: number, device: number) => string;

/**
 * A GPU's place in its machine: its PCI address where machines have theirs at the same addresses, else its ordinal, which
 * a GPU that is missing shifts.
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

/** A place is told from others where it differs by so many errors of its median. */
const leastPlaceErrors = 5;

/**
 * Where the GPUs of most places lie, and the places whose GPUs lie farther than `least` from that. Of GPUs on two levels at
 * one place, the upper level is the place's: those below it are slow, and no design.
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
  const within = known.flatMap(([, there]) => there.map((speed) => speed - median(there)));
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

/** The median of a place's GPUs, or of the upper ones where a gap of `leastWide` divides them. */
function levelOfPlace(there: readonly number[], leastWide: number): number {
  const sorted = [...there].sort((a, b) => a - b);
  const above = sorted.length <= 3 ? 1 : Math.max(2, Math.ceil(leastPart.fast * sorted.length));
  const { at, gap } = widestGap(sorted, { below: 1, above });
  return median(gap >= leastWide ? sorted.slice(at) : sorted);
}

/** The level of the place that the middle GPU is at: never one between two levels. */
function middleLevel(usual: readonly { there: readonly number[]; level: number }[]): number {
  const levels = usual.flatMap(({ there, level }) => there.map(() => level)).sort((a, b) => a - b);
  return levels[Math.floor(levels.length / 2)]!;
}

/** By how much a place lies elsewhere: of few GPUs by as much as the nearest of its level does, if all of these lie on one side. */
function nearestOfFew(there: readonly number[], level: number, centre: number): number {
  const change = level - centre;
  if (there.length >= enoughForPlaces) return change;
  const ofLevel = there.filter((speed) => speed >= level || Math.abs(speed - level) < Math.abs(change) / 2);
  const nearest = Math.min(...ofLevel.map((speed) => (speed - centre) * Math.sign(change)));
  return Math.sign(change) * Math.max(0, nearest);
}
