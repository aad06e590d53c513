import { type Command, Option } from "commander";
import { PinbenchError } from "../errors.js";
import { commandSettings } from "../settings/command-settings.js";
import { optionName, type Setting, type SettingTable } from "../settings/setting.js";
import { withShort } from "./help-layout.js";

/** The flags of the commands as commander knows them, and what is said of words that are none. */

/** The flag of a setting, and the flag that turns it off again where there is one. */
export function optionsOf(setting: SettingTable[string], table: SettingTable): Option[] {
  const { flag, help, kind, showsDefault, isRepeatable, helpOfNo, excludes = [] } = setting;
  const option = new Option(withShort(flag), help).conflicts(
    excludes.map((key) => optionName(table[key]!.flag)),
  );
  if (kind.form === "choice") option.choices(kind.choices ?? []);
  else if (kind.form !== "switch" || option.optional) option.argParser(parserOf(kind, isRepeatable));
  if (showsDefault) option.default(setting.default);
  if (helpOfNo === undefined) return [option];
  return [option, new Option(`--no-${flag.slice(2).split(" ")[0]}`, helpOfNo)];
}

function parserOf({ read, choices }: Setting<unknown, string, unknown>["kind"], isRepeatable = false) {
  const parse = (text: string, previous: unknown) =>
    isRepeatable ? [...((previous as unknown[] | undefined) ?? []), read(text)] : read(text);
  // Completion asks for what may stand in a list.
  return Object.assign(parse, { choices });
}

/**
 * Arguments in which a switch that may have a value, and stands without one, says so: else commander would take a folder
 * that follows it for its value. What stands after `--` is another program's.
 */
export function spelledOut(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  const { flag, kind } = commandSettings.run.verify;
  const [name] = flag.split(" ");
  return argv.map((word, i) => {
    const isAlone = word === name && (end < 0 || i < end) && !kind.choices?.includes(argv[i + 1] ?? "");
    return isAlone ? `${word}=last` : word;
  });
}

/** Throws a usage error for a flag of `fleet` that stands before `run`: it would be read and then forgotten. */
export function refuseFlagsAbove({ parent }: Command, name: string): void {
  const stray = parent?.options.find((one) => parent.getOptionValueSource(one.attributeName()) === "cli");
  if (stray?.long == null) return;
  throw new PinbenchError("usage", `${stray.long} must follow its command.`, {
    hint: `Write it after pinbench ${name}.`,
  });
}

/** The error for a word that is no flag, and for which the command has no place. */
export function tooMany(word: string, command: string, table: SettingTable): PinbenchError {
  const argv = process.argv.slice(2);
  const flags = Object.values(table).map((setting) => ({ ...setting, name: setting.flag.split(" ")[0]! }));
  const place = argv.indexOf(word);
  const from = argv.findLastIndex((one, i) => i < place && one.startsWith("-"));
  const list = flags.find(({ name, kind }) => kind.form === "list" && name === argv[from]);
  const after = argv.findIndex((one, i) => i > place && one.startsWith("-"));
  const entries = argv.slice(from + 1, after < 0 ? undefined : after).map((one) => one.replace(/,$/, ""));
  const hint =
    list !== undefined
      ? `A list has commas, and no spaces: ${list.name} ${entries.join(",")}.`
      : command === "check"
        ? `Name the baseline with --baseline ${word}.`
        : `See pinbench ${command} --help.`;
  return new PinbenchError("usage", `too many arguments: pinbench ${command} has no place for "${word}".`, {
    hint,
  });
}
