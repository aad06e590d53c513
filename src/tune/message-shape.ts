import { isObject } from "../text-file.js";

/*
 * What another process says comes as a line of JSON, and may be anything: its shape is checked before it is believed,
 * as what is wrong in it would show as a fault of pinbench's own, far from where it came from.
 */

/** Whether a value is what a field of a message has to be. */
export type FieldCheck = (value: unknown) => boolean;

/** The fields of each type of message but `type` itself; the compiler sees to it that none is missing. */
export type MessageShapes<Message extends { type: string }> = {
  readonly [Type in Message["type"]]: {
    readonly [Field in keyof Omit<Extract<Message, { type: Type }>, "type">]-?: FieldCheck;
  };
};

/** A number, and no infinity. */
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

/** Of a field that may be null. */
export const orNull =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === null || check(value);

/** Of a field that may be left out. */
export const orAbsent =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === undefined || check(value);

/** Of an object with these fields, and any others. */
export const withFields =
  (fields: Readonly<Record<string, FieldCheck>>): FieldCheck =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

/** The message of a line; null for a line that is none of these. */
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
