import { counted, listed, timeText } from "../draw/words.js";
import type { NodeFigures, NodeGroup } from "./node-figures.js";

/**
 * A sentence on what a measured node lacks through a fault: GPUs that it had or that most similar nodes have, and cells
 * that failed. Null if nothing is missing.
 */
export function incompleteness(node: NodeFigures, group: NodeGroup): string | null {
  if (node.state !== "measured") return null;
  const clauses = [lostGpus(node, group), failedCells(node, group)].filter((clause) => clause !== null);
  return clauses.length === 0 ? null : clauses.join("; ");
}

const countOfGpus = ({ facts, devices }: NodeFigures) => Number(facts.gpuCount ?? devices.length);

/** If more than a third of the nodes have this number of GPUs, they are built that way. */
function lostGpus(node: NodeFigures, { nodes, facts }: NodeGroup): string | null {
  if (node.choseDevices) return null;
  const [now, usual] = [countOfGpus(node), Number(facts.gpuCount ?? 0)];
  const before = (node.earlier ?? []).find((one) => !one.choseDevices && countOfGpus(one) > now);
  if (before === undefined && usual <= now) return null;
  const having = (gpus: number) => nodes.filter((one) => countOfGpus(one) === gpus);
  if (before === undefined && 3 * having(now).length > nodes.length) return null;
  const gone = missingSlots(node, before === undefined ? having(usual) : [before]);
  const where = gone.length === 0 ? "" : `; none is at ${listed(gone)}`;
  const had =
    before === undefined
      ? `similar nodes have ${usual}`
      : `had ${countOfGpus(before)} at ${timeText(before.startedAt!)}`;
  return `it has ${counted(now, "GPU")}, and ${had}${where}`;
}

function missingSlots(node: NodeFigures, others: readonly NodeFigures[]): string[] {
  const [own, ...slots] = [node, ...others].map(
    ({ devices }) => new Set(devices.flatMap(({ pciBusId }) => pciBusId ?? [])),
  );
  return [...slots[0]!].filter((slot) => !own!.has(slot) && slots.every((all) => all.has(slot)));
}

/** A cell that failed on most nodes is not one node's fault. */
function failedCells(node: NodeFigures, { nodes }: NodeGroup): string | null {
  const isOwnFault = (cell: string) => {
    const having = nodes.filter((one) => one.devices.some(({ failures }) => failures.has(cell))).length;
    return having === 1 || 2 * having <= nodes.length;
  };
  const cells = [...new Set(node.devices.flatMap(({ failures }) => [...failures.keys()]))].filter(isOwnFault);
  const [first] = cells;
  if (first === undefined) return null;
  const failed = node.devices.filter(({ failures }) => cells.some((cell) => failures.has(cell)));
  const reason = failed.find(({ failures }) => failures.has(first))!.failures.get(first);
  return `GPU ${failed.map(({ ordinal }) => ordinal).join(", ")} failed in ${counted(cells.length, "cell")}: ${reason}`;
}
