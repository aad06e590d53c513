import { groupBy } from "../draw/report.js";
import { holm } from "../stats/hypothesis-tests.js";
import {
  type CellLevels,
  cellLevels,
  type KnownOf,
  leastUnshown,
  type NodeLevel,
  nodeLevels,
  placesOf,
} from "./cell-levels.js";
import { kindName, kindsTogether } from "./cells-together.js";
import { type FarRule, farBelow, farButUnclear, farInEachCell, farRule } from "./far-below.js";
import {
  chanceOfDrop,
  type FigureNoise,
  leastLossShown,
  processNoise,
  scatterOfHealthy,
  type WiderNoise,
  widerNoise,
} from "./figure-noise.js";
import type { NodeFigures } from "./node-figures.js";
import { type SlowOne, slowOnes, type Test } from "./slow-ones.js";

/**
 * The chance that a group without a slow GPU has an outlier, if its noise is as assumed. Chosen with `node bench fleet`
 * (results/bench-fleet.txt).
 */
export const groupSignificance = 0.01;

/** The rule for outliers. */
export interface FleetRule {
  /** Smallest relative loss that is reported: 0.05 is 5 %. */
  threshold: number;
}

export interface GroupJudgement {
  levels: readonly CellLevels[];
  /** The combined evidence of several cells, by kind of memory. */
  together: readonly CellLevels[];
  /** Cells compared with the reference of the GPU's kind. */
  known: readonly CellLevels[];
  /** A figure's p-value must be below this level. */
  levelOf: (levels: CellLevels) => number;
  /** The largest drop first, as in the two lists below. */
  outliers: readonly SlowOne[];
  /**
   * Not shown to be slow, but lower than one figure in the whole group is by chance: below the reference of their kind, or
   * in pinned copies. A second measurement decides. It cannot of other copies, in which healthy machines differ from each
   * other the second time too: 1 to 4 % of healthy fleets of 3 to 8 nodes were accused.
   */
  suspects: readonly SlowOne[];
  /** Suspects whose loss is that of a fault, among too few to say that it is no noise. */
  unclear: readonly SlowOne[];
}

/** With fewer figures, a cell has no centre to compare one of them with. */
const fewestFigures = 3;

/**
 * How the three families of tests share the significance: single cells, combined cells, and cells against the
 * reference, whose tolerance already spares healthy ones. Families that a group lacks leave their share to the others.
 */
const shares = { cell: 0.45, together: 0.45, known: 0.1 } as const;

/**
 * Judges each GPU of a group, and each node of several: by the reference, cell by cell against those like it, and by
 * all cells of a kind together.
 */
export function judgeGroup(
  nodes: readonly NodeFigures[],
  rule: FleetRule,
  knownOf: KnownOf = () => null,
): GroupJudgement {
  const keys = new Set<string>();
  for (const { devices } of nodes)
    for (const { figures } of devices) for (const key of figures.keys()) keys.add(key);
  const placeOf = placesOf(nodes);
  const models = [...new Set(nodes.flatMap(({ devices }) => devices.map(({ name }) => name)))];
  const levelsOfCell = (key: string, wider: WiderNoise | null) =>
    cellLevels(nodes, key, placeOf, rule.threshold, knownOf, wider);
  const judge = (healthy?: ReadonlyMap<string, HealthyNoise>) =>
    judgeLevels(nodes, levelsOf([...keys], models, levelsOfCell, healthy), models, rule, knownOf);
  const first = judge();
  if (first.outliers.length === 0) return first;
  const healthy = noiseOfHealthy(first, models);
  const isAsJudged = [...healthy.values()].every(({ factor, isShown }) => factor === 0 && isShown);
  return isAsJudged ? first : judge(healthy);
}

/** The noise of a kind of memory's figures, without those that are called slow. */
interface HealthyNoise {
  /** The excess over the recorded noise; 0 if it may be the recorded one. */
  factor: number;
  /** Whether they show any. */
  isShown: boolean;
}

/** The noise of the GPUs that are not called slow, by kind of memory. */
function noiseOfHealthy(
  { levels, outliers }: GroupJudgement,
  models: readonly string[],
): Map<string, HealthyNoise> {
  const named = new Set(outliers.map(({ node, device }) => `${node} ${device}`));
  const cells = levels.map((one) => {
    const healthy = one.shown.filter(
      ({ node, device }) => !named.has(`${node} ${device}`) && !named.has(`${node} null`),
    );
    const spare = healthy.length - new Set(healthy.map(({ centre }) => centre)).size;
    return { name: kindName(one), kind: one.kind, residuals: healthy.map(({ drop }) => drop), spare };
  });
  return new Map(
    [...groupBy(cells, ({ name }) => name)].map(([name, ofKind]) => [
      name,
      {
        factor: scatterOfHealthy(ofKind, models),
        // If all are called slow, their own scatter is what there is.
        isShown: ofKind.some(({ spare, residuals }) => spare > 0 || residuals.length === 0),
      },
    ]),
  );
}

