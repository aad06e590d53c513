import { type DocumentKind, drawDocument } from "../../draw/document-kind.js";
import { printableDocument } from "../../draw/printable-text.js";
import type { Screen } from "../../draw/screen.js";
import { PinbenchError } from "../../errors.js";
import { type KnownDocument, loadKind } from "../../kinds/document-kinds.js";
import type { FoundDocument } from "../../kinds/read-documents.js";
import { chartChoices, checkChartName, type Formats, formatOfPath } from "../../settings/document-formats.js";
import type { Output } from "./delivery.js";

/** What says which files a command writes. */
interface OutputFlags {
  output: readonly string[];
  /** Which chart an .svg file is to have; null if none is named. Absent from commands whose documents have no charts. */
  chart?: string | null;
}

/**
 * The files of `--output` with the formats that their names ask for. Throws a usage error where --chart and
 * these do not belong together: found before anything is measured.
 */
export function outputFiles<Some extends Formats>(
  formats: Some,
  { output, chart = null }: OutputFlags,
): Output<keyof Some & string>[] {
  const files = output.map((path) => ({ path, format: formatOfPath(formats, path) }));
  const picture = files.find(({ format }) => format === "svg");
  if (chart !== null && picture === undefined) {
    throw new PinbenchError("usage", "--chart has no effect without an .svg file in --output.", {
      hint: `Give --output ${/^[\w-]+$/.test(chart) ? chart : "chart"}.svg as well.`,
    });
  }
  if (chart === null && picture !== undefined) {
    throw new PinbenchError("usage", `${picture.path} shows one chart, and --chart does not name it.`, {
      hint: `Give --chart NAME. ${chartChoices(formats)}`,
    });
  }
  if (chart !== null) checkChartName(formats, chart);
  return files;
}

/** Whether a format is a page or a picture, for which much more is loaded. */
export function isPicture(format: string): boolean {
  return format === "html" || format === "svg";
}

/** What a command says of how its document is shown, beside the screen. */
interface ShowOptions<Document> {
  showsAll?: boolean;
  /** Draws curves below the tables of a terminal. */
  drawPlots?: (document: Document, screen: Screen) => string[][];
  /** The kind where it is another one than the document's usual one. */
  kind?: DocumentKind<Document>;
}

/** What renders a document in whatever format is asked for. */
export async function documentDrawer<Known extends KnownDocument>(
  { kind: name, document }: Known,
  { chart = null }: Partial<OutputFlags>,
  { showsAll = false, drawPlots, kind: given }: ShowOptions<Known["document"]> = {},
): Promise<(format: string, screen: Screen) => string | Promise<string>> {
  const kind = given ?? ((await loadKind(name)) as unknown as DocumentKind<Known["document"]>);
  return (format, screen) => {
    const found = { kind: name, document, path: null } as unknown as FoundDocument;
    if (isPicture(format)) return drawPictures([found], format, chart);
    const plots = format === "table" ? (drawPlots?.(printableDocument(document), screen) ?? []) : [];
    return drawDocument(kind, document, format, { screen, showsAll, plots });
  };
}

/** All charts and tables of documents as a page, or one of their charts. Rejects as chartOfDocuments() does. */
export async function drawPictures(
  documents: readonly FoundDocument[],
  format: string,
  chart: string | null,
): Promise<string> {
  const { pageOfDocuments, chartOfDocuments } = await import("../../kinds/draw-documents.js");
  return format === "html" ? pageOfDocuments(documents) : chartOfDocuments(documents, chart ?? "");
}
