import { Command, type Option } from "commander";
import { commandSettings } from "../settings/command-settings.js";
import { cellSettings, judgingSettings, measuringSettings } from "../settings/table.js";

/* How the flags and the commands are laid out in help: in groups, the rare flags on demand. */

/** What `pinbench` alone and `pinbench --help` print. */
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
  show         saved results again
  report       saved results as a page of charts and tables
  devices      devices, links and limits
More: import, build, completion, --version, help COMMAND, terms or exit-codes
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

/** A flag with its short form, where it has one. */
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

/** The heading below which help lists a setting. */
export function groupOf(key: string): string {
  if (Object.hasOwn(cellSettings, key)) return groupTitles[0];
  if (Object.hasOwn(measuringSettings, key) || key === "processes") return groupTitles[1];
  return Object.hasOwn(judgingSettings, key) ? groupTitles[2] : groupTitles[3];
}

/** Flags of commands with the settings of `run` that few people need. */
const rareFlags = new Set(
  (
    [
      ...([
        "backend",
        "timers",
        "caches",
        "workerKinds",
        "pipelineChunks",
        "blockCounts",
        "blockWays",
        "blockSms",
        "cells",
      ] as const),
      ...([
        "stagingChunkBytes",
        "stagingSlots",
        "verify",
        "seed",
        "maxPinnedBytes",
        "lastLevelCacheBytes",
      ] as const),
      ...(["numa", "labels", "wait", "waitAtMostNs", "config", "progress", "ids", "plain", "ascii"] as const),
      ...(["color", "debug"] as const),
    ] as const
  ).map((key) => commandSettings.run[key].flag.split(" ")[0]!.replace(/^--(no-)?/, "")),
);

let showsRare = false;

/** From now on help lists rare flags too. */
export function showRareFlags(): void {
  showsRare = true;
}

/** A command's help, without its rare flags unless they were asked for. */
export function helpOf(
  command: Command,
  name: string,
  context: Parameters<Command["helpInformation"]>[0],
): string {
  const rare =
    showsRare || !Object.hasOwn(commandSettings[name as "run"] ?? {}, "sizesBytes")
      ? []
      : command.options.filter(isRare);
  for (const option of rare) option.hidden = true;
  const text = Command.prototype.helpInformation.call(command, context);
  for (const option of rare) option.hidden = false;
  return rare.length === 0 ? text : `${text}\n${rare.length} rare flags: pinbench help ${name} --all\n`;
}

function isRare({ long }: Option): boolean {
  return long === "--no-together" || rareFlags.has((long ?? "").replace(/^--(no-)?/, ""));
}
