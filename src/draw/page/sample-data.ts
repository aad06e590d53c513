import { escapeOf } from "../json.js";
import { printableText } from "../printable-text.js";
import type { Chapter, SampleSeries } from "./chapter.js";

/** Names of the charts of samples. Each shows a cell of its own result, so it keeps its own axes. */
export const sampleChartNames = {
  overTime: "samples-over-time",
  distribution: "samples-distribution",
} as const;

/**
 * The samples of a page for its script: a list for each chapter, with an entry for each series. Whole numbers keep the
 * page small: a value is `(leastValue + values[i]) * valueStep` in `unit`. A start is the number of tenths of a
 * millisecond since the previous one, the first since the start of the device's session.
 */
export type SampleData = readonly (readonly EncodedSeries[])[];

/** A series in whole numbers; other fields are as in the chapter. */
export interface EncodedSeries extends Pick<SampleSeries, "name" | "style" | "process" | "unit"> {
  /** Index of its cell in the chapter. */
  cell: number;
  valueStep: number;
  leastValue: number;
  values: readonly number[];
  startSteps: readonly number[];
}

/** Tenths of a millisecond. */
const startsPerMs = 10;
/**
 * Significant digits of values: of the largest one of its series, or of their range if that is finer, because the
 * columns of a histogram must not be narrower than the steps; at most as many as distinguish measured values.
 */
const [valueDigits, spanDigits, mostDigits] = [4, 3, 9];

/** The content of a script element of type application/json: no text in it can end that element. */
export function sampleData(chapters: readonly Chapter[]): string {
  const data: SampleData = chapters.map(({ samples }) => {
    const cells = new Map([...new Set(samples.map(({ id }) => id))].map((id, cell) => [id, cell]));
    return samples.map((series) => encoded(series, cells.get(series.id)!));
  });
  return JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, escapeOf);
}

function encoded({ name, style, process, unit, startMs, values }: SampleSeries, cell: number): EncodedSeries {
  // A power of ten is short to write; a negative power is divided by exactly.
  const decimals = decimalsOf(values);
  const starts = startMs.map((start) => Math.round(start * startsPerMs));
  const steps = values.map((value) => Math.round(value * 10 ** decimals));
  const leastValue = steps.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return {
    cell,
    name: printableText(name),
    style,
    process,
    unit,
    leastValue,
    valueStep: Number(`1e${-decimals}`),
    values: steps.map((step) => step - leastValue),
    startSteps: starts.map((start, index) => start - (starts[index - 1] ?? 0)),
  };
}

function decimalsOf(values: readonly number[]): number {
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  const span = most - values.reduce((a, b) => Math.min(a, b), most);
  if (most === 0) return 0;
  const digitsOf = (value: number, digits: number) => digits - 1 - Math.floor(Math.log10(value));
  const ofSpan = span === 0 ? Number.NEGATIVE_INFINITY : digitsOf(span, spanDigits);
  return Math.min(Math.max(digitsOf(most, valueDigits), ofSpan), digitsOf(most, mostDigits));
}
