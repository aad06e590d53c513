import {
  type CsvColumn,
  type CsvValue,
  csvRows,
  type DocumentKind,
  type Show,
} from "../draw/document-kind.js";
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
import { variantKeys } from "../results/cell-id.js";
import type { CellResult, CellStats, Distribution } from "../results/cell-schema.js";
import { sign } from "../results/naming/cell-figure.js";
import { labelsLine } from "../results/naming/wording.js";
import { type ResultDocument, resultSchema } from "../results/schema.js";
import { variantOf } from "../results/variant.js";
import { cellNotes, urgentNotes } from "./cell-notes.js";
import { answer, closingLines } from "./findings/answer.js";
import { mainRates } from "./findings/main-rates.js";
import { bindingCommands, nodeNotes } from "./findings/node-findings.js";
import { serverConstants } from "./findings/server-constants.js";
import { briefFacts, headerAlerts, headerFacts } from "./result-header.js";
import { cutoffGrids } from "./tables/block-grids.js";
import { cellGrids, rowsInBrief } from "./tables/cell-grids.js";
import { coldStartReports } from "./tables/cold-start-report.js";

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

function resultReport(document: ResultDocument, { screen }: Show): Report {
  const { tool, devices, run } = document;
  const names = [...new Set(devices.map(({ name }) => name))].join(", ") || "no device";
  const urgent = new Set(urgentNotes(document).map(({ text }) => text));
  const isPlain = document.cells.every((cell) => variantOf(cell) === "plain");
  const rates = mainRates(document);
  const answers = answer(document, screen.showsAll ? undefined : rowsInBrief(document));
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
      ...cellNotes(document).map((one): Block => {
        const block: Block = { type: "note", ...one };
        if (!urgent.has(one.text)) return { ...block, isDetail: true };
        const isGrave = one.tone === "failure" || one.tone === "mismatch";
        return isGrave ? block : { ...block, yields: isOnNoInterval(one.text) ? 1 : 3 };
      }),
      ...details(coldStartReports(document)),
      ...details(texts("finding", closingLines(document))),
    ],
  };
}

interface CsvRow {
  document: ResultDocument;
  cell: CellResult;
  /** Null for a cell without figures. */
  stats: CellStats | null;
}

const csvColumns: readonly CsvColumn<CsvRow>[] = [
  ["id", ({ cell }) => cell.id],
  ["backend", ({ document }) => document.backend],
  ["device", ({ cell }) => cell.device],
  [
    "device_name",
    ({ document, cell }) => document.devices.find(({ ordinal }) => ordinal === cell.device)?.name ?? null,
  ],
  ["direction", ({ cell }) => cell.direction],
  // For a bidir cell: h2d, d2h or their sum.
  ["moved", ({ stats }) => stats?.direction ?? null],
  ["memory", ({ cell }) => cell.memory],
  ["size_bytes", ({ cell }) => cell.sizeBytes],
  ["workers", ({ cell }) => cell.workers],
  ["mode", ({ cell }) => cell.mode],
  ["cache", ({ cell }) => cell.cache],
  ["outcome", ({ cell }) => cell.outcome],
  ["samples", ({ stats }) => stats?.samples ?? 0],
  // If above 1, low and high are the interval between the processes.
  ["processes", ({ stats }) => stats?.bandwidthGBps.processMedians?.length ?? 1],
  ["copies_per_sample", ({ cell }) => cell.copiesPerSample],
  ...distributionColumns("bandwidth_gb_per_s", (stats) => stats.bandwidthGBps),
  ["relative_half_width", ({ stats }) => stats?.relativeHalfWidth ?? null],
  ...distributionColumns("latency_us", (stats) => stats.latencyUs),
  ["latency_us_p90", ({ stats }) => stats?.latencyUs?.p90 ?? null],
  ["latency_us_p99", ({ stats }) => stats?.latencyUs?.p99 ?? null],
  ["link_share", ({ stats }) => stats?.linkShare ?? null],
  ["skip_reason", ({ cell }) => cell.skipReason],
  ["error", ({ cell }) => cell.error?.message ?? null],
  ["warnings", ({ cell }) => (cell.warnings.length === 0 ? null : cell.warnings.join("; "))],
  // Later columns stand behind those before them, which keep their place. Of plain cells those up to chunks are empty.
  ...variantColumns(0, 6),
  // The load during the copies, in load_unit.
  ["load_unit", ({ cell }) => cell.load?.unit ?? null],
  ["load_alone_median", ({ cell }) => cell.load?.alone.median ?? null],
  ["load_during_median", ({ cell }) => cell.load?.during.median ?? null],
  ...(["median", "low", "high"] as const).map(
    (key): CsvColumn<CsvRow> => [`load_kept_share_${key}`, ({ cell }) => cell.load?.keptShare[key] ?? null],
  ),
  // Time of a pipeline's kernels for one copy.
  ["compute_ns", ({ cell }) => cell.computeNs ?? null],
  ["host", ({ document }) => document.host?.hostname ?? null],
  ["run_id", ({ document }) => document.run.id],
  ["started_at", ({ document }) => document.run.startedAt],
  ["labels", ({ document }) => labelsLine(document)],
  // Scattered blocks; a worker's CPU time for a block.
  ...variantColumns(6, 8),
  ...(["median", "low", "high"] as const).map(
    (key): CsvColumn<CsvRow> => [
      `host_ns_per_block_${key}`,
      ({ cell }) => cell.hostNsPerBlock?.[key] ?? null,
    ],
  ),
  ...variantColumns(8),
];

/** One row per cell and direction, also for a cell without figures; the first row has the names of the columns. */
function resultRows(document: ResultDocument): CsvValue[][] {
  const rows = document.cells.flatMap((cell) => {
    const figures = cell.stats.length === 0 ? [null] : cell.stats;
    return figures.map((stats) => ({ document, cell, stats }));
  });
  return csvRows(csvColumns, rows);
}

/** The parameters that a plain cell lacks, from one place in their order to another. */
function variantColumns(first: number, end?: number): CsvColumn<CsvRow>[] {
  return variantKeys.slice(first, end).map((key) => [
    key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ({ cell }) => {
      const value = cell[key];
      return Array.isArray(value) ? value.join(" ") : (value ?? null);
    },
  ]);
}

function distributionColumns(
  prefix: string,
  of: (stats: CellStats) => Distribution | null,
): CsvColumn<CsvRow>[] {
  return (["median", "low", "high", "min", "max"] as const).map((key) => [
    `${prefix}_${key}`,
    ({ stats }) => (stats && of(stats))?.[key] ?? null,
  ]);
}
