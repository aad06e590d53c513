import { chartFile } from "../../draw/chart/draw-chart.js";
import type { Chapter } from "../../draw/page/chapter.js";
import { page } from "../../draw/page/page.js";
import { printableDocument } from "../../draw/printable-text.js";
import { PinbenchError } from "../../errors.js";
import { mergeProcesses } from "../../measure/merge-processes.js";
import { packageVersion } from "../../package-facts.js";
import type { ResultDocument } from "../../results/schema.js";
import type { AnyDocument } from "../read-document.js";
import { comparisonChapter } from "./comparison-chapter.js";
import { fleetChapter } from "./fleet-chapter.js";
import { historyChapter } from "./history-chapter.js";
import { resultChapter } from "./result-chapter.js";
import { tuningChapter } from "./tuning-chapter.js";

/** All of what documents of any kind show, as one file of HTML. */
export function pageOfDocuments(documents: readonly AnyDocument[]): string {
  return page(chaptersOf(documents), packageVersion());
}

/** One of the documents' charts as a file of SVG. Throws a usage error that lists the charts there are. */
export function chartOfDocuments(documents: readonly AnyDocument[], name: string): string {
  const charts = chaptersOf(documents).flatMap(({ charts }) => charts);
  const [chart, other] = charts.filter((one) => one.name === name);
  if (chart === undefined) {
    const names = [...new Set(charts.map((one) => one.name))];
    throw new PinbenchError("usage", `there is no chart "${name}" in what was to be drawn.`, {
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

/** What a page shows of documents, with the files that they were found in: also in titles that more than one has. */
function chaptersOf(documents: readonly AnyDocument[]): Chapter[] {
  const found = documents.flatMap((any) =>
    chaptersOfOne(printableDocument(any)).map((chapter) => ({ chapter, path: any.path })),
  );
  const isShared = (title: string) => found.filter(({ chapter }) => chapter.title === title).length > 1;
  return found.map(({ chapter, path }) => {
    if (path === null) return chapter;
    const { title, facts } = chapter;
    return {
      ...chapter,
      title: isShared(title) ? `${title} (${path})` : title,
      facts: [["File", path], ...facts],
    };
  });
}

/** One chapter, but for a folder of runs that are not alike one a run. */
function chaptersOfOne(any: AnyDocument): Chapter[] {
  switch (any.kind) {
    case "result":
      return [resultChapter(any.document)];
    case "runs":
      return joined(any.documents).map(resultChapter);
    case "comparison":
      return [comparisonChapter(any.document)];
    case "tuning":
      return [tuningChapter(any.document)];
    case "history":
      return [historyChapter(any.document)];
    case "fleet":
      return [fleetChapter(any.document)];
  }
}

/**
 * The runs of a baseline are fresh processes that measured the same cells, as those of `run --processes` are, and are
 * shown as these: the median of their medians, and the interval between them. Others are shown one by one.
 */
function joined(runs: readonly ResultDocument[]): readonly ResultDocument[] {
  const [first, ...others] = runs;
  const isAlone = (run: ResultDocument) => (run.run.processes ?? []).length === 0;
  const isComplete = (run: ResultDocument) => run.run.status === "complete" && run.devices.length > 0;
  const key = ({ backend, cells, fingerprint }: ResultDocument) =>
    JSON.stringify([backend, Object.entries(fingerprint).sort(), cells.map(({ id }) => id).sort()]);
  const areAlike = first !== undefined && others.length > 0 && others.every((run) => key(run) === key(first));
  if (!areAlike || !runs.every((run) => isAlone(run) && isComplete(run))) return runs;
  return [mergeProcesses(first, runs)];
}
