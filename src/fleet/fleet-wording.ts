import { formatWholeShare, roundUp } from "../draw/numbers.js";
import { counted, listed } from "../draw/words.js";
import { parseCellId } from "../results/cell-id.js";
import { formatSize } from "../settings/units.js";
import { type CellLevels, figureOf } from "./cell-levels.js";
import { deviationOf } from "./figure-noise.js";
import {
  type FigureKind,
  type FleetGroup,
  type FleetGroupCell,
  type FleetOutlier,
  factName,
} from "./fleet-document.js";
import { type DeviceFigures, keyOf, type NodeFigures } from "./node-figures.js";
import type { Confirmation } from "./slow-ones.js";

/** The sentences of a fleet document. Names of nodes in them are unchanged: printing makes them safe. */

/** With fewer nodes in a group, an outlier is hard to find. */
const enoughNodes = 5;

export const percent = (share: number) => `${+(100 * share).toPrecision(2)} %`;
const digits = (figure: number) => String(+figure.toPrecision(3));
const unitText = { "GB/s": "GB/s", us: "µs" } as const;

const mostNamed = 3;

/** The first names, and the number of the others. */
export function someOf(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return listed([...names.slice(0, mostNamed), ...(more > 0 ? [`${more} more`] : [])]);
}

/** A cell in words, short enough for a sentence: "h2d pinned 64 MiB", with its variant. */
export function cellText({ cell, moved }: Pick<FigureKind, "cell"> & { moved: string }): string {
  const parsed = parseCellId(`d0/${cell}`);
  const { direction, memory, sizeBytes, workers, mode, together, peer, path, beside, chunks } = parsed;
  const { blockBytes, blockWay, cpuNode, memoryNode } = parsed;
  return [
    direction === "bidir" ? `${moved} of both directions` : direction,
    ...(memory === "device" ? [] : [memory]),
    formatSize(sizeBytes),
    ...(workers === 1 ? [] : [`by ${workers} workers`]),
    ...(mode === "latency" ? ["latency"] : []),
    ...(together === undefined ? [] : [`with ${together.length} GPUs together`]),
    ...(peer === undefined ? [] : [`to GPU ${peer} (${path})`]),
    ...(beside === undefined ? [] : [`beside ${beside}`]),
    ...(chunks === undefined ? [] : [`in ${chunks} chunks`]),
    ...(blockBytes === undefined ? [] : [`in blocks of ${formatSize(blockBytes)} (${blockWay})`]),
    ...(memoryNode === undefined ? [] : [`with memory of node ${memoryNode} and CPUs of node ${cpuNode}`]),
  ].join(" ");
}

/**
 * The loss of a GPU or (`device` null) a node: that of the cells of a kind together, or else the largest one of a cell,
 * and the number of other cells.
 */
export function outlier(
  { host, devices }: NodeFigures,
  device: DeviceFigures | null,
  cells: FleetOutlier["cells"],
  together: FleetOutlier["together"],
): string {
  const [most] = cells;
  if (most === undefined) throw new RangeError("an outlier is slow in a cell");
  const { figure, centre, change, unit } = most;
  const measured = (device?.figures ?? devices[0]!.figures).size;
  if (together !== null) {
    const { change, memory } = together;
    return `${who(host, device)} is ${percent(-change)} slower over all ${together.cells} ${memory} cells (median); most of all ${percent(-most.change)} in ${cellText(most)}.`;
  }
  const figures = `${digits(figure)} instead of ${digits(centre)} ${unitText[unit]}`;
  const where = cells.length === 1 ? "" : `, in ${cells.length} of ${measured} cells; most of all`;
  const loss =
    unit === "us" ? `takes ${digits(figure / centre)} times as long` : `is ${percent(-change)} slower`;
  return `${who(host, device)} ${loss}${where}${cells.length === 1 ? " in" : ""} ${cellText(most)}: ${figures}.`;
}

/**
 * A sentence on a group with nodes on two levels: the nodes on the slow one, and a fact that goes with it, if any.
 * `named` are the nodes that are outliers.
 */
export function slowPart(
  levels: CellLevels,
  nodes: readonly NodeFigures[],
  named: ReadonlySet<number>,
): FleetGroup["slowPart"] {
  const { parts, kind } = levels;
  if (parts === null) return null;
  const { slow, fast } = parts;
  const unit = unitText[kind.unit];
  const [low, high] = [parts.slowCentre, parts.fastCentre].map((log) => digits(figureOf(levels, log)));
  const fact = factOfParts(
    slow.map((node) => nodes[node]!),
    fast.map((node) => nodes[node]!),
  );
  const what =
    slow.length < fast.length
      ? "The slow ones are compared with the others"
      : slow.every((node) => named.has(node))
        ? "The slow ones are below the rates of healthy machines"
        : "Their figures do not show which part is healthy";
  const hosts = slow.map((node) => nodes[node]!.host).sort();
  return {
    hosts,
    reason: `The nodes fall into two parts: ${slow.length} with ${low} ${unit} (${someOf(hosts)}) and ${fast.length} with ${high} ${unit} in ${cellText(kind)}. ${what}${fact === null ? "" : `; ${fact}`}.`,
    action: "monitor",
  };
}

