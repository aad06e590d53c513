import { PinbenchError } from "../errors.js";
import { inOrder, type NumaChoice, nearestWord } from "./choices.js";
import { type Kind, setting } from "./setting.js";
import { parseThresholdFlag, type Thresholds } from "./thresholds.js";
import {
  type List,
  listEntries,
  longestNs,
  parseDuration,
  parsePercent,
  parseSize,
  type Quantity,
  readCounts,
  readSizes,
  writtenWholeNumber,
} from "./units.js";

export const size: Kind<number, Quantity> = {
  form: "value",
  allowed: "a size such as 64MiB",
  json: { type: "integer" },
  read: (written) => parseSize(String(written)),
};

/** Sizes in bytes, ascending, each once. */
export const sizes: Kind<readonly number[], List<Quantity>> = {
  form: "list",
  allowed: "sizes such as 64KiB or 1KiB..64MiB*2",
  json: { type: "integer", isList: true },
  read: readSizes,
};

/** Block sizes in bytes, or "auto" to search for those where the best method changes. */
export const blockSizes: Kind<readonly number[] | "auto", List<Quantity>> = {
  ...sizes,
  allowed: "sizes such as 4KiB or 4KiB..1MiB*4, or auto",
  json: { type: "integer", isList: true, orWords: ["auto"] },
  read: (written) => (listEntries(written).join() === "auto" ? "auto" : readSizes(written)),
};

export const share: Kind<number, Quantity> = {
  form: "value",
  allowed: "a share such as 1% or 0.01",
  json: { type: "number", least: Number.MIN_VALUE, most: 0.5 },
  // JavaScript prints numbers below 1e-6 with an exponent, which parsePercent() does not accept.
  read: (written) =>
    typeof written === "number" && written > 0 && written <= 0.5 ? written : parsePercent(String(written)),
};

/** Nanoseconds, at most a day. */
export const wait: Kind<number, string> = {
  form: "text",
  allowed: "a duration such as 8s or 500ms",
  json: { type: "number", most: longestNs },
  read: (written) => parseDuration(String(written)),
};

/** Nanoseconds above 0, at most a day. */
export const time: Kind<number, string> = { ...wait, read: (written) => parseTime(String(written)) };

/** Nanoseconds, at most a day; or "forever", which is what the bare flag means. */
export const turnWait: Kind<number | "forever", string> = {
  ...wait,
  choices: ["forever"],
  json: { type: "number", orWords: ["forever"] },
  read: (written) => (written === "forever" ? written : parseDuration(written)),
};

export const moment: Kind<string, string> = {
  form: "text",
  allowed: "a time such as 2026-11-20 or 2026-11-20T14:00Z",
  json: { type: "string" },
  read: (written) => {
    const milliseconds = /^\d{4}-\d\d-\d\d/.test(written) ? Date.parse(written) : Number.NaN;
    if (!Number.isNaN(milliseconds)) return new Date(milliseconds).toISOString();
    throw new PinbenchError("usage", `"${written}" is not a time.`, {
      hint: "Write a date or a time in UTC, such as 2026-11-20 or 2026-11-20T14:00Z.",
    });
  },
};

/** A training step: simulated with a duration in ns or like a ResNet-50's ("auto"), or the user's function. */
type Step = { timeNs: number | "auto" } | { function: string };

export const step: Kind<Step, string> = {
  form: "text",
  allowed: "a duration such as 70ms, auto, or FILE:FUNCTION",
  json: { type: "object" },
  read: (written) => {
    const text = String(written);
    if (text.includes(":")) return { function: text };
    if (text === "auto") return { timeNs: text };
    if (/^\d/.test(text)) return { timeNs: parseTime(text) };
    throw new PinbenchError("usage", `"${text}" is not a training step.`, {
      hint: "Write a duration such as 70ms, auto, or with --torch FILE:FUNCTION.",
    });
  },
};

/** A sample of the loader model: its bytes in a batch, and the CPU time in ns to make it. */
export interface Sample {
  bytes: number;
  costNs: number;
}

/** Bytes, or bytes and a time. */
export const sample: Kind<Sample, List<Quantity>> = {
  form: "list",
  allowed: "bytes of a sample, such as 588KiB, or with a time: 588KiB,500us",
  json: { type: "object" },
  read: (written) => {
    const [bytes = "", cost, ...others] = listEntries(written);
    if (others.length === 0) {
      return {
        bytes: parseSize(String(bytes)),
        costNs: cost === undefined ? 0 : parseDuration(String(cost)),
      };
    }
    throw new PinbenchError(
      "usage",
      `"${listEntries(written).join()}" has more than the bytes and the time of a sample.`,
      {
        hint: "Write for example 588KiB, or 588KiB,500us.",
      },
    );
  },
};

/** Whole numbers from 1 up, ascending, each once; messages call them `what`. */
export function counts(what: string): Kind<readonly number[], List<Quantity>> {
  return {
    form: "list",
    allowed: `numbers of ${what}`,
    json: { type: "integer", isList: true },
    read: (written) => readCounts(written, what),
  };
}

export const threshold: Kind<Partial<Thresholds>, string> = {
  form: "text",
  allowed: "a threshold such as 5% or pageable=10%",
  json: { type: "object" },
  read: parseThresholdFlag,
};

export function count(what: string, least: number, most: number): Kind<number, Quantity> {
  return {
    form: "value",
    allowed: `a ${what}`,
    json: { type: "integer", least, most },
    read: (written) => {
      const value = writtenWholeNumber(written);
      if (value >= least && value <= most) return value;
      throw new PinbenchError(
        "usage",
        `"${written}" is not a ${what}: it must be a whole number from ${least} to ${most}.`,
      );
    },
  };
}