function judgeLevels(
  nodes: readonly NodeFigures[],
  levels: readonly CellLevels[],
  models: readonly string[],
  rule: FleetRule,
  knownOf: KnownOf,
): GroupJudgement {
  const together = kindsTogether(levels, models);
  const known = levels.flatMap((one) => besideKnown(one, knownOf, models));
  const families = { cell: levels, together, known };
  const testsIn = (family: readonly CellLevels[]) => family.reduce((sum, one) => sum + testsOf(one), 0);
  const names = (["cell", "together", "known"] as const).filter((name) => testsIn(families[name]) > 0);
  const sum = names.reduce((total, name) => total + shares[name], 0);
  const significant: Test[] = [];
  const low: Test[] = [];
  const unclear: Test[] = [];
  for (const name of names) {
    const tests = testsIn(families[name]);
    const share = shares[name] / sum;
    const below = families[name].flatMap((one) => (testsOf(one) === 0 ? [] : testsBelow(one, tests)));
    const adjusted = holm(
      below.map(({ pValue }) => pValue),
      tests,
    );
    below.forEach((test, i) => {
      test.adjustedPValue = Math.min(1, adjusted[i]! / share);
    });
    significant.push(
      ...below.filter(
        ({ levels, drop, adjustedPValue }) => adjustedPValue < groupSignificance && drop > levels.namedFrom,
      ),
    );
    low.push(...below);
    if (name !== "cell") continue;
    const isIn = (ones: readonly Test[], test: Test) =>
      ones.some((one) => one.levels === test.levels && isSameOne(one, test));
    const isNamed = (test: Test) => isIn(significant, test);
    const far = (one: CellLevels, rule: FarRule) => testsFarBelow(one, known, tests / share, rule);
    const alone = levels.flatMap((one) => far(one, farRule(one)));
    significant.push(...alone.filter((test) => !isNamed(test)));
    const ofPinned = levels.filter((one) => kindName(one) === "pinned");
    const each = inEach(
      ofPinned.flatMap((one) => far(one, farInEachCell)),
      ofPinned,
    );
    significant.push(...each.filter((test) => !isNamed(test)));
    const isKnown = (one: CellLevels) => known.some(({ key }) => key === one.key);
    const large = ofPinned.filter((one) => !isKnown(one)).flatMap((one) => far(one, farButUnclear));
    unclear.push(...inEach(large, ofPinned));
    low.push(...unclear.filter((test) => !isIn(low, test)));
  }
  const least = leastDrop(rule);
  const levelOf = (one: CellLevels) => {
    const name = one.against === "reference" ? "known" : one.members.length > 0 ? "together" : "cell";
    return (groupSignificance * (shares[name] / sum)) / testsIn(families[name]);
  };
  // What is far below all others is so beside those of its node.
  const isSlowBeside = ({ levels, adjustedPValue }: Test, drop: number) =>
    adjustedPValue >= groupSignificance ||
    (drop > levels.namedFrom && chanceOfDrop(drop, levels.gpuNoise) < levelOf(levels));
  const outliers = slowOnes(nodes, significant, least, isSlowBeside);
  const named = new Set(outliers.map(({ node }) => node));
  const suspected = (tests: readonly Test[]) =>
    slowOnes(
      nodes,
      tests.filter(({ node }) => !named.has(node)),
      least,
    );
  const suspects = suspected(
    low.filter(({ levels }) => levels.against === "reference" || kindName(levels) === "pinned"),
  );
  return { levels, together, known, levelOf, outliers, suspects, unclear: suspected(unclear) };
}

/**
 * The levels of cells; computed again with the noise of healthy GPUs, or of all figures, if that of a kind of memory is
 * wider than recorded. Pinned copies are the steadiest: if their noise is wider, other kinds have at least the same tail.
 * If no figures of a kind show noise (only one GPU is not slow), it may differ from the recorded one, and only a large
 * drop is called slow.
 */
function levelsOf(
  keys: readonly string[],
  models: readonly string[],
  levelsOfCell: (key: string, wider: WiderNoise | null) => CellLevels | null,
  healthy: ReadonlyMap<string, HealthyNoise> = new Map(),
): CellLevels[] {
  const levels = keys.map((key) => levelsOfCell(key, null)).filter((one) => one !== null);
  const kinds = [...groupBy(levels, kindName)].map(([name, ofKind]) => {
    const ofHealthy = healthy.get(name);
    const isShown = ofHealthy?.isShown ?? ofKind.some(({ spare }) => spare > 0);
    return [name, { wider: widerNoise(ofKind, models, ofHealthy?.factor), isShown }] as const;
  });
  const noiseOf = new Map(kinds);
  const ofPinned = noiseOf.get("pinned")?.wider ?? null;
  const tail = ofPinned?.degreesOfFreedom ?? Number.POSITIVE_INFINITY;
  return levels.map((one) => {
    const { wider: own, isShown } = noiseOf.get(kindName(one))!;
    const wider =
      own === null && ofPinned === null
        ? null
        : { factor: own?.factor ?? 1, degreesOfFreedom: Math.min(tail, own?.degreesOfFreedom ?? tail) };
    const widened = wider === null ? one : levelsOfCell(one.key, wider)!;
    return isShown ? widened : { ...widened, namedFrom: Math.max(one.least, leastUnshown) };
  });
}

