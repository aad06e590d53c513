import type { DocumentKind, Show } from "../draw/document-kind.js";
import { type Block, environment, type Report, tables, texts } from "../draw/report.js";
import { timeText } from "../draw/words.js";
import { type ResultDocument, resultSchema } from "../results/schema.js";
import { cellNotes } from "./cell-notes.js";
import { answer, closingLines } from "./findings/answer.js";
import { resultRows } from "./result-csv.js";
import { headerAlerts, headerFacts } from "./result-header.js";
import { cellGrids } from "./tables/cell-grids.js";
import { coldStartReports } from "./tables/cold-start-report.js";

/** The result of a run, as a kind of document. */
export const resultKind: DocumentKind<ResultDocument> = {
  schema: resultSchema,
  report: resultReport,
  rows: resultRows,
  async pictures(document) {
    return (await import("./page/result-charts.js")).resultPictures(document);
  },
};

function resultReport(document: ResultDocument, { screen, plots }: Show): Report {
  const { tool, devices, run } = document;
  const names = [...new Set(devices.map(({ name }) => name))].join(", ") || "no device";
  return {
    command: "",
    version: tool.version,
    hasTerms: true,
    name: `${names}, ${timeText(run.startedAt)}`,
    blocks: [
      ...texts("alert", headerAlerts(document)),
      ...texts("answer", answer(document)),
      environment(headerFacts(document)),
      ...tables(cellGrids(document)),
      ...texts("note", cellNotes(document, screen)),
      ...plots.map((lines): Block => ({ type: "lines", lines })),
      ...coldStartReports(document),
      ...texts("finding", closingLines(document)),
    ],
  };
}
