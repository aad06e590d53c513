/* The content of a picture. Features make it from documents, and the neighbouring files draw it. */

/** Any chart; names are unique within a page. */
export type Chart = CurveChart | BarChart | ForestChart | StripChart;

/** Renames the second chart of a name to "NAME-2", and so on. */
export function withUniqueNames<Named extends Chart>(charts: readonly Named[]): Named[] {
  const counts = new Map<string, number>();
  return charts.map((chart) => {
    const count = (counts.get(chart.name) ?? 0) + 1;
    counts.set(chart.name, count);
    return count === 1 ? chart : { ...chart, name: `${chart.name}-${count}` };
  });
}

interface ChartText {
  /** Its name for `--chart`: lower case words joined by hyphens, such as "h2d-by-size". */
  name: string;
  title: string;
  /** A sentence or two on what the chart shows, for readers who cannot see it. */
  description: string;
}

export interface CurveChart extends ChartText {
  kind: "curves";
  x: Axis;
  y: Axis;
  curves: readonly Curve[];
  rules: readonly RuleLine[];
}

export interface ForestChart extends ChartText {
  kind: "forest";
  x: Axis;
  /** The kinds of rows, such as verdicts; `ForestRow.kind` is an index into this list. */
  kinds: readonly ForestKind[];
  rows: readonly ForestRow[];
  /** The meaning of the dashed lines at the rows' `limits`; null if no row has any. */
  limitName: string | null;
}

export interface ForestKind {
  name: string;
  style: number;
  /** Drawn hollow: undecided. */
  isOpen?: boolean;
}

export interface ForestRow {
  /** What changed; shown on the left. */
  label: string;
  kind: number;
  value: number;
  /** The ends of its interval; null if there is none. */
  low: number | null;
  high: number | null;
  /** Changes count beyond these, such as -0.05 and 0.05. */
  limits: readonly number[];
  figure: string;
  /** Text for screen readers, without the kind: "H2D pinned 64 MiB: 61.4 GB/s before, 55.3 GB/s now". */
  text: string;
}

export interface Axis {
  /** The quantity with its unit: "GB/s". */
  label: string;
  scale: "linear" | "log";
  /** Values that the axis must include besides the points: rates include 0. */
  includes?: readonly number[];
  /** Tick values; absent for round numbers. */
  ticks?: readonly number[];
  format: (value: number) => string;
}

export interface Curve {
  name: string;
  style: number;
  /** False for points that no line joins. */
  isJoined: boolean;
  /** Only a line, such as a fitted one, without readable points. */
  hasNoMarks?: boolean;
  points: readonly ChartPoint[];
}

export interface ChartPoint {
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  /** Text for screen readers, without the curve's name: "64 MiB: 55.4 GB/s ±0.2 %". */
  text: string;
  /** Drawn hollow: requested but not measured, or uncertain. */
  isOpen?: boolean;
  /** Not connected to the other points, because values in between would be wrong. */
  isApart?: boolean;
}

export interface BarChart extends ChartText {
  kind: "bars";
  /** The quantity of the lengths; linear, from 0. */
  value: Axis;
  groups: readonly BarGroup[];
}

export interface BarGroup {
  name: string;
  style: number;
  bars: readonly Bar[];
}

export interface Bar {
  name: string;
  value: number;
  low: number | null;
  high: number | null;
  /** The text to the right of it: "54.9, 99 % of alone". */
  text: string;
}

/** Rows of dots for many similar things, so that the few outliers are visible. */
export interface StripChart extends ChartText {
  kind: "strips";
  x: Axis;
  rows: readonly StripRow[];
  /** Legend labels of plain and of marked dots. */
  dotsName: string;
  marksName: string;
  /** Lines across all rows: the value that dots are compared with, and the threshold for outliers. */
  rules: readonly RuleLine[];
}

export interface StripRow {
  label: string;
  /** The text on the right, such as the figure that the dots are relative to. */
  figure: string;
  dots: readonly number[];
  /** The marked dots, with their texts for screen readers. */
  marks: readonly StripMark[];
}

export interface StripMark {
  value: number;
  name: string;
  text: string;
}

export interface RuleLine {
  /** The axis of the value: a rule of y is horizontal. */
  axis: "x" | "y";
  value: number;
  label: string;
}