/** A cell's GPUs against the reference of their kind; none without a reference. */
function besideKnown(levels: CellLevels, knownOf: KnownOf, models: readonly string[]): CellLevels[] {
  let { least } = levels;
  const gpus = levels.gpus.flatMap(({ node, device, centre, drop }) => {
    const known = knownOf(node, device, levels.key);
    if (known === null) return [];
    least = Math.max(least, known.tolerated);
    return [{ node, device, centre: known.speed, drop: known.speed - (centre - drop) }];
  });
  if (gpus.length === 0) return [];
  const noise = processNoise(levels.kind, models, levels.wider);
  return [
    {
      ...levels,
      ...{ against: "reference", least, namedFrom: Math.max(least, levels.namedFrom) },
      ...{ gpus, nodes: nodeLevels(gpus) },
      ...{ gpuNoise: noise, nodeNoise: noise, parts: null, oddPlaces: new Map() },
    },
  ];
}

/** The smallest drop of a figure's logarithm that counts. */
export function leastDrop({ threshold }: FleetRule): number {
  return -Math.log1p(-threshold);
}

/** Whether nodes are compared as well as their GPUs. */
function judgesNodes({ against, gpus, nodes }: CellLevels): boolean {
  return gpus.length > nodes.length && (against === "reference" || nodes.length >= fewestFigures);
}

/** Number of figures compared with a cell's centre: those of GPUs, and of nodes of several. */
export function testsOf(levels: CellLevels): number {
  if (levels.against === "like" && levels.gpus.length < fewestFigures) return 0;
  return levels.gpus.length + (judgesNodes(levels) ? levels.nodes.length : 0);
}

/** The level of a GPU, or of a node. */
type Level = NodeLevel & { device?: number };

type Place = { node: number; device?: number | null };
const isSameOne = (one: Place, other: Place) => one.node === other.node && one.device === other.device;

function testOf(
  levels: CellLevels,
  { node, device, centre, drop }: Level,
  noise: FigureNoise,
  tests: number,
): Test {
  const pValue = chanceOfDrop(drop, noise);
  const adjustedPValue = Math.min(1, pValue * tests);
  return { levels, node, device: device ?? null, centre, drop, pValue, adjustedPValue, together: null };
}

/**
 * The tests with a counting loss, and a p-value of at most 1 over the number of tests; the many others are left out.
 */
function testsBelow(levels: CellLevels, tests: number): Test[] {
  const below = (ones: readonly Level[], noise: FigureNoise) => {
    const least = leastLossShown(noise, 1 / tests, -Math.expm1(-levels.least));
    if (least === null) return [];
    return ones
      .filter(({ drop }) => drop > -Math.log1p(-least))
      .map((one) => testOf(levels, one, noise, tests));
  };
  const ofGpus = below(levels.gpus, levels.gpuNoise);
  return judgesNodes(levels) ? [...ofGpus, ...below(levels.nodes, levels.nodeNoise)] : ofGpus;
}

/** The tests that are far below all others in their cell, and as far below the reference if there is one. */
function testsFarBelow(
  levels: CellLevels,
  known: readonly CellLevels[],
  tests: number,
  rule: FarRule,
): Test[] {
  if (testsOf(levels) === 0) return [];
  const ofKnown = known.find(({ key }) => key === levels.key);
  const far = (ones: readonly Level[], beside: readonly Level[], noise: FigureNoise) =>
    farBelow(ones, rule)
      .filter(({ drop }) => drop > levels.least)
      .filter((one) => (beside.find((other) => isSameOne(one, other))?.drop ?? rule.gap) >= rule.gap)
      .map((one) => testOf(levels, one, noise, tests));
  const ofGpus = far(levels.gpus, ofKnown?.gpus ?? [], levels.gpuNoise);
  if (!judgesNodes(levels)) return ofGpus;
  return [...ofGpus, ...far(levels.nodes, ofKnown?.nodes ?? [], levels.nodeNoise)];
}

/** The tests of those that fail in each of the cells in which they have a figure, and in several. */
function inEach(tests: readonly Test[], cells: readonly CellLevels[]): Test[] {
  const figuresOf = ({ node, device }: Test) =>
    cells.filter(({ gpus }) =>
      gpus.some((one) => one.node === node && (device ?? one.device) === one.device),
    );
  return tests.filter((test) => {
    const failed = tests.filter((one) => isSameOne(one, test)).length;
    return failed > 1 && failed === figuresOf(test).length;
  });
}
