import type { DocumentKind } from "../../draw/document-kind.js";
import { roundUp } from "../../draw/numbers.js";
import {
  detail,
  environment,
  type Fact,
  type Figure,
  facts,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  shortened,
  tables,
  texts,
  wordColumn,
} from "../../draw/report.js";
import { counted, listed, timeText } from "../../draw/words.js";
import { absentFigure } from "../../results/naming/cell-figure.js";
import { cellNames } from "../../results/naming/wording.js";
import { groupBy } from "../../stats/group-by.js";
import { fewestForSteps } from "../../stats/level-fit.js";
import { type HistoryDocument, historySchema, type Trend } from "../history/history-document.js";
import { findingNotes, trendChange, trendFigure, trendFindings } from "./history-findings.js";

export const historyKind: DocumentKind<HistoryDocument> = {
  schema: historySchema,
  report: historyReport,
  async pictures(document) {
    const { historyCharts } = await import("./history-charts.js");
    return { charts: historyCharts(withNames(document)) };
  },
};

function historyReport(document: HistoryDocument): Report {
  const history = withNames(document);
  const { checks, path, tool, notice } = history;
  const last = checks.at(-1);
  const until = last === undefined ? "" : ` until ${timeText(last.startedAt)}`;
  const first = [
    ...texts("alert", notice === null ? [] : [note(notice, "warning")]),
    ...texts("answer", headline(history)),
  ];
  const trends = tables(gridsOf(history));
  return {
    command: "history",
    version: tool.version,
    hasTerms: true,
    name: `History: ${counted(checks.length, "check")} in ${path}${until}`,
    brief: {
      blocks: [
        ...first,
        facts(factsOf(history)),
        ...shortened(trends, mostBriefTrends),
        ...texts("note", omissions(history).slice(0, mostBriefNotes)),
      ],
      leavesOut: "all trends and findings",
    },
    blocks: [
      ...first,
      environment(factsOf(history)),
      ...trends,
      ...texts("finding", findingNotes(history, "whole")),
      ...texts("note", notesOf(history)),
    ],
  };
}

const [mostBriefTrends, mostBriefNotes] = [8, 2];

function withNames(history: HistoryDocument): HistoryDocument {
  const ids = history.trends.flatMap(({ kind, ids }) => (kind === "cell" ? ids : []));
  const nameOf = cellNames(ids);
  const trends = history.trends.map((trend) => {
    const [id = ""] = trend.ids;
    return trend.kind === "group" ? trend : { ...trend, name: trend.name.replace(id, nameOf(id)) };
  });
  return { ...history, trends };
}

/** The most urgent findings, and the number of trends with one. */
function headline({ checks, trends, path }: HistoryDocument): Note[] {
  if (checks.length === 0) return [note(`${path} holds no check yet.`)];
  if (trends.length === 0) return [note("No check has a figure.")];
  if (checks.length < fewestForSteps)
    return [note(`Only ${counted(checks.length, "check")} so far: a trend needs ${fewestForSteps}.`)];
  const changed = trends.filter((trend) => trendFindings(trend, checks).length > 0).length;
  const inChecks = `in ${counted(checks.length, "check")}`;
  if (changed === 0) return [note(`No change ${inChecks} (${counted(trends.length, "trend")}).`)];
  return [
    ...findingNotes({ trends, checks }, "brief").slice(0, mostNamedFindings),
    note(`${changed} of ${counted(trends.length, "trend")} changed ${inChecks}.`),
  ];
}

const mostNamedFindings = 2;

function factsOf({ path, checks, trends }: HistoryDocument): Fact[] {
  const [first, last] = [checks[0], checks.at(-1)];
  if (first === undefined || last === undefined) return [["History", `${path}, no check`]];
  const period =
    first === last
      ? `of ${timeText(first.startedAt)}`
      : `from ${timeText(first.startedAt)} to ${timeText(last.startedAt)}`;
  const outcomes = [...groupBy(checks, ({ outcome }) => outcome)].map(
    ([outcome, members]) => `${members.length} ${outcome}`,
  );
  const machines = new Set(trends.flatMap(({ machine }) => machine ?? []));
  return [
    ["History", `${path}, ${counted(checks.length, "check")} ${period}`],
    ...(machines.size === 0 ? [] : [["Machines", [...machines].join("; ")] as const]),
    ["Outcomes", listed(outcomes)],
  ];
}

function gridsOf({ trends, checks }: HistoryDocument): Grid[] {
  if (trends.length === 0) return [];
  const findings = (trend: Trend) => Math.min(1, trendFindings(trend, checks).length);
  const columns = [
    wordColumn("trend"),
    numberColumn("median"),
    numberColumn("last step"),
    numberColumn("newest"),
    detail(numberColumn("least")),
    detail(numberColumn("most")),
    detail(numberColumn("noise")),
  ];
  return [
    { name: "All trends", columns, rows: trends.toSorted((a, b) => findings(b) - findings(a)).map(rowOf) },
  ];
}

function rowOf(trend: Trend): Figure[] {
  const { name, median, points, steps, newest, noise } = trend;
  const step = steps.at(-1);
  const changes = points.map(({ change }) => change);
  const changeFigure = (change: number) => figure(trendChange(change, trend));
  return [
    figure(name),
    median === null ? absentFigure : figure(trendFigure(median, trend)),
    step === undefined ? absentFigure : changeFigure(step.change),
    newest === null
      ? absentFigure
      : figure(trendChange(newest.change, trend), "", newest.isFar ? "warning" : "plain"),
    changeFigure(Math.min(...changes)),
    changeFigure(Math.max(...changes)),
    noise === null ? absentFigure : figure(`${roundUp(noise * 100, 2)} %`),
  ];
}

function omissions({ notes }: HistoryDocument): Note[] {
  return notes.map((text) => note(`note: ${text}`));
}

function notesOf(history: HistoryDocument): Note[] {
  const legend =
    "newest: against the median of the checks before it since the last step; least and most: the changes against the median of all checks; noise: standard deviation of a check about its level";
  return [...(history.trends.length === 0 ? [] : [note(legend, "muted")]), ...omissions(history)];
}
