import { z } from "zod";
import { backendNames, directionsMoved, verifyings } from "../settings/choices.js";
import { leastFigure, mostFigure } from "../settings/schema-parts.js";

/**
 * A check in a history, `schemaVersion: 1`: one line of JSON in history.jsonl. It has no samples, thresholds and
 * verdicts on cells, only what a later reader needs for the trend of its figures.
 * schema/history-entry-v1.json is generated from here (`npm run schema`).
 */

const machineNamesSchema = z.object({
  /** One; empty in a container, which has a new one each time. */
  hostName: z.array(z.string()),
  /** UUIDs of its devices, in order; empty for the emulated one, which has the same everywhere. */
  gpuUuids: z.array(z.string()),
  pciAddresses: z.array(z.string()),
});

const seriesSchema = z.object({
  id: z.string(),
  /** The figure of the cell; a bidir cell has one for each direction, and for throughput their "sum". */
  moved: z.enum([...directionsMoved, "sum"]),
  /** "GB/s" for throughput, "us" a copy for latency. */
  unit: z.enum(["GB/s", "us"]),
  /** Median of the medians of the check's runs, without those that measured suspects again. */
  figure: z.number().min(leastFigure).max(mostFigure),
  runs: z.number().int().positive(),
});

export const historyEntrySchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("check"),
  /** The first run's id, which a copied line has too. */
  id: z.string(),
  startedAt: z.iso.datetime(),
  version: z.string(),
  /** As in the comparison: "pass", "regression", "failed", "mismatch", "undecided". */
  outcome: z.string(),
  backend: z.enum(backendNames),
  /** From the result of the check's first run. */
  fingerprint: z.record(z.string(), z.string().nullable()),
  machine: machineNamesSchema,
  /** As in a result's settings: "every" shortens samples, so its figures differ. Absent if no run of the check began. */
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
