import type { Axis, Curve, CurveChart, RuleLine } from "../chart/chart.js";
import { scaleOf, ticksOf } from "../chart/chart-frame.js";
import { asciiText } from "../printable-text.js";
import type { Screen } from "../screen.js";
import { type CanvasPlace, type Paint, PlotCanvas } from "./plot-canvas.js";
import { indent } from "./terminal-grid.js";
import { paragraph, visibleWidth, wrap } from "./terminal-text.js";

/**
 * Styles that distinguish the curves of `curveStyles` in a terminal: the signs of a page, if Unicode has them, and
 * Okabe and Ito's colours. A terminal may be light or dark, so the colours are adjusted to a contrast of 3.5 to 1 with
 * both white and black (WCAG 2.2, 1.4.11, asks for 3 to 1).
 */
export const terminalStyles: readonly TerminalStyle[] = [
  { colour: "#1a86c8", mark: "●", open: "○", ascii: "o" },
  { colour: "#d55e00", mark: "■", open: "□", ascii: "x" },
  { colour: "#00966d", mark: "▲", open: "△", ascii: "#" },
  { colour: "#c26a9c", mark: "◆", open: "◇", ascii: "%" },
  { colour: "#a87600", mark: "✚", open: "✛", ascii: "+" },
  { colour: "#808080", mark: "★", open: "☆", ascii: "*" },
  { colour: "#8f74d8", mark: "▼", open: "▽", ascii: "@" },
  { colour: "#857e00", mark: "◉", open: "◎", ascii: "&" },
  { colour: "#2a8a94", mark: "♠", open: "♤", ascii: "$" },
];

/** The look of one curve. */
export interface TerminalStyle {
  colour: string;
  mark: string;
  /** For uncertain or unmeasured points; in ASCII it is the same for all curves. */
  open: string;
  ascii: string;
}

const asciiOpen = "?";

const unicodeFrame = { side: "│", tick: "┤", corner: "┼", level: "─", below: "┬", rule: "╌╌", line: "──" };
const asciiFrame: typeof unicodeFrame = {
  side: "|",
  tick: "+",
  corner: "+",
  level: "-",
  below: "+",
  rule: "- -",
  line: "--",
};

/** Approximate number of intervals of the y axis, and their lines together. */
const [usualIntervals, usualLines] = [5, 14];
/** A narrower plot shows nothing. */
const fewestColumns = 20;
/** If points are closer than this on average, only some of them get a mark, so that marks do not hide the curve. */
const denseColumns = 3;
/** Columns between such marks. The curves start at different phases, so that their marks do not meet. */
const sparseMarkColumns = 12;
/** Blanks between the names of two ticks. */
const nameGap = 2;

/** All charts of a document, a block of lines each; without charts, a sentence on what is missing. */
export function terminalPlots(charts: readonly CurveChart[], screen: Screen, missing: string): string[][] {
  const plots = charts.map((chart) => terminalPlot(chart, screen)).filter(({ length }) => length > 0);
  return plots.length > 0 ? plots : [paragraph(`nothing to plot: ${missing}`, screen, { prefix: indent })];
}

/**
 * A chart in characters, as wide as the screen and about 19 lines high: title, legend, plot, axis. No lines if there
 * are no points, or the screen is too narrow.
 */
export function terminalPlot(chart: CurveChart, screen: Screen): string[] {
  const shown = drawable(screen.isAscii ? inAscii(chart) : chart);
  const layout = layOut(shown, screen.columns - indent.length);
  if (layout === null) return [];
  const { columns, rows, yNames, nameColumns } = layout;
  const { chalk, isAscii } = screen;
  const frame = isAscii ? asciiFrame : unicodeFrame;

  const canvas = new PlotCanvas(columns, rows, isAscii);
  const ticked = new Set(layout.xNames.map(({ column }) => column));
  const axis = Array.from({ length: columns }, (_, column) =>
    ticked.has(column) ? frame.below : frame.level,
  );
  const quiet: Paint = (text) => chalk.dim(text);
  canvas.ground(rows - 1, axis.join(""), quiet);
  for (const rule of shown.rules) drawRule(canvas, layout, rule, quiet);
  for (const curve of shown.curves) drawLine(canvas, layout, curve, screen);
  for (const [index, curve] of shown.curves.entries()) {
    drawMarks(canvas, layout, curve, index / shown.curves.length, screen);
  }

  const leftOf = (row: number) => {
    const name = yNames.get(row);
    const side = row === rows - 1 ? frame.corner : name === undefined ? frame.side : frame.tick;
    return `${indent}${(name ?? "").padStart(nameColumns)} ${side}`;
  };
  const below = " ".repeat(indent.length + nameColumns + 2);
  return [
    ...paragraph(shown.title, screen, { style: chalk.bold }),
    ...legend(shown, screen, `${indent}${shown.y.label.padStart(nameColumns)}   `),
    ...canvas.lines().map((line, row) => quiet(leftOf(row)) + line),
    ...belowAxis(layout, shown.x).map((line) => quiet(below + line)),
  ];
}

