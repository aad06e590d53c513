import type { ZodType } from "zod";
import type { Chart } from "./chart/chart.js";
import { drawMarkdown } from "./draw-markdown.js";
import { jsonReport } from "./json.js";
import type { SampleSeries } from "./page/chapter.js";
import { printableDocument, printableText } from "./printable-text.js";
import type { Block, Report } from "./report.js";
import type { Screen } from "./screen.js";
import { drawTerminal } from "./terminal/draw-terminal.js";

/** How a document is shown. */
export interface Show {
  screen: Screen;
  /** Whether all rows are shown, also those of which there is nothing to say. */
  showsAll: boolean;
  /** Curves below the tables of a terminal, a block of lines each. */
  plots: readonly (readonly string[])[];
}

/** A kind of document: all that is drawn of it follows from this value. */
export interface DocumentKind<Document> {
  schema: ZodType<Document>;
  report(document: Document, show: Show): Report;
  /** What a page draws; loaded when a page or a picture is drawn, as it is large. */
  pictures?(document: Document): Promise<{ charts: readonly Chart[]; samples?: readonly SampleSeries[] }>;
  /** The rows of a CSV file, the first one the names of the columns. */
  rows?(document: Document): readonly (readonly CsvValue[])[];
  /** What other programs read, by the format's name. Texts of the document are printable there. */
  exports?: Readonly<Record<string, (document: Document, show: Show) => string>>;
  /** The same with all texts as they are: of JSON, which escapes them, and of programs, whose lines are made printable one by one. */
  rawExports?: Readonly<Record<string, (document: Document) => string>>;
}

/** The whole text of a document in one format, which its kind must have. */
export function drawDocument<Document>(
  kind: DocumentKind<Document>,
  document: Document,
  format: string,
  show: Show,
): string {
  const asJson = format === "json" ? jsonReport : kind.rawExports?.[format];
  if (asJson !== undefined) return asJson(document);
  const exported = kind.exports?.[format];
  if (exported !== undefined) return exported(printableDocument(document), show);
  if (format === "csv") return csvLines(kind.rows!(printableDocument(document)));
  const report = printableReport(kind.report(document, show));
  return format === "markdown" ? drawMarkdown(report) : drawTerminal(report, show.screen);
}

/** The report with every text in it made printable: whatever a document holds, no output obeys it. */
export function printableReport(report: Report): Report {
  const { blocks, ...names } = report;
  return { ...printableDocument(names), blocks: blocks.map(printableBlock) };
}

function printableBlock(block: Block): Block {
  switch (block.type) {
    // Has line breaks of its own.
    case "code":
      return { ...block, text: block.text.split("\n").map(printableText).join("\n") };
    // Drawn already, with colours that are escapes.
    case "lines":
      return block;
    case "fold":
    case "section": {
      const { blocks, ...rest } = block;
      return { ...printableDocument(rest), blocks: blocks.map(printableBlock) } as Block;
    }
    default:
      return printableDocument(block);
  }
}

/** What stands in a field; null is an empty one. */
export type CsvValue = string | number | null;

/** Lines of fields, quoted as RFC 4180 says, but ending in LF as tools on Linux expect. What is absent is empty. */
function csvLines(lines: readonly (readonly CsvValue[])[]): string {
  return lines.map((line) => `${line.map(quote).join(",")}\n`).join("");
}

/**
 * A text that a spreadsheet would take for a formula stands behind an apostrophe (OWASP, "CSV Injection"): names in a
 * result may be anybody's. No name that pinbench gives begins like one.
 */
function quote(value: CsvValue): string {
  const text = value === null ? "" : String(value);
  const shown = typeof value === "string" && /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
