import { splitWords } from "../../draw/terminal/terminal-text.js";

/** Where more words than this differ, two clauses are easier to read than one. */
const mostDifferingWords = 4;

/**
 * One line from the clauses for the two directions (null where nothing was found). What they have in common is said
 * once: "pinned is 3.0× (H2D) and 2.8× (D2H) pageable from 1 MiB up".
 */
export function joinDirections(h2d: string | null, d2h: string | null): string | null {
  if (h2d === null) return d2h === null ? null : `${d2h} (D2H)`;
  if (d2h === null) return `${h2d} (H2D)`;
  return h2d === d2h ? `${h2d} (H2D and D2H)` : (mergeFigures(h2d, d2h) ?? `H2D: ${h2d}; D2H: ${d2h}`);
}

/** Null unless the two differ in one figure alone. */
function mergeFigures(h2d: string, d2h: string): string | null {
  const [one, other] = [wordsOf(h2d), wordsOf(d2h)];
  const before = commonLength(one, other);
  const after = commonLength(one.slice(before).reverse(), other.slice(before).reverse());
  const differing = [one, other].map((words) => words.slice(before, words.length - after));
  const areFigures = differing.every(
    (words) => words.length <= mostDifferingWords && /^\d/.test(words[0] ?? ""),
  );
  if (!areFigures) return null;
  const [figureOfH2d, figureOfD2h] = differing.map((words) => words.join(" "));
  return [
    ...one.slice(0, before),
    `${figureOfH2d} (H2D) and ${figureOfD2h} (D2H)`,
    ...one.slice(one.length - after),
  ].join(" ");
}

/** A range is one word: neither of its ends says anything without the other. */
function wordsOf(text: string): string[] {
  const joined: string[] = [];
  for (const word of splitWords(text)) {
    const isRange = joined.at(-1) === "to" && /^\d/.test(word) && /^\d/.test(joined.at(-2) ?? "");
    joined.push(isRange ? `${joined.splice(-2).join(" ")} ${word}` : word);
  }
  return joined;
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((word, index) => word !== other[index]);
  return end === -1 ? Math.min(one.length, other.length) : end;
}