/** Spelled out before the layout, because a text may become longer. */
function inAscii(chart: CurveChart): CurveChart {
  const ofAxis = (axis: Axis) => ({
    ...axis,
    label: asciiText(axis.label),
    format: (value: number) => asciiText(axis.format(value)),
  });
  return {
    ...chart,
    title: asciiText(chart.title),
    x: ofAxis(chart.x),
    y: ofAxis(chart.y),
    curves: chart.curves.map((curve) => ({ ...curve, name: asciiText(curve.name) })),
    rules: chart.rules.map((rule) => ({ ...rule, label: asciiText(rule.label) })),
  };
}

/** The chart without values that its axes cannot show, such as 0 on a logarithmic one, and without empty curves. */
function drawable(chart: CurveChart): CurveChart {
  const hasPlace = (axis: Axis, value: number) =>
    Number.isFinite(value) && (axis.scale === "linear" || value > 0);
  const curves = chart.curves.map((curve) => ({
    ...curve,
    points: curve.points.filter(({ x, y }) => hasPlace(chart.x, x) && hasPlace(chart.y, y)),
  }));
  return {
    ...chart,
    curves: curves.filter(({ points }) => points.length > 0),
    rules: chart.rules.filter(({ axis, value }) => hasPlace(chart[axis], value)),
  };
}

/** The layout of a chart, in cells of its canvas. */
interface PlotLayout {
  columns: number;
  rows: number;
  columnOf: (x: number) => number;
  rowOf: (y: number) => number;
  /** The names that fit, from left to right. */
  xNames: readonly { column: number; name: string; left: number }[];
  /** Names by row. */
  yNames: ReadonlyMap<number, string>;
  /** Their width, including the axis' own name. */
  nameColumns: number;
}

function layOut({ x, y, curves, rules }: CurveChart, width: number): PlotLayout | null {
  const points = curves.flatMap((curve) => curve.points);
  const ruled = (axis: "x" | "y") => rules.flatMap((rule) => (rule.axis === axis ? [rule.value] : []));
  if (points.length === 0) return null;
  const up = scaleOf(y, [...points.map((point) => point.y), ...ruled("y")]);
  if (y.scale === "linear" && y.ticks === undefined) up.nice(usualIntervals);
  const yTicks = ticksOf(y, up, usualIntervals);
  const rows = rowsFor(yTicks, up.domain());
  up.range([rows - 0.5, 0.5]);
  const yNames = new Map(yTicks.map((tick) => [Math.floor(up(tick)), y.format(tick)]));

  const nameColumns = Math.max(...[y.label, ...yNames.values()].map(visibleWidth));
  const columns = width - nameColumns - 2;
  if (columns < fewestColumns) return null;
  const across = scaleOf(x, [...points.map((point) => point.x), ...ruled("x")]).range([0.5, columns - 0.5]);
  const xNames = namesBelow(x, ticksOf(x, across, columns / 10), across, columns);
  return { columns, rows, columnOf: across, rowOf: up, xNames, yNames, nameColumns };
}

/** Each name is centred below its tick, within the frame; a name that touches the one before is left out. */
function namesBelow(
  { format }: Axis,
  ticks: readonly number[],
  columnOf: (x: number) => number,
  columns: number,
): PlotLayout["xNames"] {
  const names: { column: number; name: string; left: number }[] = [];
  let free = 0;
  for (const tick of ticks) {
    const [column, name] = [Math.floor(columnOf(tick)), format(tick)];
    const width = visibleWidth(name);
    const left = Math.max(0, Math.min(column - Math.floor(width / 2), columns - width));
    if (left < free || left + width > columns) continue;
    names.push({ column, name, left });
    free = left + width + nameGap;
  }
  return names;
}

/** If the ticks reach from end to end, all intervals have the same number of lines, so that they are evenly spaced. */
function rowsFor(ticks: readonly number[], domain: readonly number[]): number {
  const isEven = ticks.length > 1 && ticks[0] === domain[0] && ticks.at(-1) === domain.at(-1);
  const linesEach = Math.round(usualLines / (ticks.length - 1));
  return 1 + (isEven && linesEach > 0 ? linesEach * (ticks.length - 1) : usualLines);
}

