import {
  type CsvValue,
  type DocumentKind,
  type GaugeFamily,
  openMetricsText,
  type Show,
} from "../../draw/document-kind.js";
import { jsonReport } from "../../draw/json.js";
import { environment, type Report, tables, texts } from "../../draw/report.js";
import { counted, timeText } from "../../draw/words.js";
import { labelsLine } from "../../results/naming/wording.js";
import {
  type FigureKind,
  type FleetDocument,
  type FleetNode,
  type FleetOutlier,
  fleetSchema,
} from "../fleet-document.js";
import { drainReport, type KnownNodes, nodeListReport } from "./drain-lines.js";
import { fleetAnswer } from "./fleet-answer.js";
import { fleetAlerts, fleetFacts, fleetGrids, fleetNotes } from "./fleet-content.js";
import {
  countGpus,
  figuresOf,
  fleetCellNames,
  type GpuFigure,
  shownState,
  shownStates,
  speedChange,
} from "./fleet-text.js";
import { siteReferenceOf } from "./site-reference.js";

/** A fleet, as a kind of document; lists for Slurm contain only names of `known` nodes. */
export function fleetKindFor(known: KnownNodes): DocumentKind<FleetDocument> {
  return {
    schema: fleetSchema,
    report: fleetReport,
    rows: fleetRows,
    exports: {
      nodelist: (document) => nodeListReport(document, known),
      drain: (document) => drainReport(document, known),
      openmetrics: openMetrics,
    },
    rawExports: { reference: (document) => jsonReport(siteReferenceOf(document)) },
    async pictures(document) {
      return { charts: (await import("./fleet-charts.js")).fleetCharts(document) };
    },
  };
}

/** A fleet without a check of Slurm's node names. */
export const fleetKind = fleetKindFor(null);

function fleetReport(document: FleetDocument, _: Show): Report {
  const nameOf = fleetCellNames(document);
  const { tool, nodes, createdAt } = document;
  return {
    command: "fleet",
    version: tool.version,
    hasTerms: true,
    name: `Fleet: ${counted(nodes.length, "node")}, ${counted(countGpus(document), "GPU")}, ${timeText(createdAt)}`,
    blocks: [
      ...texts("alert", fleetAlerts(document)),
      ...texts("answer", fleetAnswer(document, nameOf)),
      environment(fleetFacts(document)),
      ...tables(fleetGrids(document, nameOf)),
      ...texts("note", fleetNotes(document)),
    ],
  };
}

const nodeColumns = ["backend", "host", "state", "reason", "file", "run_id", "started_at", "labels", "group"];
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
 * A row for each node, GPU and cell, and one for each node without figures, with those columns empty; the first row has
 * the names of the columns. `change` is relative to the group's centre, and below 0 for slower, also in latencies;
 * `slow` is "gpu" or "node" if this cell of the GPU, or of its whole node, is slow.
 */
function fleetRows(document: FleetDocument): CsvValue[][] {
  const isBare = ({ group, devices }: FleetNode) => group === null || devices.length === 0;
  const bare = document.nodes.filter(isBare).map((node) => padded(nodeFields(document, node)));
  const outliers = outliersByCell(document);
  const suspects = new Set([...document.outliers, ...document.cleared].map(({ host }) => host));
  // Ten thousand nodes have half a million rows, so the common fields of a node's rows are made once.
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
  const { host, reason, file, runId, startedAt, group } = node;
  // Groups are counted from 1, as in the tables.
  return [
    document.notice === null ? "cuda" : "emulated",
    host,
    shownState(node),
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

/** All figures of a fleet as OpenMetrics gauges. */
function openMetrics(document: FleetDocument): string {
  return openMetricsText(families(document));
}

function families(document: FleetDocument): GaugeFamily[] {
  const { nodes, groups } = document;
  const slow = new Set(document.outliers.map(({ host, device }) => gpuKey(host, device)));
  const isSlow = (host: string, ordinal: number) =>
    slow.has(gpuKey(host, null)) || slow.has(gpuKey(host, ordinal));
  return [
    {
      name: "pinbench_bandwidth_bytes_per_second",
      help: "Median rate of copies of a GPU.",
      unit: "bytes_per_second",
      samples: figures(document, "GB/s", 1e9),
    },
    {
      name: "pinbench_copy_latency_seconds",
      help: "Median time of a copy of a GPU.",
      unit: "seconds",
      samples: figures(document, "us", 1e-6),
    },
    {
      name: "pinbench_fleet_outlier",
      help: "1 if a GPU, or its whole node, is slower than similar ones.",
      samples: nodes.flatMap(({ host, group, devices }) =>
        group === null
          ? []
          : devices.map(({ ordinal, uuid }) => ({
              labels: { host, gpu: ordinal, uuid },
              value: Number(isSlow(host, ordinal)),
            })),
      ),
    },
    {
      name: "pinbench_node_state",
      help: "1 for the state of a node.",
      samples: nodes.map((node) => ({ labels: { host: node.host, state: shownState(node) }, value: 1 })),
    },
    {
      name: "pinbench_fleet_nodes",
      help: "Number of nodes by state.",
      samples: shownStates.map((state) => ({
        labels: { state },
        value: nodes.filter((node) => shownState(node) === state).length,
      })),
    },
    {
      name: "pinbench_fleet_groups",
      help: "Number of groups of similar nodes.",
      samples: [{ labels: {}, value: groups.length }],
    },
    {
      name: "pinbench_fleet_emulated",
      help: "1 if devices were emulated: their figures do not describe a GPU.",
      samples: [{ labels: {}, value: Number(document.notice !== null) }],
    },
    {
      name: "pinbench_fleet_judged_timestamp_seconds",
      help: "When the nodes were judged, in Unix time.",
      unit: "seconds",
      samples: [{ labels: {}, value: Date.parse(document.createdAt) / 1000 }],
    },
  ];
}

/** `device` is null for the whole node. */
function gpuKey(host: string, device: number | null): string {
  return JSON.stringify([host, device]);
}

/** The figures of one unit, multiplied by `scale`. */
function figures(document: FleetDocument, unit: "GB/s" | "us", scale: number): GaugeFamily["samples"] {
  return document.groups.flatMap(({ cells }, group) =>
    cells.flatMap((kind, index) =>
      kind.unit !== unit
        ? []
        : figuresOf(document, group, index).flatMap(({ node, device, value }) =>
            value === null
              ? []
              : [
                  {
                    labels: {
                      host: node.host,
                      gpu: device.ordinal,
                      uuid: device.uuid,
                      cell: kind.cell,
                      direction: kind.moved,
                    },
                    value: value * scale,
                  },
                ],
          ),
    ),
  );
}
