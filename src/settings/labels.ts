import { PinbenchError } from "../errors.js";
import { gathered, type Kind } from "./setting.js";

/** Labels by key, as in results: a user's remarks, such as the machine's rack. */
export type Labels = Readonly<Record<string, string>>;

export const labelKey = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const mostLabelCharacters = 256;

/** Not allowed in values: control characters, line breaks, lone surrogates, and direction overrides. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u;

export function isLabelValue(value: string): boolean {
  const length = [...value].length;
  return length > 0 && length <= mostLabelCharacters && !unprintable.test(value);
}

/** One label, written as key=value; the value may contain further equals signs. */
const label: Kind<readonly [key: string, value: string], string> = {
  form: "text",
  allowed: "a label such as rack=7",
  json: { type: "string" },
  read: (written) => {
    const text = String(written);
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
    return [key, value];
  },
};

export const labels = gathered(
  "--label <key=value>",
  "add a label to the result, such as rack=7 (repeatable)",
  label,
  {},
  withLabel,
);

function withLabel(labels: Labels, [key, value]: readonly [key: string, value: string]): Labels {
  if (Object.hasOwn(labels, key)) {
    throw new PinbenchError(
      "usage",
      `The label ${key} is given twice, as "${labels[key]}" and as "${value}".`,
      { hint: "Give each key once." },
    );
  }
  return { ...labels, [key]: value };
}
