import { PinbenchError } from "../errors.js";
import { isObject } from "../text-file.js";
import { nearestWord } from "./choices.js";
import {
  type Bounds,
  type Given,
  type Kind,
  type Options,
  optionName,
  type SettingTable,
  type Values,
} from "./setting.js";
import { blockKeys, type Origin, type RunSettings, runSettings, saidByCellIds } from "./table.js";

/** When a command or a function was called, and with which arguments: a document says so of the call that made it. */
export interface Call {
  argv: readonly string[];
  startedAt: Date;
  /** The same moment on the steady clock (performance.now): a clock that is set back makes no run shorter. */
  startedMs: number;
}

/** A call that is made now. */
export function callNow(argv: readonly string[] = []): Call {
  return { argv, startedAt: new Date(), startedMs: performance.now() };
}

/** What one of the three ways of giving settings gave. */
export interface Source {
  origin: Origin;
  given: Given<typeof runSettings>;
}

/** What nobody said. */
export function defaultsOf<Table extends SettingTable>(table: Table): Values<Table> {
  return Object.fromEntries(
    Object.entries(table).map(([key, setting]) => [key, setting.default]),
  ) as Values<Table>;
}

/**
 * A run's settings from what was given: later sources win over earlier ones, and all win over the defaults. `cells` wins
 * over all that the ids say themselves, but which devices a configuration names. Throws a usage error for a figure out
 * of its bounds.
 */
export function fillRunSettings(...sources: readonly Source[]): RunSettings {
  const settings: RunSettings = { ...defaultsOf(runSettings), origins: {} };
  for (const source of sources) put(settings, source);
  if (settings.cells !== null) {
    forget(
      settings,
      saidByCellIds.filter((key) => key !== "devices"),
    );
  }
  checkBounds(runSettings, settings);
  return settings;
}

/**
 * Settings of an earlier run, with what is given now in their place. A precision or a budget that is given says when a
 * cell has been measured enough, which a fixed count of samples of that run would leave without effect.
 */
export function overrideSettings(earlier: RunSettings, source: Source): RunSettings {
  const { given } = source;
  const isStoppingGiven = given.precision !== undefined || given.budgetNs !== undefined;
  const samplesPerCell = isStoppingGiven ? null : earlier.samplesPerCell;
  const settings = { ...earlier, samplesPerCell, origins: { ...earlier.origins } };
  if (isStoppingGiven) delete settings.origins.samplesPerCell;
  put(settings, source);
  checkBounds(runSettings, settings);
  return settings;
}

function forget(settings: RunSettings, keys: readonly (keyof typeof runSettings)[]): void {
  for (const key of keys) {
    Object.assign(settings, { [key]: runSettings[key].default });
    delete settings.origins[key];
  }
}

/** Takes over what a source gave of a run's settings; a command gives others beside them. */
function put(settings: RunSettings, { origin, given }: Source): void {
  // Blocks say what sizes are: whichever came later holds, and both of one source are for the plan to refuse.
  if (given.blockSizesBytes != null) forget(settings, ["sizesBytes"]);
  if (given.sizesBytes != null) forget(settings, blockKeys);
  for (const key of Object.keys(given).filter((key) => key in runSettings)) {
    Object.assign(settings, { [key]: given[key as keyof typeof given] });
    settings.origins[key as keyof typeof runSettings] = origin;
  }
}

/**
 * What a caller wrote, read by each setting's own kind; keys without a value are as good as none. Throws a usage error
 * for what makes no sense, and for a key that is no option.
 */
export function readOptions<Table extends SettingTable>(table: Table, options: Options<Table>): Given<Table> {
  const keyOf = new Map(Object.entries(table).map(([key, { flag }]) => [optionName(flag), key]));
  const given: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    const key = keyOf.get(name);
    if (key === undefined) throw unknownOption(name, [...keyOf.keys()]);
    if (value !== undefined) given[key] = readGiven(name, table[key]!.kind, value);
  }
  return given as Given<Table>;
}

/** A usage error for an option that there is none of, with the one that was likely meant. */
export function unknownOption(name: string, known: readonly string[]): PinbenchError {
  const meant = nearestWord(name, known);
  return new PinbenchError("usage", `There is no option ${name}.`, {
    hint: meant === null ? `The options are ${known.join(", ")}.` : `Did you mean ${meant}?`,
  });
}

/** What a caller, who may have no types, wrote for an option. Throws a usage error for what makes no sense. */
export function readGiven<Value, Given>(name: string, kind: Kind<Value, Given>, value: Given): Value {
  const { form, json, allowed } = kind;
  if (Array.isArray(value)) {
    if (form === "list" && value.every(isPlain)) return kind.read(value);
  } else if (isObject(value) ? json.type === "object" : isPlain(value)) return kind.read(value);
  throw new PinbenchError("usage", `The option ${name} must be ${allowed}.`);
}

/** Whether it can be told in a message, as it is written. */
function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value) || value === null;
}

function checkBounds(table: SettingTable, values: Readonly<Record<string, unknown>>): void {
  for (const [key, { bounds }] of Object.entries(table)) {
    const value = values[key];
    if (bounds !== undefined && value !== null) checkFigure(bounds, value as number);
  }
}

function checkFigure({ name, least, most, allowed, isWhole, format = String }: Bounds, value: number): void {
  if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return;
  throw new PinbenchError(
    "usage",
    `The ${name} cannot be ${format(value)}: it is ${isWhole ? "a whole number " : ""}${allowed}.`,
  );
}
