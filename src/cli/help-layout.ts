import { Command, Option } from "commander";
import { PinbenchError } from "../errors.js";
import { commandSettings } from "../settings/command-settings.js";
import { optionName, type SettingTable } from "../settings/setting.js";
import { cellSettings, judgingSettings, measuringSettings } from "../settings/table.js";

/* How the flags and the commands are laid out in help: in groups, the rare flags on demand. */

/** Output of `pinbench` alone and of `pinbench --help`. */
export const overview = `Usage: pinbench <command> [flags]

How fast data moves between host memory and a GPU. Most wanted:
  run          measure copies, pageable and pinned, in GB/s
  tune         find num_workers and more for a training job's DataLoader
  check        in CI: exit with 1 if the machine got slower
Measure:
  baseline     measure in several fresh processes, to check against
  pin          what pinned memory costs, and code for the best way
  doctor       why this machine copies slower than others of its kind
Decide:
  compare      two results, cell by cell
  explain      what pinned memory does, by experiments on this machine
Watch:
  history      the course of past checks: steps and drifts
  fleet        which of many nodes and GPUs are slower than those like them
Show:
  show         saved results again, or as a page of charts
  devices      devices, links and limits
More: import, completion, --version, help COMMAND, terms or exit-codes
`;

export const exitCodesText = `Exit codes:
  0    done
  1    something is slower than it was, or than it should be
  2    wrong usage or configuration
  3    no such backend or device
  4    a measurement failed, data came back wrong, or nothing can be concluded
  5    not comparable
  6    inconclusive, under --strict
  129  hung up
  130  interrupted
  143  terminated
`;

const shortFlags: Readonly<Record<string, string>> = {
  "--output": "-o",
  "--quiet": "-q",
  "--format": "-f",
  "--sizes": "-s",
  "--workers": "-w",
  "--memory": "-m",
  "--samples": "-n",
};

/** A flag with its short form, if it has one. */
export function withShort(flag: string): string {
  const short = shortFlags[flag.split(" ")[0]!];
  return short === undefined ? flag : `${short}, ${flag}`;
}

const groupTitles = [
  "What to measure:",
  "How to measure it:",
  "How to judge:",
  "Command and output:",
] as const;

/** The heading for a setting in the help. */
export function headingOf(key: string): string {
  if (Object.hasOwn(cellSettings, key)) return groupTitles[0];
  if (Object.hasOwn(measuringSettings, key) || key === "runs") return groupTitles[1];
  return Object.hasOwn(judgingSettings, key) ? groupTitles[2] : groupTitles[3];
}

/** Flags of commands with the settings of `run` that few people need. */
const rareFlags = new Set(
  (
    [
      ...(["backend", "timers", "caches", "workerKinds", "pipelineChunks", "cells"] as const),
      ...(["verify", "maxPinnedBytes", "lastLevelCacheBytes"] as const),
      ...(["numa", "labels", "wait", "waitAtMostNs", "config"] as const),
    ] as const
  ).map((key) => commandSettings.run[key].flag.split(" ")[0]!.replace(/^--(no-)?/, "")),
);

const showingRare = new WeakSet<Command>();

/** After this call, the command's help also lists rare flags. */
export function showRareFlags(command: Command): void {
  showingRare.add(command);
}

/** A command's help, without rare flags unless showRareFlags() was called for it. */
export function helpOf(
  command: Command,
  name: string,
  context: Parameters<Command["helpInformation"]>[0],
): string {
  const rare =
    showingRare.has(command) || !Object.hasOwn(commandSettings[name as "run"] ?? {}, "sizesBytes")
      ? []
      : command.options.filter(isRare);
  for (const option of rare) option.hidden = true;
  const text = Command.prototype.helpInformation.call(command, context);
  for (const option of rare) option.hidden = false;
  return rare.length === 0 ? text : `${text}\n${rare.length} rare flags: pinbench help ${name} --all\n`;
}

function isRare({ long }: Option): boolean {
  return rareFlags.has((long ?? "").replace(/^--(no-)?/, ""));
}

/** The flags of the commands for commander, and errors for unknown words. */

/** The flag of a setting, and the flag that turns it off, if there is one. */
export function optionsOf(setting: SettingTable[string], table: SettingTable): Option[] {
  const { flag, help, kind, showsDefault, helpOfNo, excludes = [] } = setting;
  const option = new Option(withShort(flag), help).conflicts(
    excludes.map((key) => optionName(table[key]!.flag)),
  );
  if (kind.form === "choice") option.choices(kind.choices ?? []);
  else if (kind.form !== "switch") option.argParser(parserOf(setting));
  if (showsDefault) option.default(setting.default);
  if (helpOfNo === undefined) return [option];
  return [option, new Option(`--no-${flag.slice(2).split(" ")[0]}`, helpOfNo)];
}

function parserOf({ kind, add, default: none }: SettingTable[string]) {
  const parse = (text: string, previous: unknown) =>
    add === undefined ? kind.read(text) : add(previous ?? none, kind.read(text));
  // Completion offers the choices within a list, and a repeatable flag again.
  return Object.assign(parse, { choices: kind.choices, isRepeatable: add !== undefined });
}

/** Throws a usage error for a flag of `fleet` before `run`: it would be read and then ignored. */
export function refuseFlagsAbove({ parent }: Command, name: string): void {
  const stray = parent?.options.find((one) => parent.getOptionValueSource(one.attributeName()) === "cli");
  if (stray?.long == null) return;
  throw new PinbenchError("usage", `${stray.long} must follow its command.`, {
    hint: `Write it after pinbench ${name}.`,
  });
}

/** The error for a word that is no flag and no argument of the command. */
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
