import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inRoot } from "./project.mjs";

/**
 * Writes the manual page from the table of commands in `dist`, with exactly the content of --help. It has
 * no date, so that the same sources make the same page.
 */
export async function writeManPage(dist, target) {
  const { createProgram } = await import(join(dist, "cli/commands.js"));
  const { exitCodesText, showRareFlags } = await import(join(dist, "cli/help-layout.js"));
  const { version } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const program = createProgram(() => undefined);
  const helper = program.createHelp();
  const commands = helper.visibleCommands(program).flatMap((command) => [command, ...command.commands]);
  for (const command of commands) showRareFlags(command);
  const codes = exitCodesText.split("\n").flatMap((line) => {
    const [, code, meaning] = /^ +(\d+) +(.*)$/.exec(line) ?? [];
    return code === undefined ? [] : [".TP", roff(code), roff(meaning)];
  });
  const lines = [
    `.TH PINBENCH 1 "" "pinbench ${version}" "User Commands"`,
    // Names of files and flags are not to be hyphenated, and short lines not stretched.
    ".nh",
    ".ad l",
    ".SH NAME",
    "pinbench \\- host\\-to\\-GPU transfer benchmark",
    ".SH SYNOPSIS",
    ".B pinbench",
    "command [flags]",
    ".SH DESCRIPTION",
    roff(program.description()),
    ".SH COMMANDS",
    ...commands.flatMap((command) => sectionOf(command, helper)),
    ".SH EXIT STATUS",
    ...codes,
  ];
  writeFileSync(target, `${lines.join("\n")}\n`);
}

function sectionOf(command, helper) {
  const above = command.parent?.parent == null ? "" : `${command.parent.name()} `;
  const usage = helper.commandUsage(command).replace(/^pinbench /, "");
  return [
    `.SS "${roff(above + command.name())}"`,
    ".B pinbench",
    roff(usage),
    ".br",
    roff(helper.subcommandDescription(command)),
    ...helper
      .visibleOptions(command)
      .flatMap((option) => [
        ".TP",
        `.B ${roff(helper.optionTerm(option))}`,
        roff(helper.optionDescription(option)),
      ]),
  ];
}

/** Escapes a line of text: its backslashes, hyphens, dots and quotes mean nothing to roff. */
function roff(text) {
  const line = text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replace(/\s+/g, " ")
    .trim();
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
