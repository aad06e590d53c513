import type { DocumentKind, Show } from "../draw/document-kind.js";
import { formatGBps, formatRatio, formatShare } from "../draw/numbers.js";
import {
  type Block,
  details,
  environment,
  type Fact,
  note,
  type Report,
  section,
  tables,
  texts,
} from "../draw/report.js";
import { timeText } from "../draw/words.js";
import { measuredStats } from "../results/naming/cell-figure.js";
import { type ResultDocument, resultSchema } from "../results/schema.js";
import { variantOf } from "../results/variant.js";
import type { Memory } from "../settings/choices.js";
import { formatSize } from "../settings/units.js";
import { cellNotes, urgentNotes } from "./cell-notes.js";
import { answer, closingLines } from "./findings/answer.js";
import { type OneWay, oneWay } from "./findings/copy-answers.js";
import { comparableCells } from "./findings/finding-evidence.js";
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

/** The main figures of plain copies: a sentence without its full stop, and the figures of copies to the device. */
interface MainRates {
  text: string;
  headline: Fact[];
}

/** Median rates of pinned and pageable memory by one worker, at the largest size that has both; null without one. */
function mainRates(document: ResultDocument): MainRates | null {
  const cells = comparableCells(document).filter((cell) => cell.mode === "throughput" && cell.workers === 1);
  const statsOf = (memory: Memory, direction: OneWay, sizeBytes: number) => {
    const cell = cells.find(
      (one) => one.memory === memory && one.direction === direction && one.sizeBytes === sizeBytes,
    );
    return measuredStats(cell, direction);
  };
  const sizes = [...new Set(cells.map(({ sizeBytes }) => sizeBytes))].sort((a, b) => b - a);
  for (const size of sizes) {
    const [pinned, pageable] = (["pinned", "pageable"] as const).map((memory) =>
      oneWay.map((direction) => statsOf(memory, direction, size)),
    );
    const [to, back, slowTo, slowBack] = [...pinned!, ...pageable!].map(
      (stats) => stats?.bandwidthGBps.median ?? null,
    );
    if (to == null || slowTo == null) continue;
    const returned = back == null || slowBack == null ? ["", ""] : [back, slowBack].map(formatGBps);
    const [ofPinned, ofPageable] =
      returned[0] === "" ? ["", ""] : [`, ${returned[0]} back`, ` and ${returned[1]}`];
    const share = pinned?.[0]?.linkShare ?? null;
    return {
      text: `${formatSize(size)}: pinned ${formatGBps(to)} GB/s to the device${ofPinned}; pageable ${formatGBps(slowTo)}${ofPageable}`,
      headline: [
        ["pinned, to the device", `${formatGBps(to)} GB/s`],
        ["pageable", `${formatGBps(slowTo)} GB/s`],
        ...(slowTo === 0 ? [] : [["pinned over pageable", formatRatio(to / slowTo)] as const]),
        ...(share === null ? [] : [["of the link", formatShare(share)] as const]),
      ],
    };
  }
  return null;
}
