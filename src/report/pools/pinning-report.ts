import { jsonReport } from "../../draw/json.js";
import { alertBlocks, escapeMarkdown, factItem, listItem, markdownGrid } from "../../draw/markdown-text.js";
import { printableDocument } from "../../draw/printable-text.js";
import type { Screen } from "../../draw/screen.js";
import { terminalReport } from "../../draw/terminal/terminal-report.js";
import { joinBlocks, paragraph } from "../../draw/terminal/terminal-text.js";
import type { Pinning } from "../../pools/pinning-document.js";
import type { PinningFormat } from "../../settings/choices.js";
import { textFormatByExtension } from "../format-by-extension.js";
import { pinningCsv } from "./pinning-csv.js";
import { pinningAlerts, pinningAnswer, pinningFacts, pinningNotes, poolGrids } from "./pinning-parts.js";

const formatOfExtension = { ".json": "json", ".csv": "csv", ".md": "markdown", ".txt": "table" } as const;

/** The format that an `--output` path asks for by its extension. Throws a usage error where it names none. */
export function pinningFormatOfPath(path: string): PinningFormat {
  return textFormatByExtension(path, formatOfExtension, "pinbench pin draws none");
}

/** The whole text of a document in one format. The table is drawn for the screen. */
export function renderPinning(pinning: Pinning, format: PinningFormat, screen: Screen): string {
  if (format === "json") return jsonReport(pinning);
  // Programs are pinbench's own text, and have line breaks.
  const { code } = pinning.recommendation ?? { code: null };
  const printable = printableDocument(pinning);
  if (format === "csv") return pinningCsv(printable);
  return format === "markdown" ? markdownText(printable, code) : tableText(printable, code, screen);
}

/** The recommended programs. */
type Code = NonNullable<Pinning["recommendation"]>["code"];

/** Each in its language's name, with the file that it would be. */
const programs = [
  { key: "c", title: "In C, for the CUDA runtime:", language: "c" },
  { key: "python", title: "In Python, for torch:", language: "python" },
] as const;

function tableText(pinning: Pinning, code: Code | null, screen: Screen): string {
  const report = terminalReport(
    {
      title: `pinbench ${pinning.tool.version} pin`,
      alerts: pinningAlerts(pinning),
      answer: pinningAnswer(pinning),
      facts: pinningFacts(pinning),
      grids: poolGrids(pinning),
      notes: pinningNotes(pinning),
    },
    screen,
  );
  if (code === null) return report;
  // Lines of programs are not broken, whatever the width.
  const blocks = programs.map(({ key, title }) => [
    ...paragraph(title, screen, { style: screen.chalk.bold }),
    "",
    ...code[key].trimEnd().split("\n"),
  ]);
  return `${report}\n${joinBlocks(blocks)}`;
}

function markdownText(pinning: Pinning, code: Code | null): string {
  const [first, ...further] = pinningAnswer(pinning);
  return joinBlocks([
    [`## pinbench pin: ${escapeMarkdown(first!.text)}`],
    ...alertBlocks(pinningAlerts(pinning)),
    ...further.map(({ text }) => [escapeMarkdown(text)]),
    ...poolGrids(pinning).flatMap((grid) => [
      [`### ${escapeMarkdown(grid.caption!)}`],
      markdownGrid(grid),
      ...(grid.footnote === undefined ? [] : [[escapeMarkdown(grid.footnote)]]),
    ]),
    pinningNotes(pinning).map(listItem),
    pinningFacts(pinning).map(factItem),
    ...(code === null
      ? []
      : programs.flatMap(({ key, title, language }) => [
          [`### ${title.replace(":", "")}`],
          [`\`\`\`${language}`, ...code[key].trimEnd().split("\n"), "```"],
        ])),
  ]);
}
