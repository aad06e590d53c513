import type { ZodType } from "zod";
import type { Chart } from "./chart/chart.js";
import { drawMarkdown } from "./draw-markdown.js";
import { jsonReport } from "./json.js";
import { printableDocument, printableText } from "./printable-text.js";
import type { Block, Report } from "./report.js";
import type { Screen } from "./screen.js";
import { drawTerminal } from "./terminal/draw-terminal.js";

export interface Show {
  screen: Screen;
}

export interface DocumentKind<Document> {
  schema: ZodType<Document>;
  report(document: Document, show: Show): Report;
  /** Compares two such documents. Absent for results, which `compare` handles itself, and kinds that it refuses. */
  changeOf?(before: Document, after: Document): Document;
  /** The charts of a page; loaded on demand, because the code is large. */
  pictures?(document: Document): Promise<{ charts: readonly Chart[] }>;
  /** The rows of a CSV file; the first has the names of the columns. */
  rows?(document: Document): readonly (readonly CsvValue[])[];
  /** Formats for other programs, by name. Texts in their documents are made printable first. */
  exports?: Readonly<Record<string, (document: Document, show: Show) => string>>;
  /** Like `exports`, with unchanged texts: for JSON, which escapes them, and for formats that escape by themselves. */
  rawExports?: Readonly<Record<string, (document: Document) => string>>;
}

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

/** The report with printable texts, so that a document's content cannot control the output. */
export function printableReport(report: Report): Report {
  const { blocks, brief, ...names } = report;
  return {
    ...printableDocument(names),
    blocks: blocks.map(printableBlock),
    ...(brief && { brief: { ...printableDocument(brief), blocks: brief.blocks.map(printableBlock) } }),
  };
}

function printableBlock(block: Block): Block {
  switch (block.type) {
    // Code keeps its line breaks.
    case "code":
      return { ...block, text: block.text.split("\n").map(printableText).join("\n") };
    case "fold":
    case "section": {
      const { blocks, ...rest } = block;
      return { ...printableDocument(rest), blocks: blocks.map(printableBlock) } as Block;
    }
    default:
      return printableDocument(block);
  }
}

export type CsvValue = string | number | null;

export type CsvColumn<Row> = readonly [name: string, of: (row: Row) => CsvValue];

export function csvRows<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): CsvValue[][] {
  return [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, of]) => of(row)))];
}

/** CSV lines as in RFC 4180, but ending in LF, as Linux tools expect. Absent fields are empty. */
function csvLines(lines: readonly (readonly CsvValue[])[]): string {
  return lines.map((line) => `${line.map(quote).join(",")}\n`).join("");
}

/**
 * Quotes a field. Puts an apostrophe before a text that a spreadsheet would take for a formula (OWASP, "CSV
 * Injection"), because names in a result may come from anybody. pinbench's own names never look like formulas.
 */
function quote(value: CsvValue): string {
  const text = value === null ? "" : String(value);
  const shown = typeof value === "string" && /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

export interface GaugeFamily {
  name: string;
  /** Must not contain quotes, backslashes or line breaks, which the two formats escape differently. */
  help: string;
  /** The end of the name; absent for a plain number. */
  unit?: string;
  samples: readonly { labels: Readonly<Record<string, string | number | null>>; value: number }[];
}

/**
 * Gauges in OpenMetrics 1.0. node_exporter's textfile collector reads the same text as Prometheus format 0.0.4, where
 * the lines UNIT and EOF are comments. Omits families without samples, and null labels: for Prometheus an empty label
 * is a missing one.
 */
export function openMetricsText(families: readonly GaugeFamily[]): string {
  return [...families.flatMap(linesOf), "# EOF"].map((line) => `${line}\n`).join("");
}

function linesOf({ name, help, unit, samples }: GaugeFamily): string[] {
  if (samples.length === 0) return [];
  return [
    `# TYPE ${name} gauge`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${help}`,
    ...samples.map(({ labels, value }) => {
      const known = Object.entries(labels).flatMap(([key, text]) =>
        text === null ? [] : [`${key}="${escaped(String(text))}"`],
      );
      return `${name}${known.length === 0 ? "" : `{${known.join(",")}}`} ${value}`;
    }),
  ];
}

/** Both formats escape the same three characters in a label's value. */
function escaped(text: string): string {
  if (!/["\\\n]/.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
