import { chartFile } from "../draw/chart/draw-chart.js";
import { printableReport } from "../draw/document-kind.js";
import type { Chapter } from "../draw/page/chapter.js";
import { page } from "../draw/page/page.js";
import { printableDocument, printableText } from "../draw/printable-text.js";
import { type Block, environment } from "../draw/report.js";
import { fileScreen } from "../draw/screen.js";
import { PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { defaultSignificance } from "../settings/table.js";
import { defaultThresholds } from "../settings/thresholds.js";
import { type KnownDocument, loadKind } from "./document-kinds.js";
import type { FoundDocument } from "./read-documents.js";

/** All of what documents of any kind show, as one file of HTML. */
export async function pageOfDocuments(documents: readonly FoundDocument[]): Promise<string> {
  return page(await chaptersOf(documents), packageVersion(), await differenceOf(documents));
}

/**
 * How the second of two results differs from the first, by the usual rule; null for other documents, and for results that
 * cannot be compared.
 */
async function differenceOf(documents: readonly FoundDocument[]): Promise<Chapter | null> {
  const [before, after] = documents;
  if (documents.length !== 2 || before?.kind !== "result" || after?.kind !== "result") return null;
  if (before.document.run.id === after.document.run.id) return null;
  const { compareResults } = await import("../compare/compare-results.js");
  const { runsOf } = await import("../compare/result-set.js");
  const setOf = ({ document, path }: typeof before) => ({ path, runs: runsOf(document, path) });
  const rule = { significance: defaultSignificance, thresholds: defaultThresholds };
  try {
    const document = compareResults({
      version: packageVersion(),
      command: "compare",
      baseline: setOf(before),
      candidate: setOf(after),
      ...{ fresh: [], suspects: [] },
      rule: { ...rule, allowMismatch: false, strict: false },
    });
    if (document.differences.some(({ blocks }) => blocks)) return null;
    const { report, charts } = await chapterOf({ kind: "comparison", document });
    const [from, to] = [before, after].map(({ path }) => path ?? "measured now");
    const isShown = (block: Block) => block.type !== "facts" && block.type !== "fold";
    return {
      report: {
        ...report,
        name: printableText(`Difference: ${from} → ${to}`),
        blocks: report.blocks.filter(isShown),
      },
      charts: charts.map((chart) => ({ ...chart, isFolded: true })),
      samples: [],
    };
  } catch (error) {
    if (error instanceof PinbenchError && error.kind === "notComparable") return null;
    throw error;
  }
}

/** One of the documents' charts as a file of SVG. Rejects with a usage error that lists the charts there are. */
export async function chartOfDocuments(documents: readonly FoundDocument[], name: string): Promise<string> {
  const charts = (await chaptersOf(documents)).flatMap(({ charts }) => charts);
  const [chart, other] = charts.filter((one) => one.name === name);
  if (chart === undefined) {
    const names = [...new Set(charts.map((one) => one.name))];
    throw new PinbenchError("usage", `these documents have no chart "${name}".`, {
      hint: names.length === 0 ? "It has no chart at all." : `Choose from ${names.join(", ")}.`,
    });
  }
  if (other !== undefined) {
    throw new PinbenchError("usage", `several of the documents have a chart "${name}".`, {
      hint: "Give one of them, or write a page (.html).",
    });
  }
  return chartFile(chart);
}

/** What a page shows of documents, with the files that they were found in. */
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

async function chapterOf<Known extends KnownDocument>({ kind: name, document }: Known): Promise<Chapter> {
  const kind = await loadKind(name);
  const show = { screen: fileScreen(), showsAll: false, plots: [] };
  const { charts = [], samples = [] } = (await kind.pictures?.(printableDocument(document))) ?? {};
  return { report: printableReport(kind.report(document, show)), charts, samples };
}
