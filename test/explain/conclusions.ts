import { expect, it } from "vitest";
import type { Conclusion } from "../../src/explain/question.js";

/** A situation, what is concluded of it, and the verdict of that. */
export type Row = [situation: string, conclusion: Conclusion, verdict: Conclusion["verdict"]];

const rounded = (value: number) => Number(value.toPrecision(9));

/** Everything that a conclusion has, as text: the verdicts of its parts, its figures and its sentences. */
function textOf([situation, { verdict, parts = [], figures, sentences }]: Row): string {
  const numbers = figures.map(({ name, value, unit, interval, samples }) => {
    const ends = interval === null ? "" : ` from ${rounded(interval.low)} to ${rounded(interval.high)}`;
    return `  ${name}: ${rounded(value)} ${unit}${ends}, ${samples} samples`;
  });
  const ofParts = parts.map((part) => `  ${part.name}: ${part.verdict}`);
  return [`${situation}: ${verdict}`, ...ofParts, ...numbers, ...sentences, ""].join("\n");
}

/** Tests of verdicts, and of all else that is concluded, which snapshots/NAME.txt has. */
export function expectVerdicts(name: string, rows: readonly Row[]): void {
  it.each(rows)("%s", (_, { verdict }, expected) => {
    expect(verdict).toBe(expected);
  });

  it("has the figures and the words that were looked at", async () => {
    await expect(rows.map(textOf).join("\n")).toMatchFileSnapshot(`snapshots/${name}.txt`);
  });
}
