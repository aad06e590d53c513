import type { ChalkInstance } from "chalk";
import type { Note } from "./report-parts.js";
import type { Fact } from "./result-header.js";
import { paint } from "./terminal-grid.js";
import { wrapAfter } from "./wrap.js";

/** Running text is broken here; tables are as wide as they are. */
export const textWidth = 100;

/** "label  value", values below each other. */
export function factLines(facts: readonly Fact[], indent: string, chalk: ChalkInstance): string[] {
  const labelWidth = Math.max(...facts.map(({ label }) => label.length));
  return facts.flatMap(({ label, value }) => {
    const prefix = `${indent}${label.padEnd(labelWidth)}  `;
    const [first = "", ...rest] = wrapAfter(prefix, value, textWidth);
    return [chalk.dim(prefix) + first.slice(prefix.length), ...rest];
  });
}

/** A note behind `prefix`, in the colour of its tone. */
export function noteLines({ text, tone }: Note, prefix: string, chalk: ChalkInstance): string[] {
  return wrapAfter(prefix, text, textWidth).map((line) => paint(line, tone, chalk));
}

/** Blocks of lines with an empty line between them, and a line break at the end. */
export function joinBlocks(blocks: readonly (readonly string[])[]): string {
  const filled = blocks.filter((lines) => lines.length > 0);
  return `${filled.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}