export const clearedPart =
  "Some nodes were slower than the others at first, and not when they were measured again.";

/** A fact that all nodes of one part share, and none of the other. */
function factOfParts(slow: readonly NodeFigures[], fast: readonly NodeFigures[]): string | null {
  const valuesOf = (nodes: readonly NodeFigures[], fact: string) =>
    new Set(nodes.map(({ facts }) => facts[fact] ?? null));
  for (const fact of Object.keys(slow[0]!.facts)) {
    const [ofSlow, ofFast] = [valuesOf(slow, fact), valuesOf(fast, fact)];
    const [own] = ofSlow;
    if (ofSlow.size !== 1 || own == null || ofFast.has(own) || ofFast.has(null)) continue;
    return `the slow ones alone have ${factName(fact)} ${own}`;
  }
  return null;
}

/** The questions that too few nodes leave open; null if there are enough. */
export function tooFew(
  nodes: readonly NodeFigures[],
  cells: readonly FleetGroupCell[],
  found: FleetGroup["found"],
): string | null {
  if (nodes.length >= enoughNodes) return null;
  const told = cells.filter(({ leastLoss }) => leastLoss !== null);
  const few = `${counted(nodes.length, "node")} of this kind ${nodes.length === 1 ? "is" : "are"} too few to find which is slow`;
  if (told.length === 0) {
    return `${few}${nodes.length === 2 ? `: ${twoNodes(nodes, cells) ?? "they are as fast as each other"}` : ""}.`;
  }
  const losses = told.map((cell) => ({ cell, loss: cell.leastLoss! })).sort((a, b) => a.loss - b.loss);
  const share = (loss: number) => formatWholeShare(loss, roundUp);
  const text = ({ cell, loss }: (typeof losses)[number]) => `${share(loss)} in ${cellText(cell)}`;
  const [first, last] = [losses[0]!, losses.at(-1)!];
  const isOne = first !== last && share(first.loss) === share(last.loss);
  const inAll = found.filter(({ inAllCells }) => inAllCells !== null && inAllCells < first.loss);
  const least = [
    isOne
      ? `${share(last.loss)} in one cell`
      : first === last
        ? text(first)
        : `${text(first)}, and up to ${text(last)}`,
    ...inAll.map((one) => `${share(one.inAllCells!)} in all ${one.cells} ${one.memory} cells`),
  ].join("; or ");
  if (nodes.length > 2) {
    return `${counted(nodes.length, "node")} of this kind are few: a GPU counts as slow only if it loses ${least}.`;
  }
  const apart = nodes.length === 2 ? twoNodes(nodes, cells) : null;
  const [whose, open] =
    nodes.length > 1
      ? ["Their", ""]
      : ["Its", "; one node does not show whether a slower GPU has a fault or is slower by design"];
  return `${few} as a whole${apart === null ? "" : ` (${apart})`}. ${whose} GPUs are compared with one another: one counts as slow only if it loses ${least}${open}.`;
}

/** The loss of a GPU or node that may be noise; without `host` for a text beside its node's name. */
export function unclearLoss(
  { node, device, cells: [most], isAgain }: UnclearOne,
  nodes: readonly NodeFigures[],
  host: string | null = null,
): string {
  const gpu = device === null ? null : nodes[node]!.devices[device]!;
  const subject = host === null ? (gpu === null ? "it" : `GPU ${gpu.ordinal}`) : who(host, gpu);
  const { levels, drop } = most!;
  const than = levels.against === "reference" ? "below healthy machines" : "slower than similar ones";
  const doubt = isAgain
    ? "also when it was measured again; healthy ones may differ as much"
    : "which may be noise";
  return `${subject} is ${percent(-Math.expm1(-drop))} ${than} in ${cellText(levels.kind)}, ${doubt}`;
}

type UnclearOne = Confirmation["unclear"][number];

/**
 * Sentences on GPUs or nodes whose loss may be noise, because nothing shows how much such figures vary, or they vary
 * widely: on the first of those that were measured once, and of those that fresh processes found as slow, with the names
 * of the others.
 */
