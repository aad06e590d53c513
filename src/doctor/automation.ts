import { type GaugeFamily, openMetricsText } from "../draw/document-kind.js";
import { roundDown } from "../draw/numbers.js";
import type { Screen } from "../draw/screen.js";
import { shownText } from "../draw/terminal/terminal-text.js";
import { type Diagnosis, isFaulty } from "./diagnosis.js";

/* Output for monitoring programs: one line with a state, or gauges. */

export type NodeState = "ok" | "warning" | "critical" | "unknown";

/**
 * Critical if a finding asks to isolate the node or reset a device. Unknown if copies cannot be judged. A warning if
 * something costs bandwidth but is not the node's fault, or needs watching.
 */
export function nodeState({ findings, verdict }: Pick<Diagnosis, "findings" | "verdict">): NodeState {
  if (findings.some(isFaulty)) return "critical";
  if (verdict === "inconclusive") return "unknown";
  return verdict === "costs" || findings.some(({ action }) => action === "monitor") ? "warning" : "ok";
}

/** The exit codes of Nagios' plugins (its "Plugin API"). */
export const nagiosCodes = { ok: 0, warning: 1, critical: 2, unknown: 3 } as const satisfies Record<
  NodeState,
  number
>;

/** Exit codes for Node Health Check, which drains a node only for 1. */
export const healthCheckCodes = { ok: 0, warning: 0, critical: 1, unknown: 4 } as const satisfies Record<
  NodeState,
  number
>;

/** Some schedulers cut or reject longer lines as a reason. */
const mostReasonCharacters = 240;

function shortReason(diagnosis: Diagnosis, screen: Screen): string {
  const { findings, reason, verdict } = diagnosis;
  const asks = findings.find(isFaulty);
  // The reason must explain the action, which may come from a later finding.
  const isSaid = asks === undefined || asks === findings[0] || verdict === "faulty";
  const text = shownText(isSaid ? reason : asks.summary, screen);
  return text.length <= mostReasonCharacters ? text : `${text.slice(0, mostReasonCharacters - 3)}...`;
}

export const nhcError = (reason: string) =>
  `ERROR:  nhc:  Health check failed:  pinbench doctor:  ${reason}\n`;

/** One line in the format of LBNL's Node Health Check, which Slurm can store as the reason for a drained node. */
export function healthCheckLine(diagnosis: Diagnosis, screen: Screen): string {
  const reason = shortReason(diagnosis, screen);
  const state = nodeState(diagnosis);
  if (state === "ok") return `OK:  pinbench doctor:  ${reason}\n`;
  if (state === "critical") return nhcError(reason);
  return `WARNING:  pinbench doctor:  ${reason}\n`;
}

/** One line for Nagios and compatible programs, with rates after the bar. */
export function nagiosLine(diagnosis: Diagnosis, screen: Screen): string {
  // The bar separates text and figures.
  const reason = shortReason(diagnosis, screen).replaceAll("|", "/");
  return `PINBENCH ${nodeState(diagnosis).toUpperCase()} - ${reason} | ${performanceData(diagnosis)}\n`;
}

/** Each rate as gpu0_h2d_gb_per_s=55.37;;;0; because the format has no unit for GB/s. */
function performanceData({ devices }: Diagnosis): string {
  return devices
    .flatMap(({ ordinal, rates }) =>
      rates.flatMap(({ direction, together, gigabytesPerSecond: rate }) =>
        rate === null
          ? []
          : [`gpu${ordinal}_${direction}${together ? "_together" : ""}_gb_per_s=${roundDown(rate, 2)};;;0;`],
      ),
    )
    .join(" ");
}

export function diagnosisMetrics(diagnosis: Diagnosis): string {
  const { host, devices, findings, verdict, createdAt, notice } = diagnosis;
  const uuidOf = (ordinal: number | null) =>
    devices.find((device) => device.ordinal === ordinal)?.uuid ?? null;
  const rates = devices.flatMap(({ ordinal, uuid, rates }) =>
    rates.map(({ direction, together, gigabytesPerSecond, expectedGigabytesPerSecond }) => ({
      labels: { host, gpu: ordinal, uuid, direction, copies: together ? "together" : "alone" },
      found: gigabytesPerSecond,
      expected: expectedGigabytesPerSecond,
    })),
  );
  const bytes = (key: "found" | "expected"): GaugeFamily["samples"] =>
    rates.flatMap(({ labels, [key]: rate }) => (rate === null ? [] : [{ labels, value: rate * 1e9 }]));
  const found = findings.map(({ cause, device, weight, action, cost }) => ({
    labels: { host, gpu: device, uuid: uuidOf(device), cause },
    ...{ weight, action, cost },
  }));
  return openMetricsText([
    {
      name: "pinbench_doctor_bandwidth_bytes_per_second",
      help: "Median rate of pinned copies of a GPU.",
      unit: "bytes_per_second",
      samples: bytes("found"),
    },
    {
      name: "pinbench_doctor_expected_bytes_per_second",
      help: "Rate that a healthy machine reaches.",
      unit: "bytes_per_second",
      samples: bytes("expected"),
    },
    {
      name: "pinbench_doctor_finding",
      help: "1 for each finding, with the action for the node.",
      samples: found.map(({ labels, weight, action }) => ({
        labels: { ...labels, weight, action },
        value: 1,
      })),
    },
    {
      name: "pinbench_doctor_cost_bytes_per_second",
      help: "Rate that a finding costs.",
      unit: "bytes_per_second",
      samples: found.flatMap(({ labels, cost }) =>
        cost === null
          ? []
          : [
              {
                labels: { ...labels, direction: cost.direction, copies: cost.copies },
                value: cost.gigabytesPerSecond * 1e9,
              },
            ],
      ),
    },
    {
      name: "pinbench_doctor_verdict",
      help: "1 for the verdict on a node, with the node's state.",
      samples: [{ labels: { host, verdict, state: nodeState(diagnosis) }, value: 1 }],
    },
    {
      name: "pinbench_doctor_emulated",
      help: "1 if devices were emulated: their figures do not describe a GPU.",
      samples: [{ labels: { host }, value: Number(notice !== null) }],
    },
    {
      name: "pinbench_doctor_timestamp_seconds",
      help: "When the node was examined, in Unix time.",
      unit: "seconds",
      samples: [{ labels: { host }, value: Date.parse(createdAt) / 1000 }],
    },
  ]);
}
