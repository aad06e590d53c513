import { type DocumentKind, drawDocument, printableReport } from "../../src/draw/document-kind.js";
import type { Chapter } from "../../src/draw/page/chapter.js";
import { printableDocument } from "../../src/draw/printable-text.js";
import type { Block, Report } from "../../src/draw/report.js";
import { fileScreen } from "../../src/draw/screen.js";
import { resultPictures } from "../../src/report/page/result-charts.js";
import { resultKind } from "../../src/report/result-report.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { type DocumentName, formatNames } from "../../src/settings/document-formats.js";

/** A document in a format of its kind; drawn for a file unless a screen is given. */
export function drawn<Document>(
  kind: DocumentKind<Document>,
  document: Document,
  format: string,
  screen = fileScreen(),
): string {
  return drawDocument(kind, document, format, { screen });
}

/** A document's report, with printable texts only. */
export function reportOf<Document>(kind: DocumentKind<Document>, document: Document): Report {
  return printableReport(kind.report(document, { screen: fileScreen() }));
}

/** The blocks of a type, in their order. */
export function blocksOf<Type extends Block["type"]>(
  { blocks }: Report,
  type: Type,
): Extract<Block, { type: Type }>[] {
  return blocks.filter((block): block is Extract<Block, { type: Type }> => block.type === type);
}

/** A result's page. */
export function resultChapter(document: ResultDocument): Chapter {
  return { report: reportOf(resultKind, document), ...resultPictures(printableDocument(document)) };
}

/** The values of `--format` for a kind of document, without the page. */
export function textFormats(kind: DocumentName): string[] {
  return formatNames(kind).filter((format) => format !== "html");
}
