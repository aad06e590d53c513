import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "./markdown-text.js";
import { type Block, headingText, type Report } from "./report.js";
import { joinBlocks } from "./terminal/terminal-text.js";

/**
 * A report in GitHub's Markdown, for a pull request or a job's summary: its heading is the first sentence of the answer, or
 * the report's name, what follows from the figures stands above them, what they hold for below, and details last.
 */
export function drawMarkdown({ command, name, blocks }: Report): string {
  const of = (rank: Rank) => blocks.filter((block) => rankOf(block) === rank);
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

/** Where a block stands: alerts and answers on top, the others in this order. */
type Rank = "alert" | "answer" | "first" | "middle" | "late" | "last";

function rankOf(block: Block): Rank {
  switch (block.type) {
    case "alert":
    case "answer":
      return block.type;
    case "finding":
      return "first";
    case "section":
      return block.isSummary === true ? "first" : "middle";
    case "facts":
      return block.isEnvironment ? "late" : "middle";
    case "fold":
      return "last";
    default:
      return "middle";
  }
}

/** The lines of blocks between which empty lines stand: texts of a type that follow each other are one list. */
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

/** `level` is that of a section's heading here. */
function linesOf(block: Block, level: number): string[][] {
  switch (block.type) {
    case "alert":
      return alertBlocks([block]);
    case "answer":
      return [[`**${escapeMarkdown(block.text)}**`]];
    case "finding":
    case "note":
      return [[listItem(block)]];
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
    case "list":
      return [block.items.map((item) => `- ${escapeMarkdown(item)}`)];
    case "code": {
      // Longer than any in the text, which else could end it.
      const longest = Math.max(2, ...(block.text.match(/`+/g) ?? []).map(({ length }) => length));
      const fence = "`".repeat(longest + 1);
      return [[`${fence}${block.language}`, ...block.text.trimEnd().split("\n"), fence]];
    }
    case "lines":
      return [];
    // GitHub takes what is inside for Markdown only where empty lines set it apart from the tags.
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
