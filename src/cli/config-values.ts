import { z } from "zod";
import { PinbenchError } from "../errors.js";

/**
 * Building blocks of the configuration's schema. `allowed` says what may stand there, "a size such as 64MiB": it is
 * the value's description in the JSON Schema, and in messages completes a sentence that begins with the key.
 */

type Entry = z.ZodType<string | number, string | number>;

/** A value that a flag's parser reads; a number may stand for text without a unit. */
export function readAs<Value>(allowed: string, parse: (text: string) => Value) {
  return read(z.union([z.string(), z.number()], { error: `must be ${allowed}` }), allowed, parse);
}

/** The same where text without a unit says nothing. */
export function readTextAs<Value>(allowed: string, parse: (text: string) => Value) {
  return read(z.string({ error: `must be ${allowed}` }), allowed, parse);
}

/** A list that a flag's parser reads: text with commas, or an array of entries. */
export function readListAs<Value>(
  allowed: string,
  parse: (text: string) => Value,
  entry: Entry = z.union([z.string(), z.number()]),
) {
  const both = `${allowed}, as text with commas or as an array`;
  const error = `must be ${both}`;
  const list = z.array(entry).min(1, { error });
  return read(z.union([z.string(), z.number(), list], { error }), both, parse);
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]) {
  return z.enum(choices, { error: `must be one of ${choices.join(", ")}` });
}

export function trueOrFalse(description: string) {
  return z.boolean({ error: "must be true or false" }).describe(description);
}

/** An object without any other keys. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: ({ code }) => (code === "unrecognized_keys" ? "is not a known key" : "must be an object"),
  });
}

function read<Value>(
  shape: z.ZodType<string | number | (string | number)[]>,
  allowed: string,
  parse: (text: string) => Value,
) {
  return shape
    .transform((value, context) => parsed([value].flat().join(","), parse, context))
    .describe(`${allowed.charAt(0).toUpperCase()}${allowed.slice(1)}.`);
}

function parsed<Value>(text: string, parse: (text: string) => Value, context: z.RefinementCtx): Value {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof PinbenchError)) throw error;
    const message = `is wrong: ${error.message.replace(/\.$/, "")}`;
    context.addIssue({ code: "custom", message, params: { hint: error.hint } });
    return z.NEVER;
  }
}
