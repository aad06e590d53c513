import stringWidth from "string-width";
import { asciiText } from "../printable-text.js";
import type { Fact, Tone } from "../report.js";
import { type Screen, textColumns, usualColumns } from "../screen.js";
import { splitWords } from "../words.js";

/**
 * Width of the widest line in terminal columns: wide characters count twice; colours and combining marks do not count.
 * cli-table3 uses the same package.
 */
export function visibleWidth(text: string): number {
  return Math.max(...text.split("\n").map((line) => stringWidth(line)));
}

export function shownText(text: string, { isAscii }: Pick<Screen, "isAscii">): string {
  return isAscii ? asciiText(text) : text;
}

/** Breaks text into lines of at most `width` columns; a longer word gets its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of splitWords(text)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && visibleWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** Breaks `prefix` and text into lines of at most `width` columns; later lines are indented to the text. */
function wrapAfter(prefix: string, text: string, width: number): string[] {
  const indent = " ".repeat(visibleWidth(prefix));
  return wrap(text, width - indent.length).map((line, index) => (index === 0 ? prefix : indent) + line);
}

/** Wraps running text to the screen after `prefix`; each line has the style. */
export function paragraph(
  text: string,
  screen: Screen,
  { prefix = "", style = String }: { prefix?: string; style?: (line: string) => string } = {},
): string[] {
  return wrapAfter(prefix, shownText(text, screen), textColumns(screen)).map((line) => style(line));
}

export function paint(text: string, tone: Tone, { chalk }: Screen): string {
  const styles = {
    plain: String,
    muted: chalk.dim,
    warning: chalk.yellow,
    failure: chalk.red,
    mismatch: chalk.bold.red,
  };
  return styles[tone](text);
}

/** Lines of "label  value" with aligned values. They use the full width, unlike running text. */
export function factLines(facts: readonly Fact[], indent: string, screen: Screen): string[] {
  const shown = facts.map(([label, value]) => [shownText(label, screen), shownText(value, screen)] as const);
  const labelWidth = Math.max(...shown.map(([label]) => visibleWidth(label)));
  return shown.flatMap(([label, value]) => {
    const prefix = `${indent}${label}${" ".repeat(labelWidth - visibleWidth(label))}  `;
    const lines = wrapAfter(prefix, value, screen.columns);
    const [first = "", ...rest] = lines.flatMap((line) => brokenAtSlashes(line, prefix, screen.columns));
    return [screen.chalk.dim(prefix) + first.slice(prefix.length), ...rest];
  });
}

/** A line, broken at slashes on a narrow screen if it has a long path. Files and pipes keep it whole for searching. */
function brokenAtSlashes(line: string, prefix: string, width: number): string[] {
  const end = line.lastIndexOf("/", width - 1) + 1;
  if (width >= usualColumns || visibleWidth(line) <= width || end <= prefix.length) return [line];
  const rest = " ".repeat(visibleWidth(prefix)) + line.slice(end);
  return [line.slice(0, end), ...brokenAtSlashes(rest, prefix, width)];
}

/** Joins blocks of lines with empty lines between them, and ends with a line break. Omits empty blocks. */
export function joinBlocks(blocks: readonly (readonly string[])[]): string {
  const filled = blocks.filter((lines) => lines.length > 0);
  return `${filled.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}
