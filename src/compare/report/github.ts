import { groupName } from "../compared-names.js";
import { type Comparison, isFailing, isOpen, outcomeExitCodes } from "../comparison.js";
import { describeOutcome } from "./outcome.js";

type Level = "error" | "warning" | "notice";

/** GitHub shows at most ten commands of a level per step. */
const mostCommands = 9;

/**
 * Workflow commands, one per line: the outcome (an error if the step fails), an error for each failing or
 * undecided group and a warning for each missing one. The table for the job's log follows.
 */
export function githubReport(comparison: Comparison, table: string): string {
  const { groups, rule, outcome, unfinished = [], notes, notice } = comparison;
  const text = [describeOutcome(comparison), ...unfinished, ...notes].join("\n");
  const failing = groups.filter((group) => isFailing(group) || isOpen(group, rule));
  const commands = [
    ...(notice === null ? [] : [command("notice", "pinbench", notice)]),
    command(outcomeExitCodes[outcome] === 0 ? "notice" : "error", `pinbench ${comparison.command}`, text),
    ...failing.map((group) =>
      command("error", `pinbench: ${group.verdict}`, `${groupName(group, groups)}: ${group.reason}`),
    ),
    ...groups
      .filter((group) => group.verdict === "missing" && !failing.includes(group))
      .map((group) =>
        command("warning", "pinbench: missing", `${groupName(group, groups)}: ${group.reason}`),
      ),
  ].slice(0, mostCommands);
  return [...commands, "\n", withoutCommands(table)].join("");
}

function withoutCommands(text: string): string {
  return text.replaceAll(/^(\s*):(?=:)/gm, "$1: ").replaceAll("##[", "## [");
}

function command(level: Level, title: string, message: string): string {
  return `::${level} title=${escapeProperty(title)}::${escapeData(message)}\n`;
}

/** A line break would end the command. The percent sign comes first, because the other codes contain one. */
function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
