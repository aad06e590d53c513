import type { CellResult } from "../cell-schema.js";
import {
  figureInterval,
  type IntervalEstimate,
  type IntervalOrder,
  orderOf,
  ratioInterval,
} from "../figure-interval.js";
import { isMeasured, statsOf, wholeOf } from "../naming/cell-figure.js";
import type { ResultDocument } from "../schema.js";

type PlacedCell = CellResult & { cpuNode: number; memoryNode: number };

export function placedCells({ cells }: Pick<ResultDocument, "cells">): PlacedCell[] {
  return cells.filter(
    (cell): cell is PlacedCell => cell.cpuNode !== undefined && cell.memoryNode !== undefined,
  );
}

/** Smallest share of pages on the requested node for which the figures count as that node's. */
const leastPages = 0.95;

/** Whether too many pages are on other nodes than requested; null if the system does not report it. */
export function areElsewhere(
  pages: readonly { node: number; pages: number }[],
  requested: number,
): boolean | null {
  const all = pages.reduce((sum, one) => sum + one.pages, 0);
  const there = pages.find(({ node }) => node === requested)?.pages ?? 0;
  return all === 0 ? null : there / all < leastPages;
}

export function isElsewhere({ pages, memoryNode }: PlacedCell): boolean | null {
  return areElsewhere(pages?.ofNodes ?? [], memoryNode);
}

/** Whether the CPUs are the nearest to the memory, judging by the result's other cells. */
export function isLocal(cell: PlacedCell, cells: readonly PlacedCell[]): boolean {
  const pinned = cells.find(
    ({ memory, memoryNode }) =>
      memory !== "pageable" && memory !== "staged" && memoryNode === cell.memoryNode,
  );
  if (pinned !== undefined) return cell.cpuNode === pinned.cpuNode;
  return cell.cpuNode === cells.find(({ memoryNode }) => memoryNode === cell.memoryNode)?.cpuNode;
}

const conditionOf = ({ direction, memory, sizeBytes, workers, together, cache }: PlacedCell) =>
  [direction, memory, sizeBytes, workers, together === undefined ? "alone" : "at once", cache].join("/");

export interface DeviceNodes {
  device: number;
  sysfsNode: number | null;
  verdict: NodeVerdict;
}

/**
 * The verdict on each device. It uses pinned copies if there are any, because pageable ones also depend on the CPUs;
 * otherwise copies by the CPUs nearest to their memory.
 */
export function verdictsOnNodes(document: ResultDocument): DeviceNodes[] {
  const placed = evidenceIn(document);
  const usable = placed.filter((cell) => !isElsewhere(cell) && isLocal(cell, placed));
  return document.devices.flatMap(({ ordinal, numaNode }) => {
    const own = usable.filter(({ device }) => device === ordinal);
    const pinned = own.filter(({ memory }) => memory === "pinned");
    const counted = pinned.length > 0 ? pinned : own;
    const rates = counted.flatMap((cell) => rateOf(cell, cell.memoryNode));
    const verdict = judgeNodes(rates, numaNode);
    return verdict === null ? [] : [{ device: ordinal, sysfsNode: numaNode, verdict }];
  });
}

function evidenceIn(document: ResultDocument): PlacedCell[] {
  return placedCells(document).filter(
    (cell) => isMeasured(cell) && cell.outcome !== null && cell.mode === "throughput",
  );
}

function rateOf(cell: PlacedCell, node: number): NodeRate[] {
  const stats = statsOf(cell, wholeOf(cell.direction));
  const rate = stats === null ? null : figureInterval(stats.bandwidthGBps);
  return rate === null ? [] : [{ node, condition: conditionOf(cell), rate }];
}

