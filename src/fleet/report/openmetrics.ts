import { type FleetDocument, nodeStates } from "../fleet-document.js";
import { figuresOf } from "./fleet-text.js";

/** A family of gauges. */
interface Family {
  name: string;
  /** Without quotes, backslashes and line breaks, which the two formats escape in different ways. */
  help: string;
  /** The name ends with it; absent where it is a plain number. */
  unit?: string;
  samples: readonly Sample[];
}

interface Sample {
  labels: Readonly<Record<string, string | number | null>>;
  value: number;
}

/**
 * All figures of a fleet as gauges, in OpenMetrics 1.0. The text is also what node_exporter's textfile collector reads,
 * Prometheus' text format 0.0.4, to which the lines UNIT and EOF are comments: it has gauges alone, no timestamps, and no
 * empty line.
 */
export function openMetrics(document: FleetDocument): string {
  return [...families(document).flatMap(linesOf), "# EOF"].map((line) => `${line}\n`).join("");
}

function families(document: FleetDocument): Family[] {
  const { nodes, groups } = document;
  const slow = new Set(document.outliers.map(({ host, device }) => keyOf(host, device)));
  const isSlow = (host: string, ordinal: number) =>
    slow.has(keyOf(host, null)) || slow.has(keyOf(host, ordinal));
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
      help: "1 where a GPU, or all of its node, is slower than those that are like it.",
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
      help: "What became of a node: 1 with the state that it is in.",
      samples: nodes.map(({ host, state }) => ({ labels: { host, state }, value: 1 })),
    },
    {
      name: "pinbench_fleet_nodes",
      help: "Nodes by what became of them.",
      samples: nodeStates.map((state) => ({
        labels: { state },
        value: nodes.filter((node) => node.state === state).length,
      })),
    },
    {
      name: "pinbench_fleet_groups",
      help: "Groups of nodes that are alike.",
      samples: [{ labels: {}, value: groups.length }],
    },
    {
      name: "pinbench_fleet_emulated",
      help: "1 where devices were emulated, whose figures say nothing of a GPU.",
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
function keyOf(host: string, device: number | null): string {
  return JSON.stringify([host, device]);
}

/** The figures of one unit, `scale` times as large. */
function figures(document: FleetDocument, unit: "GB/s" | "us", scale: number): Sample[] {
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

/** None at all for a family without samples. */
function linesOf({ name, help, unit, samples }: Family): string[] {
  if (samples.length === 0) return [];
  return [
    `# TYPE ${name} gauge`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${help}`,
    ...samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${value}`),
  ];
}

/** What is not known is left out: to Prometheus an empty label is no label. */
function labelsText(labels: Sample["labels"]): string {
  const known = Object.entries(labels).flatMap(([key, value]) =>
    value === null ? [] : [`${key}="${escaped(String(value))}"`],
  );
  return known.length === 0 ? "" : `{${known.join(",")}}`;
}

/** Both formats escape the same three in a label's value. */
function escaped(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
