import { chartFile } from "../draw/chart/draw-chart.js";
import { printableReport } from "../draw/document-kind.js";
import type { Chapter } from "../draw/page/chapter.js";
import { page } from "../draw/page/page.js";
import { printableDocument, printableText } from "../draw/printable-text.js";
import { environment } from "../draw/report.js";
import { fileScreen } from "../draw/screen.js";
import { PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { type FoundDocument, type KnownDocument, loadKind } from "./document-kinds.js";

/** Documents of any kind and their comparison, as one HTML file. */
export async function pageOfDocuments(
  documents: readonly FoundDocument[],
  difference: Chapter | null = null,
): Promise<string> {
  return page(await chaptersOf(documents), packageVersion(), difference);
}

/**
 * The chart with this name as an SVG file, or the first chart for null. Rejects with a usage error if there
 * is no such chart, or if there are several.
 */
export async function chartOfDocuments(
  documents: readonly FoundDocument[],
  name: string | null,
): Promise<string> {
  const charts = (await chaptersOf(documents)).flatMap(({ charts }) => charts);
  const [chart, other] = name === null ? charts.slice(0, 1) : charts.filter((one) => one.name === name);
  if (chart === undefined) {
    if (charts.length === 0) throw new PinbenchError("usage", "there is no chart to draw here.");
    throw new PinbenchError("usage", `these documents have no chart "${name}".`, {
      hint: `Choose from ${[...new Set(charts.map((one) => one.name))].join(", ")}.`,
    });
  }
  if (other !== undefined) {
    throw new PinbenchError("usage", `several of the documents have a chart "${name}".`, {
      hint: "Give one of them, or write a page (.html).",
    });
  }
  return chartFile(chart);
}

/** The chapters of a page with these documents and their files. */
async function chaptersOf(documents: readonly FoundDocument[]): Promise<Chapter[]> {
  const found = await Promise.all(
    documents.map(async (one) => ({ chapter: await chapterOf(one), path: one.path })),
  );
  return found.map(({ chapter, path }) => {
    if (path === null) return chapter;
    const { report } = chapter;
    const file = printableText(path);
    return {
      ...chapter,
      ...(found.length > 1 && { file }),
      report: { ...report, blocks: [environment([["File", file]]), ...report.blocks] },
    };
  });
}

export async function chapterOf<Known extends KnownDocument>({
  kind: name,
  document,
}: Known): Promise<Chapter> {
  const kind = await loadKind(name);
  const show = { screen: fileScreen() };
  const { charts = [] } = (await kind.pictures?.(printableDocument(document))) ?? {};
  return { report: printableReport(kind.report(document, show)), charts };
}
