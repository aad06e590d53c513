import type { Fact, Tone } from "./report-parts.js";
import { type Screen, textColumns } from "./screen.js";

/** A blank at which a line may end: a number and its unit stay together. */
const breakable = / (?!%|GB\/s|µs|[KMGT]?i?B\b)/;

/** The words of a text, a number with its unit being one. */
export function splitWords(text: string): string[] {
  return text.split(breakable);
}

/** Breaks text into lines of at most `width` characters; a longer word keeps a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of splitWords(text)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && longer.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** Breaks `prefix` and text into lines of at most `width` characters, the later ones indented as far as the text. */
export function wrapAfter(prefix: string, text: string, width: number): string[] {
  const indent = " ".repeat(prefix.length);
  return wrap(text, width - prefix.length).map((line, index) => (index === 0 ? prefix : indent) + line);
}

/** The text in the colour of its tone. */
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

/** Lines of "label  value", the values below each other and broken where running text is. */
export function factLines(facts: readonly Fact[], indent: string, screen: Screen): string[] {
  const labelWidth = Math.max(...facts.map(([label]) => label.length));
  return facts.flatMap(([label, value]) => {
    const prefix = `${indent}${label.padEnd(labelWidth)}  `;
    const [first = "", ...rest] = wrapAfter(prefix, value, textColumns(screen));
    return [screen.chalk.dim(prefix) + first.slice(prefix.length), ...rest];
  });
}

/**
 * One text of blocks of lines, with an empty line between blocks and a line break at the end. Blocks without lines are
 * left out.
 */
export function joinBlocks(blocks: readonly (readonly string[])[]): string {
  const filled = blocks.filter((lines) => lines.length > 0);
  return `${filled.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}
