/*
 * What a picture shows, before it is drawn: made of documents by the features, drawn by the files beside this one.
 */

/** One of these, each with a name of its own in a page. */
export type Chart = CurveChart | BarChart | ForestChart | StripChart;

/** What all charts have. */
interface ChartText {
  /** What `--chart` calls it: lower case words joined by hyphens, such as "h2d-by-size". */
  name: string;
  title: string;
  /** A sentence or two on what the chart shows, for readers who cannot see it. */
  description: string;
  /** A page shows it when it is asked for: one that few readers need. */
  isFolded?: true;
}

/** Figures over sizes, workers or times. */
export interface CurveChart extends ChartText {
  kind: "curves";
  x: Axis;
  y: Axis;
  curves: readonly Curve[];
  rules: readonly Rule[];
}

/** Relative changes, a row each, in the order in which they are to stand. */
export interface ForestChart extends ChartText {
  kind: "forest";
  x: Axis;
  /** What rows may be, such as verdicts; `ForestRow.kind` is a place in this list. */
  kinds: readonly ForestKind[];
  rows: readonly ForestRow[];
  /** What the dashed lines are at the `limits` of the rows; null where no row has any. */
  limitName: string | null;
}

/** What rows have in common that look alike. */
export interface ForestKind {
  name: string;
  /** Which of `curveStyles` its marks have. */
  style: number;
  /** Drawn hollow: not decided. */
  isOpen?: boolean;
}

/** One change, in the units of the axis. */
export interface ForestRow {
  /** What changed, at the left. */
  label: string;
  kind: number;
  value: number;
  /** The ends of its interval; null without one. */
  low: number | null;
  high: number | null;
  /** From where on it counts, such as -0.05 and 0.05. */
  limits: readonly number[];
  /** The change as it is written at the right: "−9.8 %". */
  figure: string;
  /** What is read of it, its kind aside: "H2D pinned 64 MiB: 61.4 GB/s before, 55.3 GB/s now". */
  text: string;
}

/** How one direction of a chart is divided. */
export interface Axis {
  /** What is counted, with its unit: "GB/s". */
  label: string;
  scale: "linear" | "log";
  /** Values that are to lie on it besides those of the points: a linear axis of rates has 0. */
  includes?: readonly number[];
  /** Where it is marked; absent for round numbers. */
  ticks?: readonly number[];
  /** Counts: nothing between two whole numbers is marked. */
  isWhole?: boolean;
  format: (value: number) => string;
}

/** Points that belong together, such as those of one memory kind. */
export interface Curve {
  name: string;
  /** Which of `curveStyles` it has: the same thing looks the same in all charts. */
  style: number;
  /** False for samples and the like, which no line joins. */
  isJoined: boolean;
  /** Points of which nobody reads single ones: one path draws them all, and none has its text. */
  isDense?: boolean;
  /** Drawn as columns so wide, in the unit of the x axis, each from 0 up to its point: a histogram. */
  columnWidth?: number;
  /** A line alone, such as one that was fitted: its points are no figures to read. */
  hasNoMarks?: boolean;
  points: readonly ChartPoint[];
}

/** One figure, in the units of the axes. */
export interface ChartPoint {
  x: number;
  y: number;
  /** The ends of its interval, or of what else the chart's title says of the shade; null without one. */
  low: number | null;
  high: number | null;
  /** What is read of it, the name of its curve aside: "64 MiB: 55.4 GB/s ±0.2 %". */
  text: string;
  /** Drawn hollow: asked for and not measured, or not sure. */
  isOpen?: boolean;
  /** No line joins it to the others of its curve: what lies between does not lie between their figures. */
  isApart?: boolean;
}

/** Level bars below each other, from 0 to a figure each: a few cases that have names, such as alone and at once. */
export interface BarChart extends ChartText {
  kind: "bars";
  /** What the lengths count; linear, from 0. */
  value: Axis;
  groups: readonly BarGroup[];
}

/** Bars to be held against each other, below a line with their common name. */
export interface BarGroup {
  name: string;
  /** Which of `curveStyles` gives the colour. */
  style: number;
  bars: readonly Bar[];
}

/** One figure, in the unit of the chart's value. */
export interface Bar {
  name: string;
  value: number;
  /** The ends of its interval; null without one. */
  low: number | null;
  high: number | null;
  /** What is written behind it: "54.9, 99 % of alone". */
  text: string;
  /** What the other bars are held against: drawn as an outline. */
  isReference?: boolean;
}

/** Many like things in each of several rows, a dot each, so that the few which lie apart are seen. */
export interface StripChart extends ChartText {
  kind: "strips";
  x: Axis;
  rows: readonly StripRow[];
  /** What the dots are, and what those that are marked. */
  dotsName: string;
  marksName: string;
  /** Level with all rows: what their dots are held against, and where from on one counts as apart. */
  rules: readonly Rule[];
}

/** A row of dots, in the units of the axis. */
export interface StripRow {
  /** What was measured, at the left. */
  label: string;
  /** What stands at the right, such as the figure that the dots are shares of. */
  figure: string;
  dots: readonly number[];
  /** Those that are to be told apart, and what is read of each. */
  marks: readonly StripMark[];
}

/** A dot to be told apart: what stands beside it, and what is read of it, which begins with that. */
export interface StripMark {
  value: number;
  name: string;
  text: string;
}

/** A line across the whole chart, such as the link's limit. */
export interface Rule {
  /** The axis that the value lies on: a rule of y is level. */
  axis: "x" | "y";
  value: number;
  label: string;
}
