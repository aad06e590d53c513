import { z } from "zod";
import { backendNames, directionsMoved, modes } from "../../settings/choices.js";
import { count } from "../../settings/schema-parts.js";

/**
 * The history document, `schemaVersion: 1`: `pinbench history` prints it with `--format json`, and its other outputs
 * are made from it. schema/history-v1.json is generated from here (`npm run schema`). Changes are relative (-0.06 is 6
 * % less); unknown values are null. Checks are indices of `checks`.
 */

const stepSchema = z.object({
  /** Relative change of the mean at the step, between the checks `before` and `after`, with its 95 % interval. */
  change: z.number(),
  low: z.number(),
  high: z.number(),
  before: count,
  after: count,
  /** The first check after the step lies in this range. */
  earliest: count,
  latest: count,
  /** Machine facts that differ between the check before `earliest` and `latest`. */
  differences: z.array(z.object({ fact: z.string(), before: z.string(), after: z.string() })),
});

/** One to three outliers; the trend continues after them. */
const outageSchema = z.object({
  /** Their median, relative to the nearer level of the checks before or after. */
  change: z.number(),
  first: count,
  last: count,
});

const newestSchema = z.object({
  check: count,
  /** In the trend's unit; null for a group of several cells. */
  figure: z.number().nullable(),
  /** Relative to the median of earlier checks since the last step, and their number. */
  change: z.number(),
  checksBefore: count,
  /** Whether the change exceeds six standard deviations. */
  isFar: z.boolean(),
});

const trendSchema = z.object({
  /** "h2d pinned", or a cell's id. */
  name: z.string(),
  kind: z.enum(["group", "cell"]),
  /** Host name; null in a history of one host. */
  machine: z.string().nullable(),
  gpuUuids: z.array(z.string()),
  backend: z.enum(backendNames),
  device: count,
  moved: z.enum([...directionsMoved, "sum"]),
  memory: z.string(),
  mode: z.enum(modes),
  unit: z.enum(["GB/s", "us"]),
  ids: z.array(z.string()),
  /** The median over all checks, in the trend's unit; null for a group of several cells. */
  median: z.number().nullable(),
  /** For each check with a figure: its relative distance from the median; for a group, that of its median cell. */
  points: z.array(z.object({ check: count, change: z.number() })).min(1),
  /** Relative standard deviation of checks around their level; null with fewer than three checks. */
  noise: z.number().nonnegative().nullable(),
  steps: z.array(stepSchema),
  outages: z.array(outageSchema),
  /** The newest check with a figure; null if it is the only one at its level. */
  newest: newestSchema.nullable(),
});

const documentSchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("history"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  path: z.string(),
  /** Set if a check ran on the emulated device, whose figures are not a GPU's. */
  notice: z.string().nullable(),
  checks: z.array(
    z.object({
      id: z.string(),
      startedAt: z.string(),
      version: z.string(),
      outcome: z.string(),
      backend: z.enum(backendNames),
    }),
  ),
  /** Groups of each GPU, and cells with a change that their group does not have; or the requested cells. */
  trends: z.array(trendSchema),
  notes: z.array(z.string()),
});

export const historySchema = documentSchema.refine(
  ({ checks, trends }) =>
    trends.every(({ points, steps, outages }) =>
      [
        ...points.map(({ check }) => check),
        ...steps.flatMap(({ before, after }) => [before, after]),
        ...outages.map(({ first }) => first),
      ].every((check) => check < checks.length),
    ),
  "a trend has a check that the document lacks",
);

export type HistoryDocument = z.infer<typeof historySchema>;
export type Trend = z.infer<typeof trendSchema>;

historySchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:history-v1",
  title: "pinbench history, version 1",
  description:
    "What pinbench history prints with --json. Changes are relative (-0.06 is 6 % less); figures are in GB/s " +
    "(decimal) or microseconds a copy; what is not known is null.",
});
