import type { Figure } from "./report-parts.js";

/** The two parts of a figure, padded so that a column of them lines up: numbers by their decimal point. */
export interface LaidOutFigure {
  text: string;
  /** With the gap before it; empty where the column has no notes. */
  note: string;
}

/** A plain number, ratio or share. What carries another unit is aligned by its end, so that units stand together. */
const number = /^\d+(\.\d+)?( ?[×%])?$/;

/** Pads the figures of one column; all results are equally wide. */
export function layOutFigures(figures: readonly Figure[]): LaidOutFigure[] {
  const parts = figures.map(split);
  const wholeWidth = widest(parts.map(({ whole }) => whole));
  const restWidth = widest(parts.map(({ rest }) => rest));
  const words = figures.filter(isWord).map(({ text }) => text);
  const textWidth = Math.max(wholeWidth + restWidth, widest(words));
  const noteWidth = widest(figures.map(({ note }) => note));
  return figures.map((shown, index) => {
    const { whole, rest } = parts[index] ?? { whole: "", rest: "" };
    const text = isWord(shown) ? shown.text : whole + rest.padEnd(restWidth);
    return {
      text: text.padStart(textWidth),
      note: noteWidth === 0 ? "" : ` ${shown.note.padEnd(noteWidth)}`,
    };
  });
}

/** A word such as "failed" does not move the decimal points of the numbers above it. */
function isWord({ text }: Figure): boolean {
  return !number.test(text);
}

function split(shown: Figure): { whole: string; rest: string } {
  if (isWord(shown)) {
    return { whole: "", rest: "" };
  }
  const point = shown.text.search(/\D|$/);
  return shown.text[point] === "."
    ? { whole: shown.text.slice(0, point), rest: shown.text.slice(point) }
    : { whole: shown.text, rest: "" };
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}
