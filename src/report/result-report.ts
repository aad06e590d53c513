import type { DocumentKind } from "../draw/document-kind.js";
import {
  type Block,
  environment,
  facts,
  type Note,
  type Report,
  section,
  shortened,
  tables,
  texts,
} from "../draw/report.js";
import { timeText } from "../draw/words.js";
import { type ResultDocument, resultSchema } from "../results/schema.js";
import { otherNotes, urgentNotes } from "./cell-notes.js";
import { type ComparedFinding, comparisons } from "./findings/comparisons.js";
import { type Finding, findingGrid, scopeOf } from "./findings/finding.js";
import { headline, mainFigures } from "./findings/headline.js";
import { bindingCommands, nodeFindings, nodeNotes } from "./findings/node-findings.js";
import { cutoffFindings, unstableFinding } from "./findings/other-findings.js";
import { serverConstants } from "./findings/server-constants.js";
import { briefFacts, headerAlerts, headerFacts } from "./result-header.js";
import { resultRows } from "./result-rows.js";
import { briefGrid, cellGrids } from "./tables/cell-grids.js";
import { coldStartReports } from "./tables/cold-start-report.js";
import { cutoffGrids } from "./tables/cutoff-grids.js";

export const resultKind: DocumentKind<ResultDocument> = {
  schema: resultSchema,
  report: resultReport,
  rows: resultRows,
  async pictures(document) {
    return (await import("./page/result-charts.js")).resultPictures(document);
  },
};

function resultReport(document: ResultDocument): Report {
  const { tool, devices, run } = document;
  const names = [...new Set(devices.map(({ name }) => name))].join(", ") || "no device";
  const compared = comparisons(document);
  const others = [...cutoffFindings(document), ...nodeFindings(document)];
  const [unstable, uneven] = [true, false].map((isOfSteady) => unstableFinding(document, isOfSteady));
  const first: Block[] = [
    ...texts("alert", headerAlerts(document)),
    ...answers(document, headline(document, { compared, others, unstable: unstable ?? null })),
  ];
  const rows = (some: readonly Finding[]) =>
    some.length === 0 ? [] : tables([findingGrid(some, scopeOf(run.runs))]);
  const pasted = [
    ...codeSection("For inference servers, to paste:", serverConstants(document)),
    ...codeSection("To bind programs, to paste:", bindingCommands(document)),
  ];
  const ofVariants = [...others, ...compared.filter(({ variant }) => variant !== "plain")];
  const main = ofVariants.length > 0 ? null : briefGrid(document);
  const grids = cellGrids(document);
  const urgent = texts("note", [...nodeNotes(document), ...urgentNotes(document)]);
  return {
    command: "",
    version: tool.version,
    hasTerms: true,
    name: `Copy speed: ${names}, ${timeText(run.startedAt)}`,
    brief: {
      blocks: [
        ...first,
        facts(briefFacts(document)),
        ...(main === null ? [] : tables([main])),
        ...shortened(rows(differencesFirst(ofVariants)), 6),
        ...(main === null && ofVariants.length === 0 ? tables(grids) : []),
        ...pasted,
        ...urgent,
      ],
      leavesOut: "all rows and notes",
    },
    blocks: [
      ...first,
      environment(headerFacts(document)),
      ...tables(cutoffGrids(document)),
      ...pasted,
      ...tables(grids),
      ...rows([...compared, ...others, ...[unstable, uneven].flatMap((one) => one ?? [])]),
      ...urgent,
      ...texts("note", otherNotes(document)),
      ...coldStartReports(document),
    ],
  };
}

const briefOrder: readonly Finding["verdict"][] = ["", "unstable", "slower", "faster", "same", "undecided"];

const differencesFirst = (findings: readonly (Finding | ComparedFinding)[]) => {
  const distance = (one: Finding | ComparedFinding) =>
    "ratio" in one ? Math.abs(Math.log(one.ratio.median)) : 0;
  return findings.toSorted(
    (a, b) => briefOrder.indexOf(a.verdict) - briefOrder.indexOf(b.verdict) || distance(b) - distance(a) || 0,
  );
};

function answers(document: ResultDocument, lines: readonly Note[]): Block[] {
  const figures = mainFigures(document);
  return lines.map((line, i) => ({
    type: "answer",
    ...line,
    ...(i === 0 && figures.length > 0 ? { headline: figures } : {}),
  }));
}

function codeSection(title: string, text: string | null): Block[] {
  return text === null ? [] : [section(title, [{ type: "code", language: "sh", text }], true)];
}
