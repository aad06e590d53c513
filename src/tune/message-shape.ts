import { isObject } from "../text-file.js";

/*
 * Another process sends lines of JSON that may be anything. Their shape is checked first, because a wrong field would
 * otherwise look like a fault of pinbench, far from its source.
 */

/** Checks the value of a message's field. */
export type FieldCheck = (value: unknown) => boolean;

/** The fields of each type of message except `type`; the compiler ensures that none is missing. */
export type MessageShapes<Message extends { type: string }> = {
  readonly [Type in Message["type"]]: {
    readonly [Field in keyof Omit<Extract<Message, { type: Type }>, "type">]-?: FieldCheck;
  };
};

/** A finite number. */
export const isNumber: FieldCheck = (value) => Number.isFinite(value);

/** A whole number from 0 up. */
export const isCount: FieldCheck = (value) => Number.isSafeInteger(value) && (value as number) >= 0;

/** Any text. */
export const isText: FieldCheck = (value) => typeof value === "string";

/** True or false. */
export const isBoolean: FieldCheck = (value) => typeof value === "boolean";

/** One of these values. */
export const oneOf =
  (...values: readonly unknown[]): FieldCheck =>
  (value) =>
    values.includes(value);

/** A list whose entries all pass. */
export const listOf =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** Allows null. */
export const orNull =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === null || check(value);

/** Allows a missing field. */
export const orAbsent =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === undefined || check(value);

/** An object with these fields and any others. */
export const withFields =
  (fields: Readonly<Record<string, FieldCheck>>): FieldCheck =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

/** The message of a line; null for other lines. */
export function readShaped<Message extends { type: string }>(
  line: string,
  shapes: MessageShapes<Message>,
): Message | null {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isObject(message)) return null;
  const { type } = message;
  if (typeof type !== "string" || !Object.hasOwn(shapes, type)) return null;
  return withFields(shapes[type as Message["type"]])(message) ? (message as unknown as Message) : null;
}
