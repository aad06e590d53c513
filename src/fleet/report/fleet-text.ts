import { counted } from "../../draw/words.js";
import { cellNames } from "../../results/naming/wording.js";
import { groupBy } from "../../stats/group-by.js";
import {
  type FigureKind,
  type FleetDocument,
  type FleetGroup,
  type FleetGroupCell,
  type FleetNode,
  type FleetOutlier,
  nodeStates,
} from "../fleet-document.js";

/** When it became slow: "2026-11-22", or "by 2026-11-22" if all results are slow; null if unknown. */
export function sinceText({ since }: Pick<FleetOutlier, "since">): string | null {
  return since && `${since.lastHealthy === null ? "by " : ""}${since.startedAt.slice(0, 10)}`;
}

export type NameOfFleetCell = (kind: Pick<FigureKind, "cell" | "moved">) => string;

export function fleetCellNames({ groups }: Pick<FleetDocument, "groups">): NameOfFleetCell {
  const idOf = (cell: string) => `d0/${cell}`;
  const ids = groups.flatMap(({ cells }) => cells.map(({ cell }) => idOf(cell)));
  const ofId = cellNames(ids);
  return ({ cell, moved }) => {
    const name = ofId(idOf(cell), moved);
    return name === idOf(cell) ? cell : name.replace(" 0→", " →");
  };
}

/** The slow part of a node, slowest first: "GPU 3 and 1 more GPU", or "all GPUs". */
export function slowPart(outliers: readonly FleetOutlier[]): string {
  if (outliers.some(({ device }) => device === null)) return "all GPUs";
  const others = outliers.length - 1;
  return `GPU ${outliers[0]!.device}${others === 0 ? "" : ` and ${counted(others, "more GPU")}`}`;
}

export function lackingNodes({ nodes }: FleetDocument): [FleetNode["state"], FleetNode[]][] {
  const lacking = groupBy(nodes, ({ state }) => state);
  return nodeStates.flatMap((state) => {
    const ofState = lacking.get(state) ?? [];
    return state === "measured" || ofState.length === 0 ? [] : [[state, ofState]];
  });
}

export function countGpus({ groups }: FleetDocument): number {
  return groups.reduce((sum, { devices }) => sum + devices, 0);
}

/** Relative change of speed from the group's median: -0.1 is 10 % less bandwidth, or the equivalent in latency. */
export function speedChange(value: number, cell: Pick<FleetGroupCell, "median" | "unit">): number {
  return cell.unit === "us" ? cell.median / value - 1 : value / cell.median - 1;
}

export interface GpuFigure {
  node: FleetNode;
  device: FleetNode["devices"][number];
  value: number | null;
}

export function figuresOf({ nodes, groups }: FleetDocument, group: number, cell: number): GpuFigure[] {
  const values = groups[group]?.cells[cell]?.values ?? [];
  return nodes
    .filter((node) => node.group === group)
    .flatMap((node) => node.devices.map((device) => ({ node, device })))
    .map((gpu, index) => ({ ...gpu, value: values[index] ?? null }));
}

export function groupFacts({ facts }: FleetGroup): string {
  const driver = facts.driver == null ? null : `driver ${facts.driver}`;
  return [facts.gpu ?? "GPU not known", facts.linkCapability, driver].filter((one) => one != null).join(", ");
}

export function outlierFinder(
  outliers: readonly FleetOutlier[],
): (host: string, ordinal: number, kind?: Pick<FigureKind, "cell" | "moved">) => FleetOutlier | undefined {
  const byHost = groupBy(outliers, ({ host }) => host);
  return (host, ordinal, kind) => {
    const isIn = ({ cells }: FleetOutlier) =>
      kind === undefined || cells.some(({ cell, moved }) => cell === kind.cell && moved === kind.moved);
    const found = (byHost.get(host) ?? []).filter(
      (one) => (one.device === ordinal || one.device === null) && isIn(one),
    );
    return found.find(({ device }) => device !== null) ?? found[0];
  };
}
