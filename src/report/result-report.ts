import type { DocumentKind, Show } from "../draw/document-kind.js";
import {
  type Block,
  details,
  environment,
  type Note,
  note,
  type Report,
  section,
  tables,
  texts,
} from "../draw/report.js";
import { timeText } from "../draw/words.js";
import { sign } from "../results/naming/cell-figure.js";
import { type ResultDocument, resultSchema } from "../results/schema.js";
import { variantOf } from "../results/variant.js";
import { cellNotes, urgentNotes } from "./cell-notes.js";
import { answer, closingLines } from "./findings/answer.js";
import { mainRates } from "./findings/main-rates.js";
import { bindingCommands, nodeNotes } from "./findings/node-findings.js";
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

/** Cells of the preset quick, with the host's memory. */
const mostQuickCells = 6;

/** Whether a note explains the sign of a missing interval, as `pinbench help terms` does too. */
const isOnNoInterval = (text: string) => text.startsWith(`${sign.noInterval} `);

const isAlarm = ({ tone }: Note) => tone === "mismatch" || tone === "failure";

function resultReport(document: ResultDocument, { screen, plots }: Show): Report {
  const { tool, devices, run } = document;
  const names = [...new Set(devices.map(({ name }) => name))].join(", ") || "no device";
  const urgent = new Set(urgentNotes(document, screen).map(({ text }) => text));
  const isPlain = document.cells.every((cell) => variantOf(cell) === "plain");
  const rates = mainRates(document);
  const answers = answer(document, screen.isVerbose ? undefined : rowsInBrief(document));
  const lines = serverConstants(document);
  const binding = bindingCommands(document);
  const constants: Block | null = lines === null ? null : { type: "code", language: "sh", text: lines };
  return {
    command: "",
    version: tool.version,
    hasTerms: true,
    endsWithAnswer: true,
    mostLines: isPlain ? (document.cells.length <= mostQuickCells ? 20 : 40) : 60,
    tableLines: isPlain ? 27 : document.blockCutoffs == null ? 38 : 44,
    name: `${names}, ${timeText(run.startedAt)}`,
    blocks: [
      ...texts("alert", headerAlerts(document)),
      ...texts("answer", answers.filter(isAlarm)),
      ...(rates === null
        ? []
        : texts("answer", [note(`${rates.text}.`)]).map((block) => ({ ...block, headline: rates.headline }))),
      ...texts(
        "answer",
        answers.filter((one) => !isAlarm(one)),
      ).map(
        (block): Block => ("tone" in block && block.tone === "warning" ? { ...block, yields: 2 } : block),
      ),
      environment(headerFacts(document), briefFacts(document)),
      ...tables(cutoffGrids(document)),
      ...(constants === null ? [] : [section("For inference servers, to paste:", [constants], true)]),
      ...(binding === null
        ? []
        : [
            section(
              "To bind programs, to paste:",
              [{ type: "code", language: "sh", text: binding } as const],
              true,
            ),
          ]),
      ...nodeNotes(document).flatMap((one) => {
        const blocks = texts("note", [one]);
        return one.tone === "muted" ? details(blocks) : blocks;
      }),
      ...cellGrids(document).map(({ isDetail, ...grid }): Block => {
        const table: Block = { type: "table", grid };
        return isDetail ? { ...table, isDetail } : table;
      }),
      ...cellNotes(document, screen).map((one): Block => {
        const block: Block = { type: "note", ...one };
        if (!urgent.has(one.text)) return { ...block, isDetail: true };
        const isGrave = one.tone === "failure" || one.tone === "mismatch";
        return isGrave ? block : { ...block, yields: isOnNoInterval(one.text) ? 1 : 3 };
      }),
      ...plots.map((lines): Block => ({ type: "lines", lines })),
      ...details(coldStartReports(document)),
      ...details(texts("finding", closingLines(document))),
    ],
  };
}
