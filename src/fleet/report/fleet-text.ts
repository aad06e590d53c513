import { formatGBps, formatMicroseconds, formatShare } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import type { Screen } from "../../draw/screen.js";
import { timeText } from "../../draw/words.js";
import { cellNames, directionName } from "../../results/naming/wording.js";
import type {
  FigureKind,
  FleetDocument,
  FleetGroupCell,
  FleetNode,
  FleetOutlier,
} from "../fleet-document.js";

/** What all texts of a fleet call its cells, figures and GPUs. */

/** A unit as it stands behind figures of it. */
export const unitName = { "GB/s": "GB/s", us: "µs" } as const;

type Unit = keyof typeof unitName;

/** A figure without its unit. */
export function fleetFigure(value: number, unit: Unit): string {
  return unit === "us" ? formatMicroseconds(value) : formatGBps(value);
}

/** A figure with its unit: "27.6 GB/s". */
export function figureText(value: number, unit: Unit): string {
  return `${fleetFigure(value, unit)} ${unitName[unit]}`;
}

/** How much slower than its group, as a share: "50.0 %". */
export function lossText(change: number): string {
  return formatShare(-change);
}

/** Since when it is slow: "2026-11-22 09:00 UTC or before"; null where nothing is known. */
export function sinceText({ since }: Pick<FleetOutlier, "since">): string | null {
  return since && `${timeText(since.startedAt)}${since.lastHealthy === null ? " or before" : ""}`;
}

/** What a fleet's texts call a cell, or one direction of it. */
export type NameOfFleetCell = (kind: Pick<FigureKind, "cell" | "moved">) => string;

/** Short names for the cells of a fleet, which have no device; or their ids where these are asked for. */
export function fleetCellNames(
  { groups }: Pick<FleetDocument, "groups">,
  { showsIds }: Pick<Screen, "showsIds">,
): NameOfFleetCell {
  const idOf = (cell: string) => `d0/${cell}`;
  const ids = groups.flatMap(({ cells }) => cells.map(({ cell }) => idOf(cell)));
  const ofId = cellNames(ids, { showsIds });
  return ({ cell, moved }) => {
    const name = ofId(idOf(cell));
    const shown = name === idOf(cell) ? cell : name;
    return cell.startsWith("bidir/")
      ? `${shown}, of these ${showsIds ? moved : directionName[moved]}`
      : shown;
  };
}

/** The cell of an outlier that lost most. */
export function worstCell({ cells }: FleetOutlier): FleetOutlier["cells"][number] {
  return cells.reduce((worst, cell) => (cell.change < worst.change ? cell : worst));
}

/** The outlier that lost most in any cell; there must be one. */
export function worstOutlier(outliers: readonly FleetOutlier[]): FleetOutlier {
  return outliers.reduce((worst, one) => (worstCell(one).change < worstCell(worst).change ? one : worst));
}

/** Which part of a node is slow: "GPU 3", or "all GPUs". */
export function slowPart({ device }: FleetOutlier): string {
  return device === null ? "all GPUs" : `GPU ${device}`;
}

/** What speaks against a node, and is no speed: it has no figures, or its copies were wrong. */
const badStates: ReadonlySet<FleetNode["state"]> = new Set([
  "failed",
  "wrong data",
  "late",
  "missing",
  "unreadable",
]);

/** Whether a node has no figures that count, through a fault of its own or of its result. */
export function isLacking({ state }: FleetNode): boolean {
  return badStates.has(state);
}

/** Nodes that have no figures by what became of them, in the order of the states; of each state in the nodes' order. */
export function lackingNodes({ nodes }: FleetDocument): Map<FleetNode["state"], FleetNode[]> {
  const groups = groupBy(nodes.filter(isLacking), ({ state }) => state) as Map<
    FleetNode["state"],
    FleetNode[]
  >;
  return new Map([...badStates].flatMap((state) => (groups.has(state) ? [[state, groups.get(state)!]] : [])));
}

/** How many GPUs have been judged. */
export function countGpus({ groups }: FleetDocument): number {
  return groups.reduce((sum, { devices }) => sum + devices, 0);
}

/**
 * How much faster a figure is than its group's centre, as a share of it: -0.1 is 10 % less bandwidth, or so much less speed
 * of single copies.
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
  /** Null where it has none. */
  value: number | null;
}

/** The GPUs of a group with their figures of its cell `cell` (an index), in the order of the document. */
export function figuresOf({ nodes, groups }: FleetDocument, group: number, cell: number): GpuFigure[] {
  const values = groups[group]?.cells[cell]?.values ?? [];
  return nodes
    .filter((node) => node.group === group)
    .flatMap((node) => node.devices.map((device) => ({ node, device })))
    .map((gpu, index) => ({ ...gpu, value: values[index] ?? null }));
}
