import type { CellComparison } from "../../compare/comparison.js";
import { sign } from "../cell-figure.js";
import { type Column, type Figure, figure, type Grid, type Tone } from "../report-parts.js";
import { cellName, changeText, formatFigure, intervalText, unitName } from "./cell-text.js";
import { verdictTone } from "./outcome.js";

const captions = {
  "GB/s": `Throughput in ${unitName["GB/s"]}, more is faster`,
  us: `Latency in ${unitName.us}, less is faster`,
} as const;

const columns: readonly Column[] = [
  { head: ["cell"], align: "left" },
  { head: ["baseline"], align: "right" },
  { head: ["candidate"], align: "right" },
  { head: ["change"], align: "right" },
  { head: ["verdict"], align: "left" },
];

/** A row for each cell, in their order; a table a unit. */
export function comparisonGrids(cells: readonly CellComparison[]): Grid[] {
  return (["GB/s", "us"] as const).flatMap((unit) => {
    const members = cells.filter((cell) => cell.unit === unit);
    return members.length === 0 ? [] : [{ caption: captions[unit], columns, rows: members.map(rowOf) }];
  });
}

/** What is the same stays in the background, so that a few rows in a hundred are seen. */
function rowOf(cell: CellComparison): Figure[] {
  const tone = verdictTone[cell.verdict];
  const background: Tone = tone === "muted" ? "muted" : "plain";
  return [
    figure(cellName(cell), "", background),
    sideFigure(cell.baseline, cell.unit, background),
    sideFigure(cell.candidate, cell.unit, background),
    changeFigure(cell, tone),
    figure(cell.verdict, "", tone),
  ];
}

function sideFigure(side: { figure: number } | null, unit: CellComparison["unit"], tone: Tone): Figure {
  return side === null || !Number.isFinite(side.figure)
    ? figure(sign.absent, "", "muted")
    : figure(formatFigure(side.figure, unit), "", tone);
}

function changeFigure(cell: CellComparison, tone: Tone): Figure {
  const change = changeText(cell);
  if (change === null) {
    return figure(sign.absent, "", "muted");
  }
  const interval = intervalText(cell);
  return figure(change, interval === null ? sign.noInterval : `(${interval})`, tone);
}
