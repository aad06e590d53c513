import { z } from "zod";
import { backendNames, directionsMoved, modes } from "../../settings/choices.js";
import { count } from "../../settings/schema-parts.js";

/**
 * The history document, `schemaVersion: 1`: `pinbench history` prints it with `--format json`, and its other outputs
 * are made from it. schema/history-v1.json is generated from here (`npm run schema`). Changes are relative (-0.06 is 6
 * % less); unknown values are null. Checks are counted from 0, in their order.
 */

/** A relative change, and its 95 % interval. */
const changeSchema = z.object({ change: z.number(), low: z.number(), high: z.number() });

/** The recorded facts of the machine that differ between two checks. */
const differencesSchema = z.array(
  z.object({ fact: z.string(), before: z.string().nullable(), after: z.string().nullable() }),
);

const stepSchema = z.object({
  ...changeSchema.shape,
  /** The last check before it and the first one after it, and their times. */
  before: count,
  after: count,
  startedBefore: z.string(),
  startedAfter: z.string(),
  /** The earliest and the latest check that may be the first after it. */
  earliest: count,
  latest: count,
  /** The recorded facts of the machine that differ between the check before `earliest` and those from `latest` on. */
  differences: differencesSchema,
});

const driftSchema = z.object({
  /** From its first check to its last one; and on average from one to the next. */
  ...changeSchema.shape,
  perCheck: z.number(),
  first: count,
  last: count,
  startedFirst: z.string(),
  startedLast: z.string(),
});

/** One to three consecutive checks that are far off, too few for a level. */
const farChecksSchema = z.object({
  /** Relative distance of their median from the other checks' prediction. */
  change: z.number(),
  first: count,
  last: count,
  checks: count,
  startedFirst: z.string(),
  startedLast: z.string(),
});

const endStepSchema = z.object({
  ...farChecksSchema.shape,
  /** Differences between the check before the first of them and the first. */
  differences: differencesSchema,
});

const newestSchema = z.object({
  check: count,
  startedAt: z.string(),
  /** In the course's unit; null for a group of several cells. */
  figure: z.number().nullable(),
  /** Relative to the median of the earlier checks, and their number. */
  change: z.number(),
  checksBefore: count,
  /** Relative robust standard deviation of the earlier checks; null below seven. */
  deviation: z.number().nullable(),
  /** Whether it lies outside the scatter of the earlier checks. */
  isBeyond: z.boolean(),
});

const courseSchema = z.object({
  /** "H2D pinned", or a cell's id. */
  name: z.string(),
  /** Whether it belongs to a group of cells, or to one figure of a cell. */
  kind: z.enum(["group", "cell"]),
  /** The name of its checks' machine; null in a history of one machine. */
  machine: z.string().nullable(),
  backend: z.enum(backendNames),
  /** The machine on which the same cells are fastest, and the difference; null unless this one is well behind it. */
  behind: z.object({ machine: z.string(), change: z.number() }).nullable(),
  /** Whether its checks used --verify every, which shortens samples. */
  comparesEveryCopy: z.boolean(),
  device: count,
  moved: z.enum([...directionsMoved, "sum"]),
  memory: z.string(),
  mode: z.enum(modes),
  unit: z.enum(["GB/s", "us"]),
  ids: z.array(z.string()),
  /** The median over all checks, in the course's unit; null for a group, whose cells have different ones. */
  median: z.number().nullable(),
  /** For each check with the figure: its relative distance from the median; for a group, that of its median cell. */
  points: z.array(z.object({ check: count, change: z.number() })),
  /** The newest check against those before; null for a single check. */
  newest: newestSchema.nullable(),
  /** Relative standard deviation without steps and drifts; null below three checks. */
  noise: z.number().nonnegative().nullable(),
  steps: z.array(stepSchema),
  drifts: z.array(driftSchema),
  /** One to three checks that are far off, after which the course continued as before. */
  outages: z.array(farChecksSchema),
  /** The last two or three checks, if they are far off; null if they are not. */
  endStep: endStepSchema.nullable(),
});

/** The zod schema of the whole document. */
export const historySchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("history"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  path: z.string(),
  /** Set if a check ran on the emulated device: its figures are no GPU's. */
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
  /** By machine: the groups, and the cells with findings that their group lacks; or the requested cells. */
  courses: z.array(courseSchema),
  /** Notes on lines of the file that were left out. */
  notes: z.array(z.string()),
});

/** The document of `history`. */
export type HistoryDocument = z.infer<typeof historySchema>;
/** The course of a group of cells, or of one figure, from check to check. */
export type Course = z.infer<typeof courseSchema>;
/** A sudden change of a course's level. */
export type CourseStep = z.infer<typeof stepSchema>;
/** Checks of a course that are far off. */
export type FarChecks = z.infer<typeof farChecksSchema>;
/** A slow change of a course. */
export type CourseDrift = z.infer<typeof driftSchema>;

historySchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:history-v1",
  title: "pinbench history, version 1",
  description:
    "What pinbench history prints with --json. Changes are relative (-0.06 is 6 % less); figures are in GB/s " +
    "(decimal) or microseconds a copy; what is not known is null.",
});
