import { z } from "zod";
import { backendNames, directionsMoved, verifyings } from "../settings/choices.js";
import { leastFigure, mostFigure } from "../settings/schema-parts.js";

/**
 * A check in a history, `schemaVersion: 1`: one line of JSON in history.jsonl. It has what the trend of its figures
 * needs, without samples, thresholds and verdicts on cells. schema/history-entry-v1.json is generated from here (`npm
 * run schema`).
 */

const machineNamesSchema = z.object({
  /** One name; empty in a container, whose name changes each time. */
  hostName: z.array(z.string()),
  /** UUIDs of its devices in order; empty for the emulated device, whose UUID is the same everywhere. */
  gpuUuids: z.array(z.string()),
  pciAddresses: z.array(z.string()),
});

const seriesSchema = z.object({
  id: z.string(),
  /** Direction of the figure. A bidir cell has one per direction, and for throughput their "sum". */
  moved: z.enum([...directionsMoved, "sum"]),
  /** "GB/s" for throughput, "us" per copy for latency. */
  unit: z.enum(["GB/s", "us"]),
  /** Median of the check's run medians, without the runs that measured suspects again. */
  figure: z.number().min(leastFigure).max(mostFigure),
  runs: z.number().int().positive(),
});

export const historyEntrySchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("check"),
  /** The first run's id; a line with the id of an earlier one is a copy. */
  id: z.string(),
  startedAt: z.iso.datetime(),
  version: z.string(),
  /** As in the comparison: "pass", "regression", "failed", "mismatch", "undecided". */
  outcome: z.string(),
  backend: z.enum(backendNames),
  /** From the result of the check's first run. */
  fingerprint: z.record(z.string(), z.string().nullable()),
  machine: machineNamesSchema,
  /** As in a result's settings: "every" shortens samples, so figures differ. */
  verify: z.enum(verifyings).optional(),
  series: z.array(seriesSchema),
});

export type MachineNames = z.infer<typeof machineNamesSchema>;
export type HistoryEntry = z.infer<typeof historyEntrySchema>;
export type HistoryFigure = z.infer<typeof seriesSchema>;

historyEntrySchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:history-entry-v1",
  title: "pinbench history, version 1: one line",
  description:
    "One check, as `pinbench check --history` appends it to history.jsonl. Figures are in GB/s (decimal) or in " +
    "microseconds a copy; what is not known is null.",
});
