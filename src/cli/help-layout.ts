import { Command, Option } from "commander";
import { type CommandName, commandSettings, outputSettings } from "../settings/command-settings.js";
import { documentFormats } from "../settings/document-formats.js";
import { optionName, type Setting, type SettingTable } from "../settings/setting.js";
import { cellSettings, judgingSettings, measuringSettings } from "../settings/table.js";
import { withShort } from "./command-flags.js";
import { columnsOf } from "./output/terminal.js";

/* The texts of help: -h has the flags that people use, --help has all, and output flags have a topic of their own. */

export const overview = `Usage: pinbench <command> [flags]

Measure how fast data moves between RAM and an NVIDIA GPU. Common commands:
  run          measure copies, pageable and pinned, in GB/s
  tune         find num_workers and more for a training job's DataLoader
  doctor       find out why this machine is slow
  check        in CI: exit with 1 if the machine got slower
  trace        find which copies of a program are pageable
More commands:
  baseline     measure in several fresh processes, to check against
  compare      compare two results, cell by cell
  history      show the trend of past checks
  pin          measure what pinned memory costs, and print code to allocate it
  explain      test claims about pinned memory on this machine
  fleet        find slow nodes and GPUs in a cluster
  show         print saved results again, or draw them as a page of charts
  devices      list devices, links and limits

Help: pinbench COMMAND -h; pinbench help COMMAND, terms, output or exit-codes
`;

export const exitCodesText = `Exit codes:
  0    done
  1    something is slower than it was, or than it should be
  2    wrong usage or configuration
  3    no such backend or device
  4    a measurement failed, a deadline passed, or nothing can be concluded
  5    not comparable
  6    undecided: too noisy to tell
  7    data came back wrong: take the machine out of use
  129  hung up
  130  interrupted
  143  terminated
`;

/** For completion: help texts do not list -h and --help. */
const helpOption = () => new Option("-h, --help", "-h: the usual flags; --help: all flags");

/**
 * Makes `command` print our help: the usual flags and two examples with -h (`isBrief`), otherwise all. `help` follows
 * the flags: an optional paragraph, and "Examples:" with one line each.
 */
export function setHelp(
  command: Command,
  name: string,
  { help, usual, isBrief }: { help: string; usual: readonly string[]; isBrief: boolean },
): void {
  const own = helpOption();
  command.addHelpOption(own);
  const table: SettingTable = { ...commandSettings[name as CommandName] };
  const keyOf = (option: Option) =>
    Object.keys(table).find((key) => optionName(table[key]!.flag) === option.attributeName())!;
  const isShown = (option: Option) => {
    const key = keyOf(option);
    if (!isBrief) return !isOutput(key, table[key]!);
    return usual.includes(key) && option.negate === table[key]!.flag.startsWith("--no-");
  };
  command.helpInformation = (context) => {
    own.hidden = true;
    for (const option of command.options) {
      option.hidden = !isShown(option);
      option.helpGroup(isBrief || !isMeasuring(table) ? "Flags:" : headingOf(keyOf(option)));
    }
    const flags = Command.prototype.helpInformation.call(command, context);
    for (const option of [own, ...command.options]) option.hidden = false;
    const [intro = "", examples = ""] = help.trim().split(/^Examples:\n/m);
    const lines = examples.split("\n");
    const inLines = (text: string) => command.createHelp().boxWrap(text.trim(), helpColumns());
    const parts = isBrief
      ? [exampleText(lines.slice(0, 2)), `All flags: pinbench ${name} --help`]
      : [inLines(outputLine(table)), inLines(intro), exampleText(lines)];
    return [flags, ...parts.filter(Boolean).map((part) => `${part}\n`)].join("\n");
  };
}

const exampleLine = /^ {2}(\S.*?) {2,}(\S.*)$/;

/** Commands in one column and descriptions in the next; a description goes below if the line would be too long. */
function exampleText(lines: readonly string[]): string {
  if (lines.join("") === "") return "";
  const parts = lines.map((line) => exampleLine.exec(line)?.slice(1) ?? [line.trim()]);
  const width = Math.max(...parts.map(([command = "", what]) => (what === undefined ? 0 : command.length)));
  const aligned = parts.map(([command = "", what]) =>
    what === undefined ? `  ${command}` : `  ${command.padEnd(width)}  ${what}`,
  );
  const isWide = aligned.some((line, i) => parts[i]!.length > 1 && line.length > helpColumns());
  const below = parts.map((part) => `  ${part.join("\n      ")}`);
  return ["Examples:", ...(isWide ? below : aligned)].join("\n");
}

const isMeasuring = (table: SettingTable) => "sizesBytes" in table || "confirmAfterNs" in table;

const groupTitles = ["What to measure:", "How to measure it:", "How to judge:", "Other:"] as const;

function headingOf(key: string): string {
  if (Object.hasOwn(cellSettings, key)) return groupTitles[0];
  if (Object.hasOwn(measuringSettings, key) || key === "runs") return groupTitles[1];
  return Object.hasOwn(judgingSettings, key) ? groupTitles[2] : groupTitles[3];
}

function isOutput(key: string, setting: SettingTable[string]): boolean {
  return (outputSettings as SettingTable)[key]?.help === setting.help;
}

function outputLine(table: SettingTable): string {
  const flags = Object.entries(table).filter(([key, setting]) => isOutput(key, setting));
  if (flags.length === 0) return "";
  const names = flags.map(([, { flag }]) => withShort(flag).replace(/ <.*/, ""));
  return `Output flags (pinbench help output): ${names.join(", ").replaceAll(/(-\w), (--)/g, "$1/$2")}`;
}

export function outputText(): string {
  const flags = Object.values(outputSettings as SettingTable).map(({ flag, help }) => [
    withShort(flag),
    help,
  ]);
  const formats = Object.entries(commandSettings).flatMap(([name, table]: [string, SettingTable]) => {
    const choices = (table.format as Setting<unknown, unknown, unknown> | undefined)?.kind.choices ?? [];
    return choices.length === 0 ? [] : [[name, choices.join(" ")]];
  });
  const extensions = new Map(
    Object.values(documentFormats).flatMap((one) => Object.entries(one) as [string, string | null][]),
  );
  const files = [...extensions].flatMap(([format, extension]) =>
    extension === null ? [] : [[extension, format === "svg" ? "the first chart" : format]],
  );
  const rows = (lines: readonly (readonly string[])[]) =>
    lines.map(([left = "", right]) => `  ${left.padEnd(20)}  ${right}\n`).join("");
  return `Output flags, the same for all commands. --output can be repeated.
${rows(flags)}
Choices of --format:
${rows(formats)}
Extensions of --output:
${rows(files)}`;
}

/** The screen's width; a default for pipes. */
export function helpColumns(): number {
  return columnsOf(process.stdout, usualHelpColumns);
}

const usualHelpColumns = 80;
