import { median } from "../stats/order-statistics.js";
import type { CellLevels } from "./cell-levels.js";
import type { NodeFigures } from "./node-figures.js";

/** A GPU, or a whole node, below those like it; `node` and `device` are indices into the group and its node. */
export interface SlowOne {
  node: number;
  /** Null for the whole node. */
  device: number | null;
  /** The cells in which it is slow, the largest drop first. */
  cells: readonly SlowCell[];
}

/** A slow cell; centre and drop are logarithms of speed. */
export interface SlowCell {
  levels: CellLevels;
  centre: number;
  drop: number;
  adjustedPValue: number;
  /** The combined cells of its kind, if these showed it; null if the cell itself did. */
  together: { levels: CellLevels; drop: number } | null;
}

/** The result of fresh processes on slow nodes and GPUs. */
export interface Confirmation {
  /** `confirmed` is null if no fresh process measured it. The largest drop first. */
  outliers: readonly (SlowOne & { confirmed: boolean | null })[];
  /** Outliers that were not slow again. */
  cleared: readonly SlowOne[];
  /** Suspects whose loss may be noise. `isAgain` if fresh processes show it too; those that made up most of it are left out. */
  unclear: readonly (SlowOne & { isAgain: boolean })[];
}

/** The test of a figure or of a node; `device` as in SlowOne. */
export interface Test extends SlowCell {
  node: number;
  device: number | null;
  pValue: number;
}

/** A node is slow if this share of its GPUs is slow, each by this share of the node's drop. */
const nodeShare = { gpus: 0.75, drop: 0.5 };

/**
 * Assigns slow figures: in each cell to a node if nearly all of its GPUs are equally slow, otherwise to single GPUs.
 */
export function slowOnes(
  nodes: readonly NodeFigures[],
  slow: readonly Test[],
  least: number,
  isSlowBeside: (test: Test, drop: number) => boolean = () => true,
): SlowOne[] {
  const found = new Map<string, { node: number; device: number | null; cells: SlowCell[] }>();
  const add = (node: number, device: number | null, cell: SlowCell) => {
    const name = `${node} ${device}`;
    const one = found.get(name) ?? { node, device, cells: [] };
    one.cells.push(...cellsOf(node, device, cell));
    found.set(name, one);
  };
  for (const ofCell of new Set(slow.map(({ levels }) => levels))) {
    const tests = slow.filter((test) => test.levels === ofCell);
    for (const node of new Set(tests.map((test) => test.node))) {
      const own = tests.filter((test) => test.node === node);
      const whole = nodes[node]!.devices.length > 1 ? wholeNode(ofCell, node, own) : null;
      if (whole !== null) add(node, null, whole);
      // On a slow node, a GPU is reported separately if it is slower than the node by another counting drop.
      const level = levelOfOthers(ofCell, node);
      const ofGpus = own.filter(
        (test) =>
          test.device !== null &&
          test.drop > (whole?.drop ?? 0) + (whole ? least : 0) &&
          isSlowBeside(test, test.drop - level),
      );
      for (const test of ofGpus) add(node, test.device, test);
    }
  }
  const ones = [...found.values()].map((one) => ({ ...one, cells: eachOnce(one.cells) }));
  const worstOfNode = new Map(ones.filter(({ device }) => device === null).map((one) => [one.node, one]));
  const isOwn = ({ node, device, cells }: SlowOne) => {
    const whole = device === null ? undefined : worstOfNode.get(node);
    return whole === undefined || cells[0]!.drop > whole.cells[0]!.drop + least;
  };
  return ones.filter(isOwn).sort((a, b) => b.cells[0]!.drop - a.cells[0]!.drop);
}

/**
 * How far a node is below its group, at least 0: the drop of the slowest GPU that is healthy even if just too few of its
 * GPUs are slow to name the node. Few nodes do not show how far apart machines are, so a GPU is slow only if it is also
 * slow beside these. Below the reference, it is slow whatever its node is.
 */
function levelOfOthers({ against, gpus }: CellLevels, node: number): number {
  if (against === "reference") return 0;
  const drops = gpus.filter((one) => one.node === node).map(({ drop }) => drop);
  if (drops.length < 2) return 0;
  const healthy = drops.length - Math.ceil(nodeShare.gpus * drops.length);
  return Math.max(0, drops.sort((a, b) => a - b)[healthy]!);
}

/** The single cells of a slow one: for combined cells, those in which it lost at least half as much. */
function cellsOf(node: number, device: number | null, cell: SlowCell): SlowCell[] {
  const { levels, drop: whole, adjustedPValue } = cell;
  if (levels.members.length === 0) return [cell];
  const members = levels.members.flatMap((member) => {
    const gpus = member.gpus.filter((one) => one.node === node && (device === null || one.device === device));
    if (gpus.length === 0) return [];
    const centre = median(gpus.map((one) => one.centre));
    const drop = median(gpus.map((one) => one.drop));
    return [{ levels: member, centre, drop, adjustedPValue, together: { levels, drop: whole } }];
  });
  const most = Math.max(...members.map(({ drop }) => drop));
  return members.filter(({ drop }) => drop >= Math.min(most, nodeShare.drop * whole));
}

/**
 * Each cell once, the largest drop first: single cells are preferred to combined ones, and the reference to those like
 * it.
 */
function eachOnce(cells: readonly SlowCell[]): SlowCell[] {
  const rank = ({ levels, together }: SlowCell) =>
    levels.against === "reference" ? 2 : together === null ? 1 : 0;
  const best = new Map<string, SlowCell>();
  for (const cell of cells) {
    const other = best.get(cell.levels.key);
    if (other === undefined || rank(cell) > rank(other)) best.set(cell.levels.key, cell);
  }
  return [...best.values()].sort((a, b) => b.drop - a.drop);
}

/** The node's own test, or a replacement if only its GPUs are shown to be slow; null if it is not the node. */
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
  return { levels, centre: median(gpus.map((one) => one.centre)), drop, adjustedPValue, together: null };
}
