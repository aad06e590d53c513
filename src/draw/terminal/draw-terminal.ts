import { type Block, type Grid, type Note, note, type Report } from "../report.js";
import type { Screen } from "../screen.js";
import { indent, terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, paint, paragraph } from "./terminal-text.js";

export function drawTerminal(report: Report, screen: Screen): string {
  const { command, version, hasTerms, blocks, brief } = report;
  const shown = screen.showsAll || brief === undefined ? { blocks } : brief;
  const name = ["pinbench", version, command].filter((word) => word !== "").join(" ");
  const last = [
    ...("leavesOut" in shown ? [`--all shows ${shown.leavesOut}`] : []),
    ...(hasTerms ? ["pinbench help terms explains the words"] : []),
  ];
  return joinBlocks([
    [
      ...paragraph(name, screen, { style: screen.chalk.bold }),
      ...alertLines(shown.blocks.filter(isAlert), screen),
    ],
    ...blockLines(
      shown.blocks.filter((block) => !isAlert(block)),
      screen,
    ),
    last.length === 0 ? [] : noteLines(note(last.join("; "), "muted"), indent, screen),
  ]);
}

function isAlert(block: Block): block is Extract<Block, Note> {
  return block.type === "alert";
}

/** The lines of blocks, with empty lines between them. Consecutive texts of a type are one block. */
function blockLines(blocks: readonly Block[], screen: Screen): string[][] {
  const drawn: string[][] = [];
  blocks.forEach((block, index) => {
    const lines = linesOf(block, screen);
    const joins = "tone" in block && blocks[index - 1]?.type === block.type;
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
    // Code lines are never wrapped.
    case "code":
      return [block.text.trimEnd().split("\n")];
    case "fold":
    case "section": {
      const title = block.title === "" ? [] : paragraph(block.title, screen, { style: chalk.bold });
      const inner = blockLines(block.blocks, screen);
      return "isTight" in block && block.isTight ? [[...title, ...inner.flat()]] : [title, ...inner];
    }
  }
}

function noteLines({ text, tone }: Note, prefix: string, screen: Screen): string[] {
  return paragraph(text, screen, { prefix, style: (line) => paint(line, tone, screen) });
}

export function alertLines(alerts: readonly Note[], screen: Screen): string[] {
  return alerts.flatMap(({ text, tone }) =>
    paragraph(text, screen, { prefix: "! ", style: (line) => screen.chalk.bold(paint(line, tone, screen)) }),
  );
}

function gridLines(grid: Grid, screen: Screen): string[] {
  const { caption, footnote } = grid;
  const { chalk } = screen;
  return [
    ...(caption === undefined ? [] : paragraph(caption, screen, { style: chalk.bold })),
    ...terminalGrid(grid, screen),
    ...(footnote === undefined ? [] : paragraph(footnote, screen, { prefix: indent, style: chalk.dim })),
  ];
}
