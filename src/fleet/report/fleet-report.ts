import {
  type CsvColumn,
  type CsvValue,
  csvRows,
  type DocumentKind,
  type GaugeFamily,
  openMetricsText,
} from "../../draw/document-kind.js";
import { jsonReport } from "../../draw/json.js";
import { environment, note, type Report, shortened, type Table, tables, texts } from "../../draw/report.js";
import { counted, timeText } from "../../draw/words.js";
import { labelsLine } from "../../results/naming/wording.js";
import {
  type FleetDocument,
  type FleetGroupCell,
  type FleetNode,
  type FleetOutlier,
  fleetSchema,
} from "../fleet-document.js";
import { drainReport, nodeListReport } from "./drain-lines.js";
import { fleetAnswers } from "./fleet-answer.js";
import { fleetFacts, fleetNotes, groupGrids, lackingGrids, outlierGrids } from "./fleet-content.js";
import {
  countGpus,
  figuresOf,
  fleetCellNames,
  type GpuFigure,
  outlierFinder,
  speedChange,
} from "./fleet-text.js";
import { siteReferenceOf } from "./site-reference.js";

export const fleetKind: DocumentKind<FleetDocument> = {
  schema: fleetSchema,
  report: fleetReport,
  rows: fleetRows,
  exports: {
    nodelist: nodeListReport,
    drain: drainReport,
    openmetrics: (document) => openMetricsText(families(document)),
  },
  rawExports: { reference: (document) => jsonReport(siteReferenceOf(document)) },
  async pictures(document) {
    return { charts: (await import("./fleet-charts.js")).fleetCharts(document) };
  },
};

function fleetReport(document: FleetDocument): Report {
  const nameOf = fleetCellNames(document);
  const { tool, nodes, createdAt, notice } = document;
  const first = [
    ...texts("alert", notice === null ? [] : [note(notice, "warning")]),
    ...texts("answer", fleetAnswers(document).shown),
  ];
  const [outliers, lacking, groups] = [
    outlierGrids(document, nameOf),
    lackingGrids(document),
    groupGrids(document, nameOf),
  ].map(tables) as [Table[], Table[], Table[]];
  const isFine = outliers.length === 0 && lacking.length === 0;
  return {
    command: "fleet",
    version: tool.version,
    hasTerms: true,
    name: `Fleet: ${counted(nodes.length, "node")}, ${counted(countGpus(document), "GPU")}, ${timeText(createdAt)}`,
    brief: {
      blocks: [
        ...first,
        ...shortened(outliers, mostBriefRows),
        ...shortened(lacking, mostBriefRows),
        ...(isFine ? shortened(groups.slice(0, mostBriefGroups), mostBriefRows) : []),
      ],
      leavesOut: "all nodes and notes",
    },
    blocks: [
      ...first,
      environment(fleetFacts(document)),
      ...outliers,
      ...lacking,
      ...groups,
      ...texts("note", fleetNotes(document)),
    ],
  };
}

const [mostBriefRows, mostBriefGroups] = [4, 2];

interface Row {
  node: FleetNode;
  gpu: GpuFigure | null;
  kind: FleetGroupCell | null;
  /** The finding on this cell of the GPU or its whole node. */
  slow: FleetOutlier | undefined;
}

/** `change` is relative to the group's median, and below 0 for slower, also in latencies. Groups count from 1. */
const columnsFor = (document: FleetDocument): CsvColumn<Row>[] => [
  ["backend", () => (document.notice === null ? "cuda" : "emulated")],
  ["host", ({ node }) => node.host],
  ["state", ({ node }) => node.state],
  ["reason", ({ node }) => node.reason],
  ["file", ({ node }) => node.file],
  ["run_id", ({ node }) => node.runId],
  ["started_at", ({ node }) => node.startedAt],
  ["labels", ({ node }) => labelsLine({ run: node })],
  ["group", ({ node }) => (node.group === null ? null : node.group + 1)],
  ["device", ({ gpu }) => gpu?.device.ordinal ?? null],
  ["device_name", ({ gpu }) => gpu?.device.name ?? null],
  ["uuid", ({ gpu }) => gpu?.device.uuid ?? null],
  ["pci_bus_id", ({ gpu }) => gpu?.device.pciBusId ?? null],
  ["link", ({ gpu }) => gpu?.device.link ?? null],
  ["cell", ({ kind }) => kind?.cell ?? null],
  ["moved", ({ kind }) => kind?.moved ?? null],
  ["unit", ({ kind }) => kind?.unit ?? null],
  ["figure", ({ gpu }) => gpu?.value ?? null],
  ["group_median", ({ kind }) => kind?.median ?? null],
  ["change", ({ gpu, kind }) => (gpu?.value == null ? null : speedChange(gpu.value, kind!))],
  ["slow", ({ slow }) => (slow === undefined ? null : slow.device === null ? "node" : "gpu")],
  ["confirmed", ({ slow }) => (slow?.confirmed == null ? null : slow.confirmed ? "yes" : "no")],
];

function fleetRows(document: FleetDocument): CsvValue[][] {
  const outlierOf = outlierFinder([...document.cleared, ...document.outliers]);
  const measured = document.groups.flatMap(({ cells }, group) =>
    cells.flatMap((kind, cell) =>
      figuresOf(document, group, cell).map((gpu): Row => {
        const slow = outlierOf(gpu.node.host, gpu.device.ordinal, kind);
        return { node: gpu.node, gpu, kind, slow };
      }),
    ),
  );
  const bare = document.nodes.filter(({ group, devices }) => group === null || devices.length === 0);
  const others = bare.map((node): Row => ({ node, gpu: null, kind: null, slow: undefined }));
  return csvRows(columnsFor(document), [...measured, ...others]);
}

function families(document: FleetDocument): GaugeFamily[] {
  const { nodes } = document;
  const outlierOf = outlierFinder(document.outliers);
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
      help: "1 if a GPU, or its whole node, is slower than similar ones; none if nothing is similar.",
      samples: nodes
        .filter(({ compared }) => compared)
        .flatMap(({ host, devices }) =>
          devices.map(({ ordinal, uuid }) => ({
            labels: { host, gpu: ordinal, uuid },
            value: Number(outlierOf(host, ordinal) !== undefined),
          })),
        ),
    },
    {
      name: "pinbench_node_state",
      help: "1 for the state of a node.",
      samples: nodes.map((node) => ({ labels: { host: node.host, state: node.state }, value: 1 })),
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

function figures(document: FleetDocument, unit: "GB/s" | "us", scale: number): GaugeFamily["samples"] {
  return document.groups.flatMap(({ cells }, group) =>
    cells.flatMap((kind, index) => {
      if (kind.unit !== unit) return [];
      return figuresOf(document, group, index).flatMap(({ node, device, value }) => {
        const gpu = { host: node.host, gpu: device.ordinal, uuid: device.uuid };
        const labels = { ...gpu, cell: kind.cell, direction: kind.moved };
        return value === null ? [] : [{ labels, value: value * scale }];
      });
    }),
  );
}
