import { median } from "../stats/order-statistics.js";
import { deviationOf, type FigureNoise, noiseOf } from "./figure-noise.js";
import type { FigureKind } from "./fleet-document.js";
import { kindOf, type NodeFigures } from "./node-figures.js";

/**
 * What one cell's figures of a group are like: where its centre lies, how far each GPU and each node lies below it, and
 * whether the nodes lie on two levels. All in logarithms of speed, of which the inverse of a latency is one.
 */
export interface CellLevels {
  key: string;
  kind: FigureKind;
  /** A GPU each, in the order of nodes and of their GPUs. */
  gpus: readonly GpuLevel[];
  /** A node each that has a figure. */
  nodes: readonly NodeLevel[];
  /** Centre of the group's GPUs. */
  centre: number;
  gpuNoise: FigureNoise;
  nodeNoise: FigureNoise;
  /** Null where the nodes lie on one level. */
  parts: TwoParts | null;
  /** Places at which the GPUs of all nodes lie elsewhere than those at other places, by their change of the logarithm. */
  oddPlaces: ReadonlyMap<string, number>;
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

/** With fewer GPUs at a place, their median may be that of slow ones: all of them must lie elsewhere. */
const enoughForPlaces = 5;

/** Each of two parts has at least this share of the nodes, and so many; a smaller slow one is outliers. */
const leastPart = { share: 0.25, nodes: 2 };
/** By how many standard deviations within the parts these are apart at least. */
const leastGap = 6;

/**
 * The levels of a cell in a group, `threshold` being the least relative loss that counts; null where nobody has a figure.
 */
export function cellLevels(
  nodes: readonly NodeFigures[],
  key: string,
  placeOf: PlaceOf,
  threshold: number,
): CellLevels | null {
  const kind = kindOf(key);
  const isTime = kind.unit === "us";
  const speeds: { node: number; device: number; speed: number; place: string; model: string }[] = [];
  nodes.forEach(({ devices }, node) => {
    devices.forEach(({ figures, name }, device) => {
      const figure = figures.get(key);
      if (figure === undefined || !(figure > 0)) return;
      const speed = isTime ? -Math.log(figure) : Math.log(figure);
      speeds.push({ node, device, speed, place: placeOf(node, device), model: name });
    });
  });
  if (speeds.length === 0) return null;
  const least = -Math.log1p(-threshold);
  const models = [...new Set(speeds.map(({ model }) => model))];
  const parts = twoParts(speedsByNode(speeds), least, kind, models);
  const slowOnes = new Set(parts?.slow);
  const isSlow = ({ node }: { node: number }) => slowOnes.has(node);
  // A slow part that is the smaller one is held against the fast one. Else nobody's figures say which of the two is
  // healthy, and nodes are held against their own part.
  const isFastLarger = parts !== null && parts.fast.length > parts.slow.length;
  const shift = parts === null || isFastLarger ? 0 : parts.slowCentre - parts.fastCentre;

  const centres = new Map<string, number>();
  for (const model of models) {
    const ofModel = speeds.filter((one) => one.model === model);
    const healthy = ofModel.filter((one) => !isSlow(one));
    centres.set(model, median((healthy.length > 0 ? healthy : ofModel).map(({ speed }) => speed)));
  }
  const oddPlaces = placesElsewhere(
    speeds
      .filter((one) => !isSlow(one))
      .map(({ node, place, speed, model }) => ({ node, place, speed: speed - centres.get(model)! })),
    least / 2,
    kind,
    models,
  );
  const gpus = speeds.map(({ node, device, speed, place, model }) => {
    const centre = centres.get(model)! + (oddPlaces.get(place) ?? 0) + (slowOnes.has(node) ? shift : 0);
    return { node, device, centre, drop: centre - speed };
  });
  const ofNodes = nodeLevels(gpus);
  const dropsOf = (levels: readonly { node: number; drop: number }[]) =>
    levels.filter((one) => !(isFastLarger && isSlow(one))).map(({ drop }) => drop);
  return {
    key,
    kind,
    gpus,
    nodes: ofNodes,
    centre:
      models.length === 1
        ? centres.get(models[0]!)!
        : median(speeds.filter((one) => !isSlow(one)).map(({ speed }) => speed)),
    gpuNoise: noiseOf(dropsOf(gpus), kind, models),
    nodeNoise: noiseOf(dropsOf(ofNodes), kind, models),
    parts,
    oddPlaces,
  };
}

function speedsByNode(speeds: readonly { node: number; speed: number }[]): { node: number; speed: number }[] {
  const byNode = new Map<number, number[]>();
  for (const { node, speed } of speeds) {
    const ofNode = byNode.get(node);
    if (ofNode === undefined) byNode.set(node, [speed]);
    else ofNode.push(speed);
  }
  return [...byNode].map(([node, ofNode]) => ({ node, speed: median(ofNode) }));
}

function nodeLevels(gpus: readonly GpuLevel[]): NodeLevel[] {
  const byNode = new Map<number, GpuLevel[]>();
  for (const gpu of gpus) {
    const ofNode = byNode.get(gpu.node);
    if (ofNode === undefined) byNode.set(gpu.node, [gpu]);
    else ofNode.push(gpu);
  }
  return [...byNode].map(([node, ofNode]) => ({
    node,
    centre: median(ofNode.map(({ centre }) => centre)),
    drop: median(ofNode.map(({ drop }) => drop)),
  }));
}

/** The widest gap between nodes that leaves enough of them on either side, if it is one. */
function twoParts(
  nodes: readonly { node: number; speed: number }[],
  least: number,
  kind: FigureKind,
  models: readonly string[],
): TwoParts | null {
  const sorted = [...nodes].sort((a, b) => a.speed - b.speed);
  const fewest = Math.max(leastPart.nodes, Math.ceil(leastPart.share * sorted.length));
  let at = 0;
  let gap = 0;
  for (let first = fewest; first <= sorted.length - fewest; ++first) {
    const here = sorted[first]!.speed - sorted[first - 1]!.speed;
    if (here > gap) [at, gap] = [first, here];
  }
  if (gap < least) return null;
  const [slow, fast] = [sorted.slice(0, at), sorted.slice(at)];
  const slowCentre = median(slow.map(({ speed }) => speed));
  const fastCentre = median(fast.map(({ speed }) => speed));
  const within = [
    ...slow.map(({ speed }) => speed - slowCentre),
    ...fast.map(({ speed }) => speed - fastCentre),
  ];
  if (gap < leastGap * deviationOf(noiseOf(within, kind, models))) return null;
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

/** Places whose GPUs lie farther than `least` from the others on most nodes, on all of a few: so they are built. */
function placesElsewhere(
  speeds: readonly { node: number; place: string; speed: number }[],
  least: number,
  kind: FigureKind,
  models: readonly string[],
): Map<string, number> {
  const byPlace = new Map<string, number[]>();
  for (const { place, speed } of speeds) {
    const there = byPlace.get(place);
    if (there === undefined) byPlace.set(place, [speed]);
    else there.push(speed);
  }
  const nodes = new Set(speeds.map(({ node }) => node)).size;
  const isKnown = (gpus: number) => gpus >= enoughForPlaces || (gpus >= 2 && gpus === nodes);
  const known = [...byPlace].filter(([, there]) => isKnown(there.length));
  if (byPlace.size < 2 || known.length === 0) return new Map();
  const usual = known.map(([place, there]) => ({ place, there, change: changeOfPlace(there) }));
  if (!usual.some(({ change }) => Math.abs(change) > least)) return new Map();
  const within = usual.flatMap(({ there, change }) => there.map((speed) => speed - change));
  const deviation = deviationOf(noiseOf(within, kind, models));
  const elsewhere = usual.filter(({ there, change }) => {
    const error = deviation * Math.sqrt(Math.PI / 2 / there.length);
    return Math.abs(change) > Math.max(least, leastPlaceErrors * error);
  });
  return new Map(elsewhere.map(({ place, change }) => [place, change]));
}

/** By how much a place lies elsewhere: of few GPUs by as much as the nearest of them does, if all lie on one side. */
function changeOfPlace(there: readonly number[]): number {
  if (there.length >= enoughForPlaces) return median(there);
  const [lowest, highest] = [Math.min(...there), Math.max(...there)];
  return highest < 0 ? highest : Math.max(0, lowest);
}