export function choice<const Choice extends string>(choices: readonly Choice[]): Kind<Choice, Choice> {
  return {
    form: "choice",
    allowed: `one of ${choices.join(", ")}`,
    choices,
    json: { type: "string" },
    read: (written) => {
      if (choices.includes(written)) return written;
      throw new PinbenchError("usage", `${JSON.stringify(written)} is not one of ${choices.join(", ")}.`);
    },
  };
}

/** Distinct names in the order of `choices`; messages call them `what`. */
export function choicesOf<const Choice extends string>(
  what: string,
  choices: readonly Choice[],
): Kind<readonly Choice[], List<Choice>> {
  return {
    form: "list",
    allowed: `of ${choices.join(", ")}`,
    choices,
    json: { type: "string", isList: true },
    read: (written) => parseChoices(written, what, choices),
  };
}

/** Ids of cells, or patterns in which `*` stands for any characters. */
export const cellPatterns: Kind<readonly string[], List<string>> = {
  form: "list",
  allowed: "cell ids, or patterns such as */pinned/*",
  json: { type: "string", isList: true },
  read: (written) => {
    const entries = listEntries(written);
    if (!entries.includes("")) return entries;
    throw new PinbenchError("usage", `"${written}" has an empty entry, which matches no cell.`, {
      hint: 'Write for example "*/pinned/*".',
    });
  },
};

export const devices: Kind<readonly number[] | "all", List<Quantity>> = {
  form: "list",
  allowed: "devices such as 0, or all",
  json: { type: "integer", isList: true, orWords: ["all"] },
  read: (written) => {
    const entries = listEntries(written);
    if (entries.join() === "all") return "all";
    const wrong = entries.find((entry) => !/^\d{1,4}$/.test(String(entry)));
    if (wrong === undefined) return [...new Set(entries.map(Number))];
    throw new PinbenchError("usage", `"${wrong}" is not a device number.`, {
      hint: "Write for example 0 or 0,1, or all; pinbench devices lists them.",
    });
  },
};

/** The ordinal of the only device, written like lists of devices elsewhere. */
export const oneDevice: Kind<number, List<Quantity>> = {
  ...devices,
  allowed: "one device such as 0",
  json: { type: "integer" },
  read: (written) => {
    const listed = devices.read(written);
    const [ordinal] = listed === "all" ? [] : listed;
    if (ordinal !== undefined && listed.length === 1) return ordinal;
    throw new PinbenchError(
      "usage",
      `"${listEntries(written).join()}" is not one device, and this command measures one at a time.`,
      {
        hint: "Write one number, such as 0, and repeat the command for each device.",
      },
    );
  },
};

export const numaNode: Kind<NumaChoice, Quantity> = {
  form: "value",
  allowed: "local, all or a node's number",
  json: { type: "integer", orWords: ["local", "all"] },
  read: (written) => {
    if (written === "local" || written === "all") return written;
    if (/^\d{1,4}$/.test(String(written))) return Number(written);
    throw new PinbenchError("usage", `"${written}" is not a NUMA node.`, {
      hint: "Write local, all, or a node's number such as 0.",
    });
  },
};

/** Ids of cells, which the plan checks. */
export const cellIds: Kind<readonly string[], string | readonly string[]> = {
  form: "list",
  allowed: "ids of cells",
  json: { type: "string", isList: true },
  read: (written) =>
    [written]
      .flat()
      .flatMap((text) => String(text).split(/[\s,]/))
      .filter((id) => id !== ""),
};

export const text: Kind<string, string> = {
  form: "text",
  allowed: "text",
  json: { type: "string" },
  read: (written) => ofType("string", written),
};

export const trueOrFalse: Kind<boolean, boolean> = {
  form: "switch",
  allowed: "true or false",
  json: { type: "boolean" },
  read: (written) => ofType("boolean", written),
};

export const onDemand = <const Flag extends string>(
  flag: Flag,
  help: string,
  excludes: readonly string[] = [],
) => setting(flag, help, trueOrFalse, { default: false, excludes });

/** Checks the type, because callers may use plain JavaScript. */
function ofType<Value>(type: "string" | "boolean", written: Value): Value {
  if (typeof written === type) return written;
  const allowed = type === "string" ? "text" : "true or false";
  throw new PinbenchError("usage", `${JSON.stringify(written)} is not ${allowed}.`);
}

function parseTime(text: string): number {
  const timeNs = parseDuration(text);
  if (timeNs > 0) return timeNs;
  throw new PinbenchError("usage", `"${text}" is not a time above 0.`);
}

/**
 * The distinct entries of a list such as "pinned,pageable" or ["pinned", "pageable"], in the order of `choices`.
 * Messages call them `what` ("memory kind"). Throws a usage error that lists the choices.
 */
export function parseChoices<Choice extends string>(
  written: List<Choice>,
  what: string,
  choices: readonly Choice[],
): Choice[] {
  const entries = listEntries(written);
  const known: readonly string[] = choices;
  const unknown = entries.find((entry) => !known.includes(entry));
  if (unknown !== undefined) {
    throw new PinbenchError("usage", `"${unknown}" is not a ${what}.`, {
      hint: hintOfChoices(String(unknown), choices),
    });
  }
  return inOrder(choices, entries);
}

/** A hint for a wrong name: the likely one, and all choices. */
function hintOfChoices(typed: string, choices: readonly string[]): string {
  const meant = nearestWord(typed, choices);
  const all = `Choose from ${choices.join(", ")}.`;
  if (typed === "" || typed.includes(" ")) return `A list has commas, and no spaces. ${all}`;
  return meant === null ? all : `Did you mean ${meant}? ${all}`;
}
