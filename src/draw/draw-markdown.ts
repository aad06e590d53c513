import {
  type Block,
  type Fact,
  type Figure,
  type Grid,
  headingText,
  headTexts,
  type Note,
  type Report,
  rowsWithoutRepeats,
} from "./report.js";
import { joinBlocks } from "./terminal/terminal-text.js";

/**
 * A report in GitHub's Markdown for a pull request or a job summary. The heading is the answer's first sentence, or
 * else the report's name. Findings, figures, conditions and details follow.
 */
export function drawMarkdown({ command, name, blocks }: Report): string {
  const of = (rank: BlockRank) => blocks.filter((block) => rankOf(block) === rank);
  const [alerts, answers] = [of("alert"), of("answer")];
  const [first] = answers;
  const [, sentence = name, rest = ""] =
    (first?.type === "answer" ? /^(.+?)(?:\.$|\. (?=[A-Z])|$)(.*)$/.exec(first.text) : null) ?? [];
  const title = ["pinbench", command].filter((word) => word !== "").join(" ");
  return joinBlocks([
    [`## ${title}: ${escapeMarkdown(sentence)}`],
    ...blockLines(alerts, 3),
    ...blockLines(first?.type === "answer" && rest !== "" ? [{ ...first, text: rest }] : [], 3),
    ...blockLines([...answers.slice(1), ...(["first", "middle", "late", "last"] as const).flatMap(of)], 3),
  ]);
}

type BlockRank = "alert" | "answer" | "first" | "middle" | "late" | "last";

function rankOf(block: Block): BlockRank {
  switch (block.type) {
    case "alert":
    case "answer":
      return block.type;
    case "finding":
      return "first";
    case "facts":
      return block.isEnvironment ? "late" : "middle";
    case "fold":
      return "last";
    default:
      return "middle";
  }
}

function blockLines(blocks: readonly Block[], level: number): string[][] {
  const drawn: string[][] = [];
  blocks.forEach((block, index) => {
    const lines = linesOf(block, level);
    const isItem = block.type === "finding" || block.type === "note" || block.type === "entry";
    if (isItem && blocks[index - 1]?.type === block.type) drawn.at(-1)!.push(...lines[0]!);
    else drawn.push(...lines);
  });
  return drawn;
}

function linesOf(block: Block, level: number): string[][] {
  switch (block.type) {
    case "alert":
      return [[`> **${escapeMarkdown(block.text)}**`]];
    case "answer":
      return [[`**${escapeMarkdown(block.text)}**`]];
    case "finding":
    case "note":
      return [[`- ${emphasized(escapeMarkdown(block.text), block.tone)}`]];
    case "facts":
      return [block.facts.map(factItem)];
    case "table": {
      const { caption, footnote } = block.grid;
      return [
        ...(caption === undefined ? [] : [[`${"#".repeat(level)} ${escapeMarkdown(caption)}`]]),
        markdownGrid(block.grid),
        ...(footnote === undefined ? [] : [[escapeMarkdown(footnote)]]),
      ];
    }
    case "entry":
      return [
        [
          `- ${escapeMarkdown(block.text)}`,
          ...block.facts.map(([label, text]) =>
            label === "" ? `  - ${escapeMarkdown(text)}` : `  ${factItem([label, text])}`,
          ),
        ],
      ];
    case "code": {
      // The fence must be longer than any run of backticks in the text.
      const longest = Math.max(2, ...(block.text.match(/`+/g) ?? []).map(({ length }) => length));
      const fence = "`".repeat(longest + 1);
      return [[`${fence}${block.language}`, ...block.text.trimEnd().split("\n"), fence]];
    }
    // GitHub reads the content as Markdown only if empty lines separate it from the tags.
    case "fold":
      return [
        ["<details>", `<summary>${escapeMarkdown(block.title)}</summary>`],
        ...blockLines(block.blocks, level),
        ["</details>"],
      ];
    case "section": {
      const title =
        block.title === "" ? [] : [`${"#".repeat(level)} ${escapeMarkdown(headingText(block.title))}`];
      return [title, ...blockLines(block.blocks, level + 1)];
    }
  }
}

function markdownGrid(grid: Grid): string[] {
  const { columns } = grid;
  return [
    tableRow(headTexts(columns).map(escapeInline)),
    tableRow(columns.map(({ align }) => (align === "right" ? "---:" : ":---"))),
    ...rowsWithoutRepeats(grid).map((row) => tableRow(row.map(cellText))),
  ];
}

function cellText({ text, note, tone }: Figure): string {
  return emphasized(escapeInline(note === "" ? text : `${text} ${note}`), tone);
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function factItem([label, value]: Fact): string {
  return `- **${escapeMarkdown(label)}:** ${escapeMarkdown(value)}`;
}

function emphasized(escaped: string, tone: Note["tone"]): string {
  return tone === "failure" || tone === "mismatch" ? `**${escaped}**` : escaped;
}

/** Line starts that Markdown reads as a heading, a list or a rule. */
const blockStart = /^(#{1,6}(?= |$)|[-+](?= |$)|[-=]+$|\d{1,9}[.)](?= |$))/;

/** Escapes a text so that Markdown shows it unchanged, also at the start of a line. */
export function escapeMarkdown(text: string): string {
  return escapeInline(text.trimStart()).replace(blockStart, (start) => start.replace(/[^\d]/, "\\$&"));
}

/**
 * Escapes a text within a line, such as a table cell. Backslashes go before markup, links (GitHub links any address),
 * entities and formulas. Line breaks become blanks, because they would end a table row. An empty comment stops GitHub
 * from notifying a user or team of that name, and from linking an issue.
 */
function escapeInline(text: string): string {
  const line = text.includes("\n") ? text.split(/\s+/).join(" ") : text;
  return line
    .replaceAll(/[\\`*_|<>[\]~&$]/g, "\\$&")
    .replaceAll(/:(?=\/\/)/g, "\\:")
    .replaceAll(/\bwww\./gi, (host) => `${host.slice(0, -1)}\\.`)
    .replaceAll(/@(?=\w)|#(?=\d)|\bGH-(?=\d)/gi, "$&<!-- -->");
}
