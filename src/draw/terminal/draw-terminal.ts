import { sumOf } from "../../stats/variance.js";
import {
  type Block,
  type Fact,
  figure,
  type Grid,
  type Note,
  note,
  type Report,
  section,
  texts,
  wordColumn,
} from "../report.js";
import type { Screen } from "../screen.js";
import { indent, terminalGrid } from "./terminal-grid.js";
import { factLines, joinBlocks, paint, paragraph } from "./terminal-text.js";

/** Points to the explanation of the tables' words. */
const termsFact: Fact = ["Words", "pinbench help terms explains them"];

/** A report for people at a terminal; without --all only its main figures and its answer. */
export function drawTerminal(report: Report, screen: Screen): string {
  return screen.showsAll ? drawWhole(report, screen) : drawBrief(report, screen);
}

/** Columns of the narrowest screen for which a report limits its lines. */
const leastColumns = 80;

function drawBrief(report: Report, screen: Screen): string {
  let [linesLeft, isShort] = [report.tableLines ?? Number.POSITIVE_INFINITY, false];
  const keyLines = report.blocks.map((block) => {
    const key = block.isDetail ? null : briefBlock(block);
    return key?.type === "table" ? gridLines(key.grid, screen).length + 1 : 0;
  });
  const isCore = sumOf(keyLines) > linesLeft;
  const briefOf = (block: Block): Block[] => {
    const shown = block.isDetail ? null : briefBlock(block, isCore);
    if (shown?.type === "section") {
      const blocks = shown.blocks.flatMap(briefOf);
      return blocks.length === 0 ? [] : [{ ...shown, blocks }];
    }
    if (shown?.type === "table") linesLeft -= gridLines(shown.grid, screen).length + 1;
    const fits = shown !== null && (shown.type !== "table" || linesLeft >= 0);
    isShort ||= !fits || shown !== block;
    return fits ? [shown] : [];
  };
  const blocks = report.blocks.flatMap(briefOf);
  const terms = report.hasTerms ? "; pinbench help terms explains the words" : "";
  const more = note(`--all shows all rows and notes${terms}`, "muted");
  const joined = joinTables(blocks);
  const draw = (shown: readonly Block[], isWhole: boolean) => {
    const pointer = isWhole ? [] : texts("note", [more]);
    return drawWhole(
      { ...report, hasTerms: report.hasTerms && isWhole, blocks: [...shown, ...pointer] },
      screen,
    );
  };
  const mostLines = screen.columns < leastColumns ? Number.POSITIVE_INFINITY : report.mostLines;
  let text = draw(joined, !isShort);
  for (const rank of [1, 2, 3]) {
    if (text.trimEnd().split("\n").length <= (mostLines ?? Number.POSITIVE_INFINITY)) break;
    text = draw(
      joined.filter(({ yields }) => yields === undefined || yields > rank),
      false,
    );
  }
  return text;
}

/** Joins adjacent small tables with the same columns and the same caption but for what is to name their rows. */
function joinTables(blocks: readonly Block[]): Block[] {
  const [joined, heads]: [Block[], string[]] = [[], []];
  for (const block of blocks) {
    const { joins, rows = [], columns = [] } = block.type === "table" ? block.grid : ({} as Partial<Grid>);
    const head =
      joins === undefined || rows.length > mostJoinedRows ? "" : JSON.stringify([joins.caption, columns]);
    const above = joined.at(-1);
    if (head === "" || head !== heads.at(-1) || above?.type !== "table") joined.push(block);
    else {
      const { caption: _, labels = 1, ...first } = above.grid;
      const named = (grid: Pick<Grid, "rows" | "joins">) =>
        grid.joins === undefined ? grid.rows : grid.rows.map((row) => [figure(grid.joins!.row), ...row]);
      const grid = {
        caption: joins!.caption,
        columns: [wordColumn(""), ...columns],
        rows: [...named(first), ...named({ rows, joins: joins! })],
        labels: first.joins === undefined ? labels : labels + 1,
      };
      joined[joined.length - 1] = { type: "table", grid };
    }
    heads.push(head);
  }
  return joined;
}

/** Larger tables are easier to read separately. */
const mostJoinedRows = 2;

/** The block without the parts that only --all shows; the block itself if it has none. */
function briefBlock(block: Block, isCore = false): Block {
  if (block.type === "facts" && block.brief !== undefined) return { ...block, facts: block.brief };
  if (block.type !== "table") return block;
  const { footnote, keyRows: ofKey, coreRows, ...grid } = block.grid;
  const keyRows = isCore ? (coreRows ?? ofKey) : ofKey;
  if (footnote === undefined && (keyRows?.length ?? grid.rows.length) === grid.rows.length) return block;
  return { ...block, grid: { ...grid, rows: grid.rows.filter((_, row) => keyRows?.includes(row) ?? true) } };
}

function drawWhole(
  { command, version, hasTerms, endsWithAnswer = false, ...report }: Report,
  screen: Screen,
): string {
  const name = ["pinbench", version, command].filter((word) => word !== "").join(" ");
  const title = paragraph(name, screen, { style: screen.chalk.bold });
  const blocks = report.blocks.map((block) =>
    hasTerms && block.type === "facts" && block.isEnvironment
      ? { ...block, facts: [...block.facts, termsFact] }
      : block,
  );
  const alerts = blocks.filter(isAlert);
  const answers = blocks.filter(({ type }) => endsWithAnswer && type === "answer");
  const others = blocks.filter((block) => !isAlert(block) && !answers.includes(block));
  return joinBlocks([
    [...title, ...alertLines(alerts, screen)],
    ...blockLines([...others, ...answers], screen),
  ]);
}

function isAlert(block: Block): block is Extract<Block, Note> {
  return block.type === "alert";
}

/** A fold as a section in the whole view; its notes otherwise. */
function unfolded(
  { title, blocks, instead }: Extract<Block, { type: "fold" }>,
  { showsAll }: Screen,
): Block[] {
  return showsAll ? [section(title, blocks)] : texts("note", instead);
}

/** The lines of blocks, which a terminal separates by empty lines: consecutive texts of a type are one block. */
function blockLines(blocks: readonly Block[], screen: Screen): string[][] {
  const drawn: string[][] = [];
  const shown = blocks.flatMap((block) => (block.type === "fold" ? unfolded(block, screen) : [block]));
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
    // Lines of programs are never broken.
    case "code":
      return [block.text.trimEnd().split("\n")];
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

/** Alerts, which come before any figure. */
export function alertLines(alerts: readonly Note[], screen: Screen): string[] {
  return alerts.flatMap(({ text, tone }) =>
    paragraph(text, screen, { prefix: "! ", style: (line) => screen.chalk.bold(paint(line, tone, screen)) }),
  );
}

/** A table between its caption and its footnote. */
function gridLines(grid: Grid, screen: Screen): string[] {
  const { caption, footnote } = grid;
  const { chalk } = screen;
  return [
    ...(caption === undefined ? [] : paragraph(caption, screen, { style: chalk.bold })),
    ...terminalGrid(grid, screen),
    ...(footnote === undefined ? [] : paragraph(footnote, screen, { prefix: indent, style: chalk.dim })),
  ];
}