export function crossedCosts(
  document: ResultDocument,
): { cell: PlacedCell; cost: NodeVerdict["costs"][number] }[] {
  const placed = evidenceIn(document).filter((cell) => cell.memory === "pageable" && !isElsewhere(cell));
  const local = placed.filter((cell) => cell.cpuNode === cell.memoryNode);
  const kinds = new Map(local.map((cell) => [`${cell.device} ${cell.memoryNode}`, cell]));
  return [...kinds.values()].flatMap(({ device, memoryNode }) => {
    const own = placed.filter((cell) => cell.device === device && cell.memoryNode === memoryNode);
    const verdict = judgeNodes(
      own.flatMap((cell) => rateOf(cell, cell.cpuNode)),
      memoryNode,
    );
    if (verdict === null || verdict.best !== memoryNode) return [];
    return verdict.costs.flatMap((cost) => {
      const cell = own.find((one) => conditionOf(one) === cost.condition);
      return cell === undefined ? [] : [{ cell, cost }];
    });
  });
}

/* Which NUMA node gives a device the fastest copies, and what the others cost. Pure: rates in, a verdict out. */

export interface NodeRate {
  node: number;
  /** From `conditionOf()`; only rates with equal conditions are compared. */
  condition: string;
  rate: IntervalEstimate;
}

interface NodePair {
  condition: string;
  near: IntervalEstimate;
  far: IntervalEstimate;
  /** The near node's rate over the far one's. */
  ratio: IntervalEstimate;
  order: IntervalOrder;
}

/** The cost of a node in its worst condition. */
interface NodeCost extends NodePair {
  node: number;
}

interface NodeVerdict {
  /** The fastest node; sysfs's node if no other is faster. */
  best: number;
  /** Nodes that are slower than the best, the worst first, each with its cost. */
  costs: NodeCost[];
  /** Whether no node is clearly slower, but not all are clearly equal. */
  isOpen: boolean;
}

/**
 * The verdict from one device's rates; null below two nodes. A node is slower than another if it is slower in one
 * condition and faster in none.
 */
export function judgeNodes(rates: readonly NodeRate[], sysfsNode: number | null): NodeVerdict | null {
  const nodes = [...new Set(rates.map(({ node }) => node))];
  if (nodes.length < 2) return null;
  const pairs = (fast: number, slow: number): NodePair[] =>
    rates.flatMap((one) => {
      const other = rates.find(({ node, condition }) => node === slow && condition === one.condition);
      if (one.node !== fast || other === undefined) return [];
      const { condition } = one;
      return [
        {
          condition,
          near: one.rate,
          far: other.rate,
          ratio: ratioInterval(one.rate, other.rate),
          order: orderOf(one.rate, other.rate),
        },
      ];
    });
  const beats = (fast: number, slow: number) => {
    const compared = pairs(fast, slow);
    return (
      compared.some(({ order }) => order === "above") && !compared.some(({ order }) => order === "below")
    );
  };
  const unbeaten = nodes.filter((node) => !nodes.some((other) => beats(other, node)));
  // Odd rates may beat each other in a circle. Then every node is a candidate.
  const candidates = unbeaten.length === 0 ? nodes : unbeaten;
  const best =
    sysfsNode !== null && unbeaten.includes(sysfsNode)
      ? sysfsNode
      : candidates.reduce((most, node) => (gainOver(pairs(node, most)) > 0 ? node : most));
  const costs = nodes
    .filter((node) => node !== best && beats(best, node))
    .map((node): NodeCost => {
      const [most] = pairs(best, node).toSorted((a, b) => b.ratio.median - a.ratio.median);
      return { node, ...most! };
    })
    .toSorted((a, b) => b.ratio.median - a.ratio.median);
  const areAlike = nodes.every((node) => pairs(best, node).every(({ order }) => order === "equal"));
  return { best, costs, isOpen: costs.length === 0 && !areAlike };
}

/** Sum of the logarithms of the ratios: above 0 if the first node is faster overall. */
function gainOver(compared: readonly NodePair[]): number {
  return compared.reduce((sum, { ratio }) => sum + Math.log(ratio.median), 0);
}
