import { counted, listed, timeText } from "../draw/words.js";
import type { FleetAction } from "./fleet-document.js";
import { cellText } from "./fleet-wording.js";
import type { FailedCell, NodeFigures, NodeGroup } from "./node-figures.js";

/**
 * What a measured node lacks through a fault, in one sentence, and the action: GPUs that it had or that most similar
 * nodes have, cells in which a GPU failed, and figures that cannot be true. Null if nothing is missing. `group` is null
 * for a node without figures.
 */
export function incompleteness(
  node: NodeFigures,
  group: Pick<NodeGroup, "nodes" | "facts"> | null,
): { reason: string; action: FleetAction } | null {
  if (node.state !== "measured") return null;
  const ofGpus = group === null ? [] : [lostGpus(node, group), failedCells(node, group)];
  const clauses = [...ofGpus, node.impossible ?? null].filter((clause) => clause !== null);
  if (clauses.length === 0) return null;
  const isOfGpus = ofGpus.some((clause) => clause !== null);
  return { reason: clauses.join("; "), action: isOfGpus ? "reset" : "monitor" };
}

function lostGpus(node: NodeFigures, { nodes, facts }: Pick<NodeGroup, "nodes" | "facts">): string | null {
  if (node.choseDevices) return null;
  const now = countOfGpus(node);
  const before = (node.earlier ?? []).find((one) => !one.choseDevices && countOfGpus(one) > now);
  const most = Number(facts.gpuCount ?? 0);
  if (before === undefined && (most <= now || !isOfMost(nodes, facts.gpuCount))) return null;
  const others = before === undefined ? nodes.filter((one) => countOfGpus(one) === most) : [before];
  const gone = missingPlaces(node, others);
  const where = gone.length === 0 ? "" : `; none is at ${listed(gone)}`;
  const had =
    before === undefined
      ? `similar nodes have ${most}`
      : `had ${countOfGpus(before)} at ${timeText(before.startedAt ?? "")}`;
  return `it has ${counted(now, "GPU")}, and ${had}${where}`;
}

function isOfMost(nodes: readonly NodeFigures[], gpuCount: string | null | undefined): boolean {
  const having = nodes.filter(({ facts }) => facts.gpuCount === gpuCount).length;
  return having > 1 && 2 * having > nodes.length;
}

const countOfGpus = ({ facts, devices }: NodeFigures) => Number(facts.gpuCount ?? devices.length);

/** PCI addresses of GPUs on all of the others, and not on this node. */
function missingPlaces({ devices }: NodeFigures, others: readonly NodeFigures[]): string[] {
  const own = new Set(devices.map(({ pciBusId }) => pciBusId));
  const [first, ...rest] = others;
  return (first?.devices ?? []).flatMap(({ pciBusId }) => {
    const isEverywhere = rest.every((other) => other.devices.some((one) => one.pciBusId === pciBusId));
    return pciBusId === null || own.has(pciBusId) || !isEverywhere ? [] : [pciBusId];
  });
}

/** A cell that failed on most nodes is a property of their kind, or of the settings. */
function failedCells(node: NodeFigures, { nodes }: Pick<NodeGroup, "nodes">): string | null {
  const own = (node.failures ?? []).filter(({ cell }) => {
    const isSame = (other: FailedCell) => other.cell === cell;
    const having = nodes.filter(({ failures = [] }) => failures.some(isSame)).length;
    return having === 1 || 2 * having <= nodes.length;
  });
  const [first] = own;
  if (first === undefined) return null;
  const gpus = [...new Set(own.flatMap(({ devices }) => devices))].sort((a, b) => a - b);
  const cells = new Set(own.map(({ cell }) => cell)).size;
  const where = cells === 1 ? cellText({ cell: first.cell, moved: "copies" }) : counted(cells, "cell");
  return `GPU ${gpus.join(", ")} failed in ${where}: ${first.reason}`;
}
