import type { CsvValue } from "../../draw/csv.js";
import { labelsLine } from "../../results/naming/wording.js";
import type { FigureKind, FleetDocument, FleetNode, FleetOutlier } from "../fleet-document.js";
import { figuresOf, type GpuFigure, speedChange } from "./fleet-text.js";

const nodeColumns = ["notice", "host", "state", "reason", "file", "run_id", "started_at", "labels", "group"];
const deviceColumns = ["device", "device_name", "uuid", "pci_bus_id", "link"];
const cellColumns = [
  "cell",
  "moved",
  "unit",
  "figure",
  "group_centre",
  "change",
  "slow",
  "adjusted_p_value",
  "confirmed",
];

type Field = string | number | null;

/**
 * A row a node, GPU and cell, and one for each node without figures, which has nothing in the columns of these; the first
 * row names the columns. `change` is relative to the group's centre and below 0 where slower, of latencies too; `slow` is
 * "gpu" or "node" where this cell of this GPU, or of its whole node, is slow.
 */
export function fleetRows(document: FleetDocument): CsvValue[][] {
  const isBare = ({ group, devices }: FleetNode) => group === null || devices.length === 0;
  const bare = document.nodes.filter(isBare).map((node) => padded(nodeFields(document, node)));
  const outliers = outliersByCell(document);
  const suspects = new Set([...document.outliers, ...document.cleared].map(({ host }) => host));
  // Of ten thousand nodes there are half a million rows: what all rows of a node share is made once.
  const fieldsOf = new Map(document.nodes.map((node) => [node, nodeFields(document, node)]));
  const outlierOf = (host: string, device: number, kind: FigureKind) =>
    suspects.has(host)
      ? (outliers.get(keyOf(host, device, kind)) ?? outliers.get(keyOf(host, null, kind)))
      : undefined;
  const rows = document.groups.flatMap((group, groupIndex) =>
    group.cells.flatMap((kind, cellIndex) =>
      figuresOf(document, groupIndex, cellIndex).map((gpu) => {
        const { node, device, value } = gpu;
        const found = outlierOf(node.host, device.ordinal, kind);
        return [
          ...fieldsOf.get(node)!,
          ...[device.ordinal, device.name, device.uuid, device.pciBusId, device.link],
          ...[kind.cell, kind.moved, kind.unit, value, kind.centre],
          value === null ? null : speedChange(value, kind),
          ...(found === undefined
            ? [null, null, null]
            : [
                found.outlier.device === null ? "node" : "gpu",
                found.adjustedPValue,
                confirmedText(found.outlier),
              ]),
        ];
      }),
    ),
  );
  return [[...nodeColumns, ...deviceColumns, ...cellColumns], ...rows, ...bare];
}

function nodeFields(document: FleetDocument, node: FleetNode): Field[] {
  const { host, state, reason, file, runId, startedAt, group } = node;
  // Groups are counted as the tables count them.
  return [
    document.notice,
    host,
    state,
    reason,
    file,
    runId,
    startedAt,
    labelsLine({ run: node }),
    group === null ? null : group + 1,
  ];
}

function padded(fields: readonly Field[]): Field[] {
  return [...fields, ...Array<null>(deviceColumns.length + cellColumns.length).fill(null)];
}

function outliersByCell({ outliers, cleared }: FleetDocument) {
  return new Map(
    [...cleared, ...outliers].flatMap((outlier) =>
      outlier.cells.map(
        (cell) =>
          [
            keyOf(outlier.host, outlier.device, cell),
            { outlier, adjustedPValue: cell.adjustedPValue },
          ] as const,
      ),
    ),
  );
}

/** `device` is null for the whole node. */
function keyOf(
  host: string,
  device: GpuFigure["device"]["ordinal"] | null,
  kind: { cell: string; moved: string },
): string {
  return JSON.stringify([host, device, kind.cell, kind.moved]);
}

function confirmedText({ confirmed }: FleetOutlier): string | null {
  return confirmed === null ? null : confirmed ? "yes" : "no";
}
