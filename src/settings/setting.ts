/**
 * How values of a setting are written. The command line gives text; a configuration or library caller gives `Written`.
 * `read` makes the value that pinbench uses.
 */
export interface Kind<Value, Written> {
  /** Its form in a configuration: one value, only text, a list, a name from `choices`, or true or false. */
  readonly form: "value" | "text" | "list" | "choice" | "switch";
  /** Completes "must be …" in messages. */
  readonly allowed: string;
  readonly choices?: readonly string[];
  /** The JSON type of its value, or with `isList` of the list's entries. */
  readonly json: {
    readonly type: "integer" | "number" | "boolean" | "string" | "object";
    /** Limits of a number, checked in documents too. */
    least?: number;
    most?: number;
    isList?: true;
    orWords?: readonly string[];
  };
  /** Throws a usage error for an invalid value. */
  read(written: Written): Value;
}

export interface Setting<Value, Written, Default> {
  /**
   * As in the help: "--sizes <list>", or "--wait [time]" for an optional value, whose default is the first choice. The
   * configuration and the library use only the name, `sizes`.
   */
  readonly flag: string;
  /** Ends with the default in brackets, if it has one. */
  readonly help: string;
  readonly kind: Kind<Value, Written>;
  readonly default: Default;
  /** For repeatable flags: adds a value to earlier ones; throws a usage error if they contradict. */
  readonly add?: (earlier: Default, value: Value) => Default;
  /** Help for the flag's form "--no-…", if it has one. */
  readonly helpOfNo?: string;
  /** Keys of the same table that may not be combined with it. */
  readonly excludes?: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds settings of all types, and its own type says which.
export type SettingTable = Readonly<Record<string, Setting<any, any, any>>>;

export type Values<Table extends SettingTable> = {
  -readonly [Key in keyof Table]: Table[Key] extends { add: unknown }
    ? Table[Key]["default"]
    : ReturnType<Table[Key]["kind"]["read"]> | Table[Key]["default"];
};

export type Requested<Table extends SettingTable> = Partial<Values<Table>>;

/** A flag's name in the configuration and the library: "--max-pinned <size>" is maxPinned. */
type OptionName<Flag extends string> = Flag extends `--no-${infer Name}`
  ? OptionName<`--${Name}`>
  : Flag extends `--${infer Name} <${string}>`
    ? CamelCase<Name>
    : Flag extends `--${infer Name}`
      ? CamelCase<Name>
      : never;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** A table's settings in a configuration or from a caller. */
export type Options<Table extends SettingTable> = {
  -readonly [Key in keyof Table as OptionName<Table[Key]["flag"]>]?: Parameters<
    Table[Key]["kind"]["read"]
  >[0];
};

/** The same at run time as OptionName: maxPinned. */
export function optionName(flag: string): string {
  const [name = ""] = flag.replace(/^--(no-)?/, "").split(" ");
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

type Details = "helpOfNo" | "excludes";

/** A setting that may be given once; its default is null unless `more` has one. */
export function setting<Value, Written, const Flag extends string, const Default extends Value | null = null>(
  flag: Flag,
  help: string,
  of: Kind<Value, Written>,
  more: { default?: Default } & Pick<Partial<Setting<Value, Written, Default>>, Details> = {},
): Setting<Value, Written, Default> & { readonly flag: Flag } {
  return { ...more, flag, help, kind: of, default: (more.default ?? null) as Default };
}

export function gathered<Value, Written, const Flag extends string, All>(
  flag: Flag,
  help: string,
  of: Kind<Value, Written>,
  none: All,
  add: (earlier: All, value: Value) => All,
) {
  return { flag, help, kind: of, default: none, add };
}

/** A repeatable setting, whose value is the list of all given values, in order. */
export function repeatable<Value, Written, const Flag extends string>(
  flag: Flag,
  help: string,
  of: Kind<Value, Written>,
) {
  return gathered(flag, help, of, [] as readonly Value[], (earlier, value) => [...earlier, value]);
}
