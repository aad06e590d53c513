import { PinbenchError } from "../errors.js";
import { type Kind, repeatable } from "./setting.js";

/** What a user says of a result beside its figures, such as in which rack the machine stands. */
export interface Label {
  key: string;
  value: string;
}

/** Labels by their keys, as results carry them. */
export type Labels = Readonly<Record<string, string>>;

/** What may stand before the `=`. */
export const labelKey = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** Most characters of a value. */
export const mostLabelCharacters = 256;

/** What no value holds: control characters, breaks of lines, lone halves of characters, and what turns text around. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u;

/** Whether it can be a label's value. */
export function isLabelValue(value: string): boolean {
  const length = [...value].length;
  return length > 0 && length <= mostLabelCharacters && !unprintable.test(value);
}

/** One label, written as key=value; the value may have further signs of equality. */
const label: Kind<Label, string> = {
  form: "text",
  allowed: "a label such as rack=7",
  json: { type: "string" },
  read: (given) => {
    const text = String(given);
    const separator = text.indexOf("=");
    if (separator < 1) {
      throw new PinbenchError("usage", `"${text}" is not a label: a label is a key and a value.`, {
        hint: "Write for example --label rack=7.",
      });
    }
    const [key, value] = [text.slice(0, separator), text.slice(separator + 1)];
    if (!labelKey.test(key)) {
      throw new PinbenchError("usage", `"${key}" cannot be the key of a label.`, {
        hint: "Keys are up to 64 letters, digits, dots, dashes and underscores, and begin with a letter or digit: rack, cooling.loop.",
      });
    }
    if (!isLabelValue(value)) {
      throw new PinbenchError("usage", `"${value}" cannot be the value of the label ${key}.`, {
        hint: `A value is one line of up to ${mostLabelCharacters} characters, and not empty.`,
      });
    }
    return { key, value };
  },
};

/** `--label key=value` of the commands that measure: its value is for labelsOf(). */
export const labels = repeatable(
  "--label <key=value>",
  "add a label to the result, such as rack=7 (repeatable)",
  label,
);

/** The labels by their keys, in the order in which they were given. Throws a usage error for a key that comes twice. */
export function labelsOf(given: readonly Label[]): Labels {
  const byKey = new Map<string, string>();
  for (const { key, value } of given) {
    const earlier = byKey.get(key);
    if (earlier !== undefined) {
      throw new PinbenchError(
        "usage",
        `The label ${key} is given twice, as "${earlier}" and as "${value}".`,
        {
          hint: "Give each key once.",
        },
      );
    }
    byKey.set(key, value);
  }
  return Object.fromEntries(byKey);
}
