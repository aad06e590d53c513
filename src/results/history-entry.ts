import { z } from "zod";
import { backendNames, directionsMoved } from "../settings/choices.js";
import { leastFigure, mostFigure, ratio } from "./schema-parts.js";

/**
 * A check as a history keeps it, `schemaVersion: 1`: one line of JSON in history.jsonl. It has no samples, no
 * thresholds and no verdicts on cells: what a later reader needs to see the machine's course, and what changed with it.
 * schema/history-entry-v1.json is generated from here (`npm run schema`).
 */

const machineNamesSchema = z.object({
  /** One; none in a container, which has a new one each time. */
  hostName: z.array(z.string()),
  /** Of its devices, in their order; none for the emulated one, which has the same everywhere. */
  gpuUuids: z.array(z.string()),
  pciAddresses: z.array(z.string()),
});

const seriesSchema = z.object({
  /** Id of the cell. */
  id: z.string(),
  /** Which figure of the cell it is; a bidir cell has one for each direction, and for throughput their "sum". */
  moved: z.enum([...directionsMoved, "sum"]),
  /** "GB/s" for throughput, "us" a copy for latency. */
  unit: z.enum(["GB/s", "us"]),
  /** Median of the medians of the check's runs, those that measured suspects again left out. */
  figure: z.number().min(leastFigure).max(mostFigure),
  runs: z.number().int().positive(),
  /** Standard error of the figure's logarithm, from the spread between the runs; null for a single run. */
  logError: ratio.nullable(),
});

/** The zod schema of a line. */
export const historyEntrySchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("check"),
  /** The first run's own id: a line that was copied has it too. */
  id: z.string(),
  startedAt: z.iso.datetime(),
  /** Of pinbench. */
  version: z.string(),
  /** As the comparison has it: "pass", "regression", "failed", "inconclusive". */
  outcome: z.string(),
  backend: z.enum(backendNames),
  /** That of a result, from the check's first run. */
  fingerprint: z.record(z.string(), z.string().nullable()),
  machine: machineNamesSchema,
  /** As in a result's settings: "every" means shorter samples, and figures of their own. Absent in older lines. */
  verify: z.union([z.literal("every"), z.boolean()]).nullish(),
  series: z.array(seriesSchema),
});

/** Which machine it was, of several that are alike; empty lists for what is not known. */
export type MachineNames = z.infer<typeof machineNamesSchema>;
/** A check of the past. */
export type HistoryEntry = z.infer<typeof historyEntrySchema>;
/** One figure of a check of the past. */
export type HistoryFigure = z.infer<typeof seriesSchema>;

historyEntrySchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:history-entry-v1",
  title: "pinbench history, version 1: one line",
  description:
    "One check, as `pinbench check --history` appends it to history.jsonl. Figures are in GB/s (decimal) or in " +
    "microseconds a copy; what is not known is null.",
});
