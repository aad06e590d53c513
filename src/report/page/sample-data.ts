import { printableText } from "../printable-text.js";
import type { Chapter, SampleSeries } from "./chapter.js";

/**
 * The samples of a page as its script reads them: an entry a chapter, and in it one a series. Whole numbers, as most of
 * a page's bytes may be samples: a value is `values[i] * valueStep` in `unit`, and a start so many tenths of a
 * millisecond after the one before it, the first one after the start of the device's session.
 */
export type SampleData = readonly (readonly EncodedSeries[])[];

/** A series in whole numbers; all else is as in the chapter's. */
export interface EncodedSeries extends Omit<SampleSeries, "startMs" | "values"> {
  valueStep: number;
  values: readonly number[];
  startSteps: readonly number[];
}

/** Tenths of a millisecond. */
const startsPerMs = 10;
/** What a value is rounded to: so many digits of the largest one of its series. */
const valueDigits = 4;

/** The content of a script element of the type application/json: no text in it can end that element. */
export function sampleData(chapters: readonly Chapter[]): string {
  const data: SampleData = chapters.map(({ samples }) => samples.map(encoded));
  return JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, escapedCharacter);
}

function encoded({ id, name, startMs, values, ...rest }: SampleSeries): EncodedSeries {
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  // A power of ten is written down in few characters; as a negative power it is exact to divide by.
  const decimals = most === 0 ? 0 : valueDigits - 1 - Math.floor(Math.log10(most));
  const starts = startMs.map((start) => Math.round(start * startsPerMs));
  return {
    ...rest,
    id: printableText(id),
    name: printableText(name),
    valueStep: Number(`1e${-decimals}`),
    values: values.map((value) => Math.round(value * 10 ** decimals)),
    startSteps: starts.map((start, index) => start - (starts[index - 1] ?? 0)),
  };
}

function escapedCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
