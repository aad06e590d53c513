import { printableText } from "../printable-text.js";
import type { Chapter, SampleSeries } from "./chapter.js";

/** What the charts of samples are called. Each shows a cell of its own result, so that their axes are their own. */
export const sampleChartNames = {
  overTime: "samples-over-time",
  distribution: "samples-distribution",
} as const;

/**
 * The samples of a page as its script reads them: an entry a chapter, and in it one a series. Whole numbers, as most of
 * a page's bytes may be samples: a value is `(leastValue + values[i]) * valueStep` in `unit`, and a start so many tenths of a
 * millisecond after the one before it, the first one after the start of the device's session.
 */
export type SampleData = readonly (readonly EncodedSeries[])[];

/** A series in whole numbers; all else is as in the chapter's. */
export interface EncodedSeries extends Pick<SampleSeries, "name" | "style" | "process" | "unit"> {
  /** Which cell of the chapter it is of, from 0. */
  cell: number;
  valueStep: number;
  leastValue: number;
  values: readonly number[];
  startSteps: readonly number[];
}

/** Tenths of a millisecond. */
const startsPerMs = 10;
/**
 * What a value is rounded to: so many digits of the largest one of its series, or of what its values differ by where that
 * is finer, or columns of a histogram would be narrower than its steps; but at most so many as tell measured ones apart.
 */
const [valueDigits, spanDigits, mostDigits] = [4, 3, 9];

/** The content of a script element of the type application/json: no text in it can end that element. */
export function sampleData(chapters: readonly Chapter[]): string {
  const data: SampleData = chapters.map(({ samples }) => {
    const cells = new Map([...new Set(samples.map(({ id }) => id))].map((id, cell) => [id, cell]));
    return samples.map((series) => encoded(series, cells.get(series.id)!));
  });
  return JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, escapedCharacter);
}

function encoded({ name, style, process, unit, startMs, values }: SampleSeries, cell: number): EncodedSeries {
  // A power of ten is written down in few characters; as a negative power it is exact to divide by.
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

function escapedCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
