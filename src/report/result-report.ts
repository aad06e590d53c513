import type { DocumentKind, Show } from "../draw/document-kind.js";
import {
  type Block,
  details,
  environment,
  note,
  type Report,
  section,
  tables,
  texts,
} from "../draw/report.js";
import { timeText } from "../draw/words.js";
import { type ResultDocument, resultSchema } from "../results/schema.js";
import { variantOf } from "../results/variant.js";
import { cellNotes, urgentNotes } from "./cell-notes.js";
import { answer, closingLines } from "./findings/answer.js";
import { mainRates } from "./findings/main-rates.js";
import { serverConstants } from "./findings/server-constants.js";
import { resultRows } from "./result-csv.js";
import { briefFacts, headerAlerts, headerFacts } from "./result-header.js";
import { cutoffGrids } from "./tables/block-grids.js";
import { cellGrids, rowsInBrief } from "./tables/cell-grids.js";
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
  const urgent = new Set(urgentNotes(document, screen).map(({ text }) => text));
  const isPlain = document.cells.every((cell) => variantOf(cell) === "plain");
  const rates = mainRates(document);
  const lines = serverConstants(document);
  const constants: Block | null = lines === null ? null : { type: "code", language: "sh", text: lines };
  return {
    command: "",
    version: tool.version,
    hasTerms: true,
    endsWithAnswer: true,
    tableLines: isPlain ? 27 : document.blockCutoffs == null ? 38 : 44,
    name: `${names}, ${timeText(run.startedAt)}`,
    blocks: [
      ...texts("alert", headerAlerts(document)),
      ...texts("answer", answer(document, screen.isVerbose ? undefined : rowsInBrief(document))),
      ...(rates === null
        ? []
        : texts("answer", [note(`${rates.text}.`)]).map((block) => ({ ...block, headline: rates.headline }))),
      environment(headerFacts(document), briefFacts(document)),
      ...tables(cutoffGrids(document)),
      ...(constants === null ? [] : [section("For inference servers, to paste:", [constants], true)]),
      ...cellGrids(document).map(({ isDetail, ...grid }): Block => {
        const table: Block = { type: "table", grid };
        return isDetail ? { ...table, isDetail } : table;
      }),
      ...cellNotes(document, screen).map((one): Block => {
        const block: Block = { type: "note", ...one };
        return urgent.has(one.text) ? block : { ...block, isDetail: true };
      }),
      ...plots.map((lines): Block => ({ type: "lines", lines })),
      ...details(coldStartReports(document)),
      ...details(texts("finding", closingLines(document))),
    ],
  };
}
