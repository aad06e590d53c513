import { compareSets } from "../compare/compare-results.js";
import { runsOf } from "../compare/result-set.js";
import type { Chapter } from "../draw/page/chapter.js";
import { printableText } from "../draw/printable-text.js";
import { PinbenchError } from "../errors.js";
import { defaultThresholds } from "../settings/thresholds.js";
import type { FoundDocument } from "./document-kinds.js";
import { chapterOf } from "./draw-documents.js";

/** The comparison of two different, comparable results by default thresholds; null for others. */
export async function differenceOf(documents: readonly FoundDocument[]): Promise<Chapter | null> {
  const [before, after] = documents;
  if (documents.length !== 2 || before?.kind !== "result" || after?.kind !== "result") return null;
  if (before.document.run.id === after.document.run.id) return null;
  const setOf = ({ document, path }: typeof before) => ({ path, runs: runsOf(document, path) });
  try {
    const rule = { thresholds: defaultThresholds, allowMismatch: false, strict: false };
    const document = compareSets(setOf(before), setOf(after), rule);
    if (document.differences.some(({ blocks }) => blocks)) return null;
    const { report, charts } = await chapterOf({ kind: "comparison", document });
    const [from, to] = [before, after].map(({ path }) => path ?? "measured now");
    return {
      report: {
        ...report,
        name: printableText(`Difference: ${from} → ${to}`),
        blocks: report.blocks.filter(({ type }) => type !== "facts"),
      },
      charts,
    };
  } catch (error) {
    if (error instanceof PinbenchError && error.kind === "notComparable") return null;
    throw error;
  }
}
