import { z } from "zod";
import { count } from "../../results/schema-parts.js";
import { backendNames, directionsMoved, modes } from "../../settings/choices.js";

/**
 * The history document, `schemaVersion: 1`: what `pinbench history` prints with `--format json`, and what its other
 * outputs are made from. schema/history-v1.json is generated from here (`npm run schema`). Changes are relative (-0.06
 * is 6 % less); what is not known is null. Checks are counted from 0, in the order in which they were made.
 */

/** A relative change, and its 95 % interval. */
const changeSchema = z.object({ change: z.number(), low: z.number(), high: z.number() });

/** What is recorded of the machine and differs between two checks. */
const differencesSchema = z.array(
  z.object({ fact: z.string(), before: z.string().nullable(), after: z.string().nullable() }),
);

const stepSchema = z.object({
  ...changeSchema.shape,
  /** The last check before it and the first one after it, and when these were. */
  before: count,
  after: count,
  startedBefore: z.string(),
  startedAfter: z.string(),
  /** The first checks after it, if it was as early and as late as it may have been. */
  earliest: count,
  latest: count,
  /** What is recorded of the machine and differs between before the earliest and from the latest of these on. */
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

/** One to three checks in a row that are far off, which no fit can make a level of. */
const farChecksSchema = z.object({
  /** Of their median, to what the other checks lead one to expect. */
  change: z.number(),
  first: count,
  last: count,
  checks: count,
  startedFirst: z.string(),
  startedLast: z.string(),
});

const endStepSchema = z.object({
  ...farChecksSchema.shape,
  /** Between the check before the first of them and that one. */
  differences: differencesSchema,
});

const newestSchema = z.object({
  check: count,
  startedAt: z.string(),
  /** In the unit; null for a group of several cells. */
  figure: z.number().nullable(),
  /** To the median of the checks before, and their number. */
  change: z.number(),
  checksBefore: count,
  /** Robust standard deviation of the checks before, as a share of the figure; null below seven. */
  deviation: z.number().nullable(),
  /** Whether it is farther off than the checks before scatter. */
  isBeyond: z.boolean(),
});

/** What repeats itself. `change` is from the highest to the lowest level of it. */
const patternSchema = z.discriminatedUnion("kind", [
  /** By hour of the day, in universal time: six hours from `lowestHour` on have the lowest figures. */
  z.object({ kind: z.literal("daily"), change: z.number(), lowestHour: count, highestHour: count }),
  /** Two levels take turns. */
  z.object({ kind: z.literal("alternation"), change: z.number(), checksLow: count }),
  /** Again after `period` checks, such as a sawtooth. */
  z.object({ kind: z.literal("cycle"), change: z.number(), period: count }),
]);

const courseSchema = z.object({
  /** "H2D pinned", or a cell's id. */
  name: z.string(),
  /** Whether it is that of a group of cells, or of one figure of a cell. */
  kind: z.enum(["group", "cell"]),
  /** The name of the machine that its checks were made on; null in a history of one machine. */
  machine: z.string().nullable(),
  backend: z.enum(backendNames),
  /** The machine whose same cells are fastest, and how far its figures differ; null unless this one is well behind it. */
  behind: z.object({ machine: z.string(), change: z.number() }).nullable(),
  /** Whether it is that of checks with --verify every, whose samples are shorter. */
  comparesEveryCopy: z.boolean(),
  device: count,
  moved: z.enum([...directionsMoved, "sum"]),
  memory: z.string(),
  mode: z.enum(modes),
  unit: z.enum(["GB/s", "us"]),
  /** Ids of its cells. */
  ids: z.array(z.string()),
  /** The median over all checks, in the unit; null for a group, whose cells have different ones. */
  median: z.number().nullable(),
  /** Of each check that has it, the figure's relative distance to the median; of a group, that of its middle cell. */
  points: z.array(z.object({ check: count, change: z.number() })),
  /** The newest check against those before; null for a single check. */
  newest: newestSchema.nullable(),
  /** Standard deviation of what steps, drifts and the pattern leave, as a share of the figure; null below three checks. */
  noise: z.number().nonnegative().nullable(),
  steps: z.array(stepSchema),
  drifts: z.array(driftSchema),
  /** One to three checks far off, after which the course went on as before. */
  outages: z.array(farChecksSchema),
  /** The last one to three checks, if they are far off; null if they are not. */
  endStep: endStepSchema.nullable(),
  pattern: patternSchema.nullable(),
});

/** The zod schema of the whole document. */
export const historySchema = z.object({
  schemaVersion: z.literal(1),
  kind: z.literal("history"),
  tool: z.object({ name: z.literal("pinbench"), version: z.string() }),
  createdAt: z.iso.datetime(),
  path: z.string(),
  /** Set where a check was made on the emulated device: its figures are no GPU's. */
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
  /** Machine by machine: the groups, and those cells of which something was found that their group has not; or the cells asked for. */
  courses: z.array(courseSchema),
  /** What was left out of the file, a sentence each. */
  notes: z.array(z.string()),
});

/** The document of `history`. */
export type HistoryDocument = z.infer<typeof historySchema>;
/** How a group of cells, or one figure, went from check to check. */
export type Course = z.infer<typeof courseSchema>;
/** Where a course changes its level at once. */
export type CourseStep = z.infer<typeof stepSchema>;
/** Checks of a course that are far off. */
export type FarChecks = z.infer<typeof farChecksSchema>;
/** Where a course changes little by little. */
export type CourseDrift = z.infer<typeof driftSchema>;

historySchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:history-v1",
  title: "pinbench history, version 1",
  description:
    "What pinbench history prints with --json. Changes are relative (-0.06 is 6 % less); figures are in GB/s " +
    "(decimal) or microseconds a copy; what is not known is null.",
});
