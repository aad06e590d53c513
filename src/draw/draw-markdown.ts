import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "./markdown-text.js";
import type { Block, Report } from "./report.js";
import { joinBlocks } from "./terminal/terminal-text.js";

/**
 * A report in GitHub's Markdown, for a pull request or a job's summary: the first answer is its heading, and what the
 * figures hold for stands last.
 */
export function drawMarkdown({ command, blocks }: Report): string {
  const first = blocks.find(({ type }) => type === "answer");
  const heading = ["pinbench", command].filter((word) => word !== "").join(" ");
  const summary = first?.type === "answer" ? `: ${escapeMarkdown(first.text)}` : "";
  const isLast = (block: Block) => block.type === "facts" && block.isEnvironment;
  const others = blocks.filter((block) => block !== first && !isLast(block));
  return joinBlocks([
    [`## ${heading}${summary}`],
    ...blockLines(others, 3),
    ...blockLines(blocks.filter(isLast), 3),
  ]);
}

/** The lines of blocks between which empty lines stand: texts of a type that follow each other are one list. */
function blockLines(blocks: readonly Block[], level: number): string[][] {
  const drawn: string[][] = [];
  blocks.forEach((block, index) => {
    const lines = linesOf(block, level);
    const isItem = block.type !== "alert" && ("tone" in block || block.type === "entry");
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
    case "code":
      return [[`\`\`\`${block.language}`, ...block.text.trimEnd().split("\n"), "```"]];
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
      const title = block.title === "" ? [] : [`${"#".repeat(level)} ${escapeMarkdown(block.title)}`];
      return [title, ...blockLines(block.blocks, level + 1)];
    }
  }
}
