import type { CellResult } from "../cell-schema.js";
import { claimedInterval } from "../claimed-interval.js";
import { isMeasured, statsOf, wholeOf } from "../naming/cell-figure.js";
import type { ResultDocument } from "../schema.js";
import { judgeNodes, type NodeRate, type NodeVerdict } from "./node-judgement.js";

/** A cell at a place on the NUMA nodes. */
export type PlacedCell = CellResult & { cpuNode: number; memoryNode: number };

/** The cells of `--numa all`. */
export function placedCells({ cells }: Pick<ResultDocument, "cells">): PlacedCell[] {
  return cells.filter(
    (cell): cell is PlacedCell => cell.cpuNode !== undefined && cell.memoryNode !== undefined,
  );
}

/** Fewer of the pages on the requested node, and the figures are not that node's. */
const leastPages = 0.95;

/** Whether pages are known not to be on the node that was asked for; null if the system does not tell where they are. */
export function areElsewhere(
  pages: readonly { node: number; pages: number }[],
  asked: number,
): boolean | null {
  const all = pages.reduce((sum, one) => sum + one.pages, 0);
  const there = pages.find(({ node }) => node === asked)?.pages ?? 0;
  return all === 0 ? null : there / all < leastPages;
}

/** The same for a cell's memory. */
export function isElsewhere({ pages, memoryNode }: PlacedCell): boolean | null {
  return areElsewhere(pages?.ofNodes ?? [], memoryNode);
}

/** Whether the CPUs are those nearest to the memory, by the other cells of the result. */
export function isLocal(cell: PlacedCell, cells: readonly PlacedCell[]): boolean {
  const pinned = cells.find(
    ({ memory, memoryNode }) =>
      memory !== "pageable" && memory !== "staged" && memoryNode === cell.memoryNode,
  );
  if (pinned !== undefined) return cell.cpuNode === pinned.cpuNode;
  return cell.cpuNode === cells.find(({ memoryNode }) => memoryNode === cell.memoryNode)?.cpuNode;
}

/** The words for a cell's condition: "H2D pinned, all devices at once". */
const conditionOf = ({ direction, memory, sizeBytes, workers, together, timer, cache }: PlacedCell) =>
  [direction, memory, sizeBytes, workers, together === undefined ? "alone" : "at once", timer, cache].join(
    "/",
  );

/** A device's verdict. */
export interface DeviceNodes {
  device: number;
  sysfsNode: number | null;
  verdict: NodeVerdict;
  /** A cell of each condition. */
  cellOf: (condition: string) => PlacedCell;
}

/**
 * The verdict on each device: on pinned copies if there are any, because pageable ones also depend on the CPUs; otherwise on
 * copies with the CPUs nearest to their memory. `equalWidth` as in judgeNodes().
 */
export function verdictsOnNodes(document: ResultDocument, equalWidth: number): DeviceNodes[] {
  const placed = evidenceIn(document);
  const usable = placed.filter((cell) => !isElsewhere(cell) && isLocal(cell, placed));
  return document.devices.flatMap(({ ordinal, numaNode }) => {
    const own = usable.filter(({ device }) => device === ordinal);
    const pinned = own.filter(({ memory }) => memory === "pinned");
    const counted = pinned.length > 0 ? pinned : own;
    const byCondition = new Map(counted.map((cell) => [conditionOf(cell), cell]));
    const rates = counted.flatMap((cell) => rateOf(cell, cell.memoryNode));
    const verdict = judgeNodes(rates, numaNode, equalWidth);
    if (verdict === null) return [];
    return [{ device: ordinal, sysfsNode: numaNode, verdict, cellOf: (name) => byCondition.get(name)! }];
  });
}

/** The cells that verdicts may rest on. */
function evidenceIn(document: ResultDocument): PlacedCell[] {
  return placedCells(document).filter(
    (cell) => isMeasured(cell) && cell.outcome !== null && cell.mode === "throughput",
  );
}

function rateOf(cell: PlacedCell, node: number): NodeRate[] {
  const stats = statsOf(cell, wholeOf(cell.direction));
  const rate = stats === null ? null : claimedInterval(cell.memory, stats.bandwidthGBps);
  return rate === null ? [] : [{ node, condition: conditionOf(cell), rate }];
}

/** Costs of CPUs on another node than the memory, for each device and node of pageable memory; each with a cell. */
export function crossedCosts(
  document: ResultDocument,
  equalWidth: number,
): { cell: PlacedCell; cost: NodeVerdict["costs"][number] }[] {
  const placed = evidenceIn(document).filter((cell) => cell.memory === "pageable" && !isElsewhere(cell));
  const local = placed.filter((cell) => cell.cpuNode === cell.memoryNode);
  const kinds = new Map(local.map((cell) => [`${cell.device} ${cell.memoryNode}`, cell]));
  return [...kinds.values()].flatMap(({ device, memoryNode }) => {
    const own = placed.filter((cell) => cell.device === device && cell.memoryNode === memoryNode);
    const verdict = judgeNodes(
      own.flatMap((cell) => rateOf(cell, cell.cpuNode)),
      memoryNode,
      equalWidth,
    );
    if (verdict === null || verdict.best !== memoryNode) return [];
    return verdict.costs.flatMap((cost) => {
      const cell = own.find((one) => conditionOf(one) === cost.condition);
      return cell === undefined ? [] : [{ cell, cost }];
    });
  });
}
