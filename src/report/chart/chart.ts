/*
 * What a picture shows, before it is drawn: made of documents by src/report/page, drawn by the files beside this one.
 */

/** One of these, each with a name of its own in a page. */
export type Chart = CurveChart;

/** What all charts have. */
interface ChartText {
  /** What `--chart` calls it: lower case words joined by hyphens, such as "h2d-by-size". */
  name: string;
  title: string;
  /** One sentence or two of what is seen in it, for whoever cannot see it. */
  description: string;
}

/** Figures over sizes, workers or times. */
export interface CurveChart extends ChartText {
  kind: "curves";
  x: Axis;
  y: Axis;
  curves: readonly Curve[];
  rules: readonly Rule[];
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
  format: (value: number) => string;
}

/** Points that belong together, such as those of one memory kind. */
export interface Curve {
  name: string;
  /** Which of `curveStyles` it has: the same thing looks the same in all charts. */
  style: number;
  /** False for samples and the like, which no line joins. */
  isJoined: boolean;
  points: readonly ChartPoint[];
}

/** One figure, in the units of the axes. */
export interface ChartPoint {
  x: number;
  y: number;
  /** The ends of its interval; null without one. */
  low: number | null;
  high: number | null;
  /** What is read of it, the name of its curve aside: "64 MiB: 55.4 GB/s ±0.2 %". */
  text: string;
  /** Drawn hollow: asked for and not measured, or not sure. */
  isOpen?: boolean;
}

/** A line across the whole chart, such as the link's limit. */
export interface Rule {
  /** The axis that the value lies on: a rule of y is level. */
  axis: "x" | "y";
  value: number;
  label: string;
}