function drawRule(canvas: PlotCanvas, layout: PlotLayout, { axis, value }: RuleLine, paint: Paint): void {
  const { columns, rows } = layout;
  const [column, row] = [layout.columnOf(value), layout.rowOf(value)];
  if (axis === "y") canvas.line({ column: 0, row }, { column: columns, row }, paint, true);
  else canvas.line({ column, row: 0 }, { column, row: rows }, paint, true);
}

function drawLine(canvas: PlotCanvas, layout: PlotLayout, curve: Curve, screen: Screen): void {
  if (!curve.isJoined) return;
  const places = placesOf(curve, layout);
  const paint = paintOf(curve, screen);
  for (const [index, to] of places.slice(1).entries()) {
    const from = places[index]!;
    if (!from.isApart && !to.isApart) canvas.line(from, to, paint);
  }
}

/** `phase`: distance of a dense curve's first mark from its left end, from 0 to 1. */
function drawMarks(
  canvas: PlotCanvas,
  layout: PlotLayout,
  curve: Curve,
  phase: number,
  screen: Screen,
): void {
  if (curve.hasNoMarks) return;
  const places = placesOf(curve, layout);
  const [first, last] = [places[0]!.column, places.at(-1)!.column];
  const isDense = curve.isJoined && places.length > 1 && (last - first) / (places.length - 1) < denseColumns;
  const paint = paintOf(curve, screen);
  let nextColumn = isDense ? first + phase * sparseMarkColumns : 0;
  for (const { column, row, isOpen } of places) {
    if (column < nextColumn) continue;
    canvas.mark({ column, row }, markOf(curve, screen, isOpen), paint);
    if (isDense) nextColumn += sparseMarkColumns;
  }
}

/** The place and look of a point. */
interface PointPlace extends CanvasPlace {
  isOpen: boolean;
  isApart: boolean;
}

/** From left to right. */
function placesOf({ points }: Curve, { columnOf, rowOf }: PlotLayout): PointPlace[] {
  return points
    .map(({ x, y, isOpen = false, isApart = false }) => ({
      ...{ column: columnOf(x), row: rowOf(y) },
      ...{ isOpen, isApart },
    }))
    .sort((a, b) => a.column - b.column);
}

function styleOf({ style }: Curve): TerminalStyle {
  return terminalStyles[style % terminalStyles.length]!;
}

/** The sign of a curve in the legend: open if all its points are. */
function legendSign(curve: Curve, screen: Screen): string {
  if (curve.hasNoMarks) return screen.isAscii ? asciiFrame.line : unicodeFrame.line;
  return markOf(
    curve,
    screen,
    curve.points.every(({ isOpen = false }) => isOpen),
  );
}

function markOf(curve: Curve, { isAscii }: Screen, isOpen = false): string {
  const { mark, open, ascii } = styleOf(curve);
  if (isOpen) return isAscii ? asciiOpen : open;
  return isAscii ? ascii : mark;
}

function paintOf(curve: Curve, { chalk }: Screen): Paint {
  const { colour } = styleOf(curve);
  return (text) => chalk.hex(colour)(text);
}

/** The mark and name of each curve and rule, after `prefix` on the first line. */
function legend({ curves, rules }: CurveChart, screen: Screen, prefix: string): string[] {
  const { chalk, columns, isAscii } = screen;
  const { rule: ruleSign } = isAscii ? asciiFrame : unicodeFrame;
  const entries = [
    ...curves.map((curve) => ({
      sign: legendSign(curve, screen),
      name: curve.name,
      paint: paintOf(curve, screen),
    })),
    ...rules.map(({ label }) => ({ sign: ruleSign, name: label, paint: chalk.dim })),
  ];
  const lines: string[] = [];
  const below = " ".repeat(prefix.length);
  let [line, width] = [chalk.dim(prefix), prefix.length];
  for (const { sign, name, paint } of entries) {
    const besideSign = prefix.length + sign.length + 1;
    // A broken one has its lines to itself.
    const parts = wrap(name, columns - besideSign);
    const needed = parts.length > 1 ? columns : sign.length + 1 + visibleWidth(name);
    if (width > prefix.length && width + needed > columns) {
      lines.push(line);
      [line, width] = [below, prefix.length];
    }
    line += `${paint(sign)} ${parts.join(`\n${" ".repeat(besideSign)}`)}   `;
    width += needed + 3;
  }
  return [...lines, line].flatMap((one) => one.split("\n")).map((one) => one.trimEnd());
}

/** The names of the ticks, and below them the name of the axis. */
function belowAxis({ columns, xNames }: PlotLayout, { label }: Axis): string[] {
  const names = xNames.reduce((line, { name, left }) => line.padEnd(left) + name, "");
  return [names, " ".repeat(Math.max(0, Math.floor((columns - label.length) / 2))) + label];
}
