import { formatGBps, formatMicroseconds, formatShare } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { counted, timeText } from "../../draw/words.js";
import { cellNames, directionName } from "../../results/naming/wording.js";
import {
  type FigureKind,
  type FleetDocument,
  type FleetGroup,
  type FleetGroupCell,
  type FleetNode,
  type FleetOutlier,
  factName,
  nodeStates,
} from "../fleet-document.js";

/** Names of cells, figures and GPUs in all texts of a fleet. */

/** A unit after its figure. */
export const unitName = { "GB/s": "GB/s", us: "µs" } as const;

type Unit = keyof typeof unitName;

export function fleetFigure(value: number, unit: Unit): string {
  return unit === "us" ? formatMicroseconds(value) : formatGBps(value);
}

/** A figure with its unit: "27.6 GB/s". */
export function figureText(value: number, unit: Unit): string {
  return `${fleetFigure(value, unit)} ${unitName[unit]}`;
}

/** The loss relative to its group: "50.0 %". */
export function lossText(change: number): string {
  return formatShare(-change);
}

/** Since when it is slow: "2026-11-22 09:00 UTC or before"; null if unknown. */
export function sinceText({ since }: Pick<FleetOutlier, "since">): string | null {
  return since && `${timeText(since.startedAt)}${since.lastHealthy === null ? " or before" : ""}`;
}

/** The name of a cell, or of one of its directions. */
export type NameOfFleetCell = (kind: Pick<FigureKind, "cell" | "moved">) => string;

/** Short names for the cells of a fleet, which have no device. */
export function fleetCellNames({ groups }: Pick<FleetDocument, "groups">): NameOfFleetCell {
  const idOf = (cell: string) => `d0/${cell}`;
  const ids = groups.flatMap(({ cells }) => cells.map(({ cell }) => idOf(cell)));
  const ofId = cellNames(ids);
  return ({ cell, moved }) => {
    const name = ofId(idOf(cell));
    const shown = name === idOf(cell) ? cell : name;
    return cell.startsWith("bidir/") ? `${shown}, of these ${directionName[moved]}` : shown;
  };
}

/** The cell with the outlier's largest loss. */
export function worstCell({ cells }: FleetOutlier): FleetOutlier["cells"][number] {
  return cells.reduce((worst, cell) => (cell.change < worst.change ? cell : worst));
}

/** The outlier with the largest loss in any cell; there must be one. */
export function worstOutlier(outliers: readonly FleetOutlier[]): FleetOutlier {
  return outliers.reduce((worst, one) => (worstCell(one).change < worstCell(worst).change ? one : worst));
}

/** The slow part of a node: "GPU 3 and 1 more GPU", "all GPUs" or, if one of them is slower yet, "all GPUs, GPU 3 most,". */
export function slowPart(outliers: readonly FleetOutlier[]): string {
  const { device } = worstOutlier(outliers);
  const others = outliers.length - 1;
  if (device === null) return "all GPUs";
  if (outliers.some((one) => one.device === null)) return `all GPUs, GPU ${device} most,`;
  return `GPU ${device}${others === 0 ? "" : ` and ${counted(others, "more GPU")}`}`;
}

/** Bad states of a node besides being slow: it has no complete result, or its copies were wrong. */
const badStates: ReadonlySet<FleetNode["state"]> = new Set([
  "wrong data",
  "incomplete",
  "failed",
  "late",
  "missing",
  "unreadable",
]);

/** Whether a node has no valid or no complete result, through a fault of its own or of its result. */
export function isLacking({ state }: FleetNode): boolean {
  return badStates.has(state);
}

/** Whether a node may be slow: its figures vary so widely, or so little shows how they vary, that its loss may be noise. */
export function isUnclear({ state, action }: FleetNode): boolean {
  return state === "measured" && action === "monitor";
}

/** The states that tables and gauges show: a node that may be slow has one of its own, so that an alert can see it. */
export const shownStates = [...nodeStates, "unclear"] as const;

export function shownState(node: FleetNode): (typeof shownStates)[number] {
  return isUnclear(node) ? "unclear" : node.state;
}

/** Whether so many nodes left no valid result that the run itself may have failed. */
export function isRunInDoubt({ nodes }: Pick<FleetDocument, "nodes">): boolean {
  const absent = nodes.filter(({ action, state }) => action === "reset" && state !== "incomplete");
  return 2 * absent.length > nodes.length;
}

/** Nodes in bad states by state, in the order of the states, and then of the nodes. */
export function lackingNodes({ nodes }: FleetDocument): Map<FleetNode["state"], FleetNode[]> {
  const groups = groupBy(nodes.filter(isLacking), ({ state }) => state) as Map<
    FleetNode["state"],
    FleetNode[]
  >;
  return new Map([...badStates].flatMap((state) => (groups.has(state) ? [[state, groups.get(state)!]] : [])));
}

/** Number of GPUs with figures, which are judged. */
export function countGpus({ groups }: FleetDocument): number {
  return groups.reduce((sum, { devices }) => sum + devices, 0);
}

/**
 * Relative difference of a figure's speed from its group's centre: -0.1 is 10 % less bandwidth, or the equivalent
 * latency.
 */
export function speedChange(
  value: number,
  { centre, unit }: Pick<FleetGroupCell, "centre" | "unit">,
): number {
  return unit === "us" ? centre / value - 1 : value / centre - 1;
}

/** A figure of a GPU in a cell of its group. */
export interface GpuFigure {
  node: FleetNode;
  device: FleetNode["devices"][number];
  /** Null without one. */
  value: number | null;
}

/** The GPUs of a group with their figures in its cell `cell` (an index), in the document's order. */
export function figuresOf({ nodes, groups }: FleetDocument, group: number, cell: number): GpuFigure[] {
  const values = groups[group]?.cells[cell]?.values ?? [];
  return nodes
    .filter((node) => node.group === group)
    .flatMap((node) => node.devices.map((device) => ({ node, device })))
    .map((gpu, index) => ({ ...gpu, value: values[index] ?? null }));
}

/** The facts that identify a group; others are listed if the groups differ in them. */
const leadingFacts: readonly string[] = ["gpu", "linkCapability", "driver"];

/** A group in a few words. */
export function groupFacts({ facts }: FleetGroup, groups: readonly FleetGroup[]): string {
  const differs = (fact: string) => groups.some((other) => other.facts[fact] !== facts[fact]);
  const names = Object.keys(facts).filter((fact) => leadingFacts.includes(fact) || differs(fact));
  return names
    .map((fact) =>
      fact === "gpu" ? (facts[fact] ?? "GPU not known") : `${factName(fact)} ${facts[fact] ?? "not known"}`,
    )
    .join(", ");
}
