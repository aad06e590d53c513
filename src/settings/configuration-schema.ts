import { z } from "zod";
import { PinbenchError } from "../errors.js";
import { memories } from "./choices.js";
import { type Kind, optionName, type Requested, type SettingTable } from "./setting.js";
import { mostRuns, runSettings } from "./table.js";
import { parseThreshold } from "./thresholds.js";

/**
 * pinbench.config.json. Values are written as on the command line, and parsed by the same kinds. schema/config-v1.json
 * is generated from here (`npm run schema`).
 */

type Written = string | number | boolean | (string | number)[];

function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: ({ code }) => (code === "unrecognized_keys" ? "is not a known key" : "must be an object"),
  });
}

/** A value that `read` parses from text or a number; `allowed` completes "must be …". */
function readAs<Value>(shape: z.ZodType<Written>, allowed: string, read: (written: Written) => Value) {
  return shape
    .transform((written, context) => {
      try {
        return read(written);
      } catch (error) {
        if (!(error instanceof PinbenchError)) throw error;
        const message = `is wrong: ${error.message.replace(/\.$/, "")}`;
        context.addIssue({ code: "custom", message, params: { hint: error.hint } });
        return z.NEVER;
      }
    })
    .describe(`${allowed.charAt(0).toUpperCase()}${allowed.slice(1)}.`);
}

function trueOrFalse(description: string) {
  return z.boolean({ error: "must be true or false" }).describe(description);
}

function schemaOf({ form, allowed, choices, read }: Kind<unknown, Written>, help: string): z.ZodType {
  const error = `must be ${allowed}`;
  switch (form) {
    case "switch":
      return trueOrFalse(`Whether to ${help}.`);
    case "choice":
      return z.enum(choices ?? [], { error });
    case "text":
      return readAs(z.string({ error }), allowed, read);
    case "value":
      return readAs(z.union([z.string(), z.number()], { error }), allowed, read);
    case "list": {
      const both = `${allowed}, as text with commas or as an array`;
      const error = `must be ${both}`;
      const entry = choices === undefined ? z.union([z.string(), z.number()]) : z.enum(choices);
      const list = z.array(entry).min(1, { error });
      return readAs(z.union([z.string(), z.number(), list], { error }), both, read);
    }
  }
}

function sectionOf<Table extends SettingTable>(table: Table) {
  const entries = Object.entries(table).map(([key, { flag, kind, help }]) => ({
    key,
    name: optionName(flag),
    schema: schemaOf(kind, help).exactOptional(),
  }));
  const shape = Object.fromEntries(entries.map(({ name, schema }) => [name, schema]));
  const keyOf = new Map(entries.map(({ key, name }) => [name, key]));
  const schema = section(shape).transform(
    (options) =>
      Object.fromEntries(
        Object.entries(options).map(([name, value]) => [keyOf.get(name), value]),
      ) as Requested<Table>,
  );
  return { schema, names: [...keyOf.keys()] };
}

/** A configuration cannot list cells; only flags and library callers can. */
const { cells: _, ...planTable } = runSettings;

const plan = sectionOf(planTable);

const planSchema = plan.schema.describe("What to measure if no flag of the same name is given.");

const thresholdShare = readAs(
  z.union([z.string(), z.number()], { error: "must be a share such as 5% or 0.05" }),
  "a share such as 5% or 0.05",
  (written) => parseThreshold(String(written)),
);
export const thresholdsSchema = section({
  default: thresholdShare.exactOptional(),
  memory: section(
    Object.fromEntries(memories.map((name) => [name, thresholdShare.exactOptional()])),
  ).exactOptional(),
}).describe("Smallest drop that counts, relative to the baseline: of a kind of memory, else the default.");

const path = { error: "must be a path" };
const runsText = { error: `must be a whole number from 1 to ${mostRuns}` };

/** The content of a configuration. Its JSON Schema covers only the shape; pinbench checks texts such as "64KiB". */
export const configurationSchema = section({
  $schema: z.string({ error: "must be text" }).describe("For editors; pinbench ignores it.").exactOptional(),
  plan: planSchema.exactOptional(),
  baseline: z
    .string(path)
    .min(1, path)
    .describe("Path of the baseline, from the folder of this file.")
    .exactOptional(),
  runs: z
    .int(runsText)
    .min(1, runsText)
    .max(mostRuns, runsText)
    .describe(
      "Fresh processes that pinbench check measures with, and as many more to confirm (up to 24 more if single runs are slow).",
    )
    .exactOptional(),
  thresholds: thresholdsSchema.exactOptional(),
  strict: trueOrFalse("Whether a figure that the candidate lacks fails the check.").exactOptional(),
});

/** The keys of each section, by its path in the file. */
export const knownKeys: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(configurationSchema.shape),
  plan: plan.names,
  thresholds: Object.keys(thresholdsSchema.shape),
  "thresholds.memory": memories,
};

configurationSchema.register(z.globalRegistry, {
  $id: "urn:pinbench:schema:config-v1",
  title: "pinbench configuration, version 1",
  description:
    "pinbench.config.json, or the key pinbench of package.json. Flags override it. Values are written as on the " +
    "command line: sizes as 64KiB, shares as 5%, durations as 8s; lists as text with commas or as arrays.",
});
