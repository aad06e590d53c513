import { type Block, type Fact, type Grid, type Note, type Report, texts } from "../report.js";
import type { Screen } from "../screen.js";
import { indent, terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, paint, paragraph } from "./terminal-text.js";

/** Where the words of tables are explained. */
const termsFact: Fact = ["Words", "pinbench help terms says what each of them means"];

/** A report for people at a terminal. */
export function drawTerminal({ command, version, hasTerms, ...report }: Report, screen: Screen): string {
  const name = ["pinbench", version, command].filter((word) => word !== "").join(" ");
  const title = paragraph(name, screen, { style: screen.chalk.bold });
  const blocks = report.blocks.map((block) =>
    hasTerms && block.type === "facts" && block.isEnvironment
      ? { ...block, facts: [...block.facts, termsFact] }
      : block,
  );
  const [alerts, others] = [blocks.filter(isAlert), blocks.filter((block) => !isAlert(block))];
  return joinBlocks([[...title, ...alertLines(alerts, screen)], ...blockLines(others, screen)]);
}

function isAlert(block: Block): block is Extract<Block, Note> {
  return block.type === "alert";
}

/** The lines of blocks between which a terminal has empty lines: texts of a type that follow each other are one. */
function blockLines(blocks: readonly Block[], screen: Screen): string[][] {
  const drawn: string[][] = [];
  const shown = blocks.flatMap((block) => (block.type === "fold" ? texts("note", block.instead) : [block]));
  shown.forEach((block, index) => {
    const lines = linesOf(block, screen);
    const joins = "tone" in block && shown[index - 1]?.type === block.type;
    if (joins) drawn.at(-1)!.push(...lines[0]!);
    else drawn.push(...lines);
  });
  return drawn;
}

function linesOf(block: Block, screen: Screen): string[][] {
  const { chalk } = screen;
  switch (block.type) {
    case "alert":
      return [alertLines([block], screen)];
    case "answer":
      return [noteLines(block, "=> ", screen).map((line) => chalk.bold(line))];
    case "finding":
      return [noteLines(block, "=> ", screen)];
    case "note":
      return [noteLines(block, indent, screen)];
    case "facts":
      return [factLines(block.facts, indent, screen)];
    case "table":
      return [gridLines(block.grid, screen)];
    case "entry":
      return [
        [
          ...paragraph(block.text, screen, { prefix: indent }),
          ...factLines(block.facts, indent.repeat(2), screen),
        ],
      ];
    case "list":
      return [
        block.items.flatMap((item) => paragraph(item, screen, { prefix: `${indent}- `, style: chalk.dim })),
      ];
    // Lines of programs are not broken, whatever the width.
    case "code":
      return [block.text.trimEnd().split("\n")];
    case "lines":
      return [[...block.lines]];
    case "fold":
      return [];
    case "section": {
      const title = block.title === "" ? [] : paragraph(block.title, screen, { style: chalk.bold });
      const inner = blockLines(block.blocks, screen);
      return block.isTight ? [[...title, ...inner.flat()]] : [title, ...inner];
    }
  }
}

function noteLines({ text, tone }: Note, prefix: string, screen: Screen): string[] {
  return paragraph(text, screen, { prefix, style: (line) => paint(line, tone, screen) });
}

/** What must be read before any figure. */
export function alertLines(alerts: readonly Note[], screen: Screen): string[] {
  return alerts.flatMap(({ text, tone }) =>
    paragraph(text, screen, { prefix: "! ", style: (line) => screen.chalk.bold(paint(line, tone, screen)) }),
  );
}

/** A table between its caption and its footnote. */
export function gridLines(grid: Grid, screen: Screen): string[] {
  const { caption, footnote } = grid;
  const { chalk } = screen;
  return [
    ...(caption === undefined ? [] : paragraph(caption, screen, { style: chalk.bold })),
    ...terminalGrid(grid, screen),
    ...(footnote === undefined ? [] : paragraph(footnote, screen, { prefix: indent, style: chalk.dim })),
  ];
}