export function unclear(ones: readonly UnclearOne[], nodes: readonly NodeFigures[]): string[] {
  return [false, true].flatMap((isAgain) => {
    const [first, ...others] = ones.filter((one) => one.isAgain === isAgain);
    if (first === undefined) return [];
    const { host } = nodes[first.node]!;
    const more = [...new Set(others.map((one) => nodes[one.node]!.host))].filter((name) => name !== host);
    const { levels } = first.cells[0]!;
    const why =
      levels.against === "reference"
        ? "no similar healthy GPU shows how much such figures vary"
        : `such figures vary by ±${percent(Math.expm1(deviationOf(levels.gpuNoise)))}`;
    const [next, also] = isAgain
      ? ["More nodes like it are needed to tell", ", and so for"]
      : ["Measure it again", ", and so"];
    const alike = more.length === 0 ? "" : `${also} ${someOf(more)}`;
    return [`${unclearLoss(first, nodes, host)}: ${why}. ${next}${alike}.`];
  });
}

const who = (host: string, device: DeviceFigures | null) =>
  device === null ? `${host} as a whole` : `${host}'s GPU ${device.ordinal}`;

/** The cell in which two nodes differ most, if they differ. */
function twoNodes([a, b]: readonly NodeFigures[], cells: readonly FleetGroupCell[]): string | null {
  const speedOf = ({ devices }: NodeFigures, kind: FigureKind) => {
    const figures = devices.flatMap(({ figures }) => figures.get(keyOf(kind)) ?? []);
    const mean = figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
    return kind.unit === "us" ? 1 / mean : mean;
  };
  const apart = cells
    .map(({ cell, moved, unit }) => ({ cell, moved, unit }))
    .map((kind) => ({ kind, change: speedOf(b!, kind) / speedOf(a!, kind) - 1 }))
    .map(({ kind, change }) => ({
      kind,
      change: change > 0 ? 1 / (1 + change) - 1 : change,
      isFirst: change > 0,
    }))
    .filter(({ change }) => change < 0)
    .sort((one, other) => one.change - other.change)[0];
  if (apart === undefined) return null;
  const [slow, fast] = apart.isFirst ? [a!, b!] : [b!, a!];
  return `${slow.host} is ${percent(-apart.change)} slower than ${fast.host} in ${cellText(apart.kind)}`;
}

/** A place whose GPUs are slower than at other places on nearly all nodes, in the cell with the largest difference. */
export interface OddPlace {
  place: string;
  levels: CellLevels;
  /** How much slower than the fastest place; or, if only a few places are faster, how much faster than the others. */
  change: number;
  changed: number;
  gpus: number;
}

export function oddPlaces(cells: readonly CellLevels[]): OddPlace[] {
  const most = new Map<string, OddPlace>();
  for (const levels of cells) {
    const fastest = Math.max(0, ...[...levels.oddPlaces.values()].map(({ change }) => change));
    const hasSlower = [...levels.oddPlaces.values()].some(({ change }) => change < 0);
    for (const [place, { change, changed, gpus }] of levels.oddPlaces) {
      if (hasSlower && change > 0) continue;
      const apart = change < 0 ? change - fastest : change;
      if (Math.abs(apart) <= Math.abs(most.get(place)?.change ?? 0)) continue;
      most.set(place, { place, levels, change: apart, changed, gpus });
    }
  }
  return [...most.values()];
}

/**
 * A sentence on an odd place without a known reason: the figures of a node do not distinguish a design from a fault of
 * all nodes.
 */
export function oddPlaceText({ place, levels, change, changed, gpus }: OddPlace, isWithin: boolean): string {
  const than = change < 0 ? "slower" : "faster";
  const where = place.startsWith("GPU ") ? place : `the GPU at ${place}`;
  const on = changed === gpus ? `On all ${gpus} nodes` : `On ${changed} of ${gpus} nodes`;
  const why = isWithin
    ? "All of them are as fast as healthy machines"
    : "The figures do not show whether this is by design";
  return `${on} ${where} is ${percent(Math.abs(Math.expm1(change)))} ${than} than others in ${cellText(levels.kind)}. ${why}: each is compared with GPUs in the same place.`;
}

/** What a node lacks compared with its group: figures, and GPUs that only some of the others have. */
export function lacking(
  { devices, facts, choseDevices }: NodeFigures,
  usualKinds: readonly FigureKind[],
  mostGpus: number,
): string[] {
  const gpus = Number(facts.gpuCount ?? devices.length);
  const fewer =
    gpus >= mostGpus || choseDevices
      ? []
      : [`it has ${counted(gpus, "GPU")}, and some similar nodes have ${mostGpus}`];
  const without = usualKinds.filter((kind) => !devices.some(({ figures }) => figures.has(keyOf(kind))));
  return without.length === 0
    ? fewer
    : [
        ...fewer,
        `it has no figures of ${without.length} of its group's ${counted(usualKinds.length, "cell")}`,
      ];
}
