import { PinbenchError } from "../errors.js";
import { nearestWord } from "./choices.js";
import {
  type Kind,
  type Options,
  optionName,
  type Requested,
  type SettingTable,
  type Values,
} from "./setting.js";
import { type Origin, type RunSettings, runSettings, settingsInCellIds } from "./table.js";

export interface Call {
  argv: readonly string[];
  startedAt: Date;
  /** The same moment on the steady clock (performance.now), so that changing the clock does not affect a run. */
  startedMs: number;
}

export function callNow(argv: readonly string[] = []): Call {
  return { argv, startedAt: new Date(), startedMs: performance.now() };
}

export interface Source {
  origin: Origin;
  values: Requested<typeof runSettings>;
}

export function defaultsOf<Table extends SettingTable>(table: Table): Values<Table> {
  return Object.fromEntries(
    Object.entries(table).map(([key, setting]) => [key, setting.default]),
  ) as Values<Table>;
}

/**
 * A run's settings: later sources override earlier ones, and all override the defaults. `cells` overrides everything
 * that ids contain, except devices from a configuration.
 */
export function fillRunSettings(...sources: readonly Source[]): RunSettings {
  const settings: RunSettings = { ...defaultsOf(runSettings), origins: {} };
  for (const source of sources) override(settings, source);
  if (settings.cells !== null) {
    reset(
      settings,
      settingsInCellIds.filter((key) => key !== "devices"),
    );
  }
  return settings;
}

/**
 * An earlier run's settings, overridden by requested ones. A requested precision or budget also removes a fixed number
 * of samples, which would leave it without effect.
 */
export function overrideSettings(earlier: RunSettings, source: Source): RunSettings {
  const { values } = source;
  const isStoppingRequested = values.precision !== undefined || values.budgetNs !== undefined;
  const samplesPerCell = isStoppingRequested ? null : earlier.samplesPerCell;
  const settings = { ...earlier, samplesPerCell, origins: { ...earlier.origins } };
  if (isStoppingRequested) delete settings.origins.samplesPerCell;
  override(settings, source);
  return settings;
}

function reset(settings: RunSettings, keys: readonly (keyof typeof runSettings)[]): void {
  for (const key of keys) {
    Object.assign(settings, { [key]: runSettings[key].default });
    delete settings.origins[key];
  }
}

function override(settings: RunSettings, { origin, values }: Source): void {
  // --blocks and --sizes exclude each other, so the later source wins. plan() refuses both in one source.
  if (values.blockSizesBytes != null) reset(settings, ["sizesBytes"]);
  if (values.sizesBytes != null) reset(settings, ["blockSizesBytes"]);
  for (const key of Object.keys(values).filter((key) => key in runSettings)) {
    Object.assign(settings, { [key]: values[key as keyof typeof values] });
    settings.origins[key as keyof typeof runSettings] = origin;
  }
}

/**
 * A caller's options, parsed by each setting's kind; keys without a value count as missing. Throws a usage error for an
 * invalid value or an unknown option.
 */
export function readOptions<Table extends SettingTable>(
  table: Table,
  options: Options<Table>,
): Requested<Table> {
  const keyOf = new Map(Object.entries(table).map(([key, { flag }]) => [optionName(flag), key]));
  const requested: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    const key = keyOf.get(name);
    if (key === undefined) throw unknownOption(name, [...keyOf.keys()]);
    if (value !== undefined) requested[key] = readValue(name, table[key]!.kind, value);
  }
  return requested as Requested<Table>;
}

export function unknownOption(name: string, known: readonly string[]): PinbenchError {
  const meant = nearestWord(name, known);
  return new PinbenchError("usage", `There is no option ${name}.`, {
    hint: meant === null ? `The options are ${known.join(", ")}.` : `Did you mean ${meant}?`,
  });
}

/** Parses an option's value, which may have any type in JavaScript. Throws a usage error if it is invalid. */
export function readValue<Value, Written>(name: string, kind: Kind<Value, Written>, value: Written): Value {
  const { form, allowed } = kind;
  if (Array.isArray(value)) {
    if (form === "list" && value.every(isPlain)) return kind.read(value);
  } else if (isPlain(value)) return kind.read(value);
  throw new PinbenchError("usage", `The option ${name} must be ${allowed}.`);
}

/** Whether a message can show the value as written. */
function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value) || value === null;
}
