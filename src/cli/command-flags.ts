import { type Command, Option } from "commander";
import { PinbenchError } from "../errors.js";
import { commandSettings } from "../settings/command-settings.js";
import { optionName, type SettingTable } from "../settings/setting.js";

const shortFlags: Readonly<Record<string, string>> = {
  "--output": "-o",
  "--quiet": "-q",
  "--format": "-f",
  "--sizes": "-s",
  "--workers": "-w",
  "--memory": "-m",
  "--samples": "-n",
};

export function withShort(flag: string): string {
  const short = shortFlags[flag.split(" ")[0]!];
  return short === undefined ? flag : `${short}, ${flag}`;
}

export function optionsOf(setting: SettingTable[string], table: SettingTable): Option[] {
  const { flag, help, kind, helpOfNo, excludes = [] } = setting;
  const option = new Option(withShort(flag), help).conflicts(
    excludes.map((key) => optionName(table[key]!.flag)),
  );
  if (kind.form === "choice") option.choices(kind.choices ?? []);
  else if (kind.form !== "switch") option.argParser(parserOf(setting));
  if (helpOfNo === undefined) return [option];
  return [option, new Option(`--no-${flag.slice(2).split(" ")[0]}`, helpOfNo)];
}

function parserOf({ kind, add, default: none }: SettingTable[string]) {
  const parse = (text: string, previous: unknown) =>
    add === undefined ? kind.read(text) : add(previous ?? none, kind.read(text));
  // Completion offers the choices within a list, and a repeatable flag again.
  return Object.assign(parse, { choices: kind.choices, isRepeatable: add !== undefined });
}

const withOptionalValue = Object.values<SettingTable[string]>(commandSettings.run).filter(({ flag }) =>
  flag.endsWith("]"),
);

/**
 * Adds the first choice to a flag with an optional value if the next word is not such a value. Otherwise commander
 * would take a following folder as the value. Arguments after `--` are left alone.
 */
export function spelledOut(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  return argv.map((word, i) => {
    const kind = withOptionalValue.find(({ flag }) => flag.startsWith(`${word} [`))?.kind;
    const isAlone = kind !== undefined && (end < 0 || i < end) && !isValueOf(kind, argv[i + 1]);
    return isAlone ? `${word}=${kind.choices![0]}` : word;
  });
}

function isValueOf({ read }: SettingTable[string]["kind"], word: string | undefined): boolean {
  if (word === undefined) return false;
  try {
    read(word);
    return true;
  } catch {
    return false;
  }
}

/** Throws a usage error for a flag between `fleet` and `run`, which would have no effect. */
export function refuseFlagsAbove({ parent }: Command, name: string): void {
  const stray = parent?.options.find((one) => parent.getOptionValueSource(one.attributeName()) === "cli");
  if (stray?.long == null) return;
  throw new PinbenchError("usage", `${stray.long} must follow its command.`, {
    hint: `Write it after pinbench ${name}.`,
  });
}

export function tooMany(word: string, command: string): PinbenchError {
  const hint =
    command === "check" ? `Name the baseline with --baseline ${word}.` : `See pinbench ${command} --help.`;
  return new PinbenchError("usage", `too many arguments: pinbench ${command} has no place for "${word}".`, {
    hint,
  });
}
