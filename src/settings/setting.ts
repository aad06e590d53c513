/**
 * How the values of a setting are written, by whomever: the command line gives text, a configuration and a caller of the
 * library give what `Given` says, and `read` makes the value that pinbench works with.
 */
export interface Kind<Value, Given> {
  /** What a configuration may hold: one value, text alone, a list, a name of `choices`, or true and false. */
  readonly form: "value" | "text" | "list" | "choice" | "switch";
  /** Completes "must be …" in messages. */
  readonly allowed: string;
  readonly choices?: readonly string[];
  /** What its value is in JSON: a list of that where `isList`; or else this word. */
  readonly json: {
    readonly type: "integer" | "number" | "boolean" | "string" | "object";
    isList?: true;
    orWord?: string;
  };
  /** Throws a usage error for what makes no sense. */
  read(given: Given): Value;
}

/** One setting: its flag, how it is written and read, what it is where nobody says, its bounds and its line of help. */
export interface Setting<Value, Given, Default> {
  /**
   * As help shows it: "--sizes <list>", or "--verify [copies]" for a switch that may have a value. The configuration and
   * the library call it by its name alone, `sizes`.
   */
  readonly flag: string;
  readonly help: string;
  readonly kind: Kind<Value, Given>;
  readonly default: Default;
  /** Help shows the default; elsewhere its text says it, or there is none. */
  readonly showsDefault?: true;
  /** May be given several times; its value is an array. */
  readonly isRepeatable?: true;
  /** Help for "--no-…", where a switch can be turned off as well as on. */
  readonly helpOfNo?: string;
  readonly bounds?: Bounds;
  /** Keys of the same table that cannot be given beside it. */
  readonly excludes?: readonly string[];
}

/** Between which figures a value makes sense, and in which words a message says so. */
export interface Bounds {
  name: string;
  least: number;
  most: number;
  /** "from 2 to 64". */
  allowed: string;
  isWhole: boolean;
  /** How a value is written in a message; as a plain number if absent. */
  format?: (value: number) => string;
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds settings of all types, and its own type says which.
export type SettingTable = Readonly<Record<string, Setting<any, any, any>>>;

/** What each setting of a table comes to once it is filled. */
export type Values<Table extends SettingTable> = {
  -readonly [Key in keyof Table]: Table[Key] extends { isRepeatable: true }
    ? Table[Key]["default"]
    : ReturnType<Table[Key]["kind"]["read"]> | Table[Key]["default"];
};

/** The settings of a table that somebody gave. */
export type Given<Table extends SettingTable> = Partial<Values<Table>>;

/** The name of a flag in the configuration and the library: "--staging-chunk <size>" is stagingChunk. */
export type OptionName<Flag extends string> = Flag extends `--no-${infer Name}`
  ? OptionName<`--${Name}`>
  : Flag extends `--${infer Name} <${string}>`
    ? CamelCase<Name>
    : Flag extends `--${infer Name} [${string}]`
      ? CamelCase<Name>
      : Flag extends `--${infer Name}`
        ? CamelCase<Name>
        : never;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** A table's settings as a configuration or a caller writes them. */
export type Options<Table extends SettingTable> = {
  -readonly [Key in keyof Table as OptionName<Table[Key]["flag"]>]?: Parameters<
    Table[Key]["kind"]["read"]
  >[0];
};

/** A flag's name in the configuration and the library, as OptionName has it: stagingChunk. */
export function optionName(flag: string): string {
  const [name = ""] = flag.replace(/^--(no-)?/, "").split(" ");
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

type Details = "showsDefault" | "helpOfNo" | "bounds" | "excludes";

/** A setting that is given once; null where nobody says, unless it has a default. */
export function setting<Value, Given, const Flag extends string, const Default extends Value | null = null>(
  flag: Flag,
  help: string,
  of: Kind<Value, Given>,
  more: { default?: Default } & Pick<Partial<Setting<Value, Given, Default>>, Details> = {},
): Setting<Value, Given, Default> & { readonly flag: Flag } {
  return { ...more, flag, help, kind: of, default: (more.default ?? null) as Default };
}

/** One that may be given several times; its value has all of them, in their order. */
export function repeatable<Value, Given, const Flag extends string>(
  flag: Flag,
  help: string,
  of: Kind<Value, Given>,
  more: Pick<Partial<Setting<Value, Given, Value[]>>, Details> = {},
): Setting<Value, Given, readonly Value[]> & { readonly flag: Flag; readonly isRepeatable: true } {
  return { ...more, flag, help, kind: of, default: [], isRepeatable: true };
}
