import { splitWords } from "./wrap.js";

/** More words than this in what differs are read more easily as two clauses. */
const mostDifferingWords = 4;

/**
 * One line of what was found host to device and device to host (null where nothing was). What both have in common
 * is said once: "pinned is 3.0× (H2D) and 2.8× (D2H) pageable from 1 MiB up".
 */
export function joinDirections(h2d: string | null, d2h: string | null): string | null {
  if (h2d === null || d2h === null) {
    return h2d !== null ? `${h2d} (H2D)` : d2h !== null ? `${d2h} (D2H)` : null;
  }
  return h2d === d2h ? `${h2d} (H2D and D2H)` : (mergeFigures(h2d, d2h) ?? `H2D: ${h2d}; D2H: ${d2h}`);
}

/** Null unless the two differ in one figure alone. */
function mergeFigures(h2d: string, d2h: string): string | null {
  const [one, other] = [splitWords(h2d), splitWords(d2h)];
  const before = commonLength(one, other);
  const after = commonLength(one.slice(before).reverse(), other.slice(before).reverse());
  const differing = [one, other].map((words) => words.slice(before, words.length - after));
  const areFigures = differing.every(
    (words) => words.length <= mostDifferingWords && /^\d/.test(words[0] ?? ""),
  );
  if (!areFigures) {
    return null;
  }
  const [figureOfH2d, figureOfD2h] = differing.map((words) => words.join(" "));
  return [
    ...one.slice(0, before),
    `${figureOfH2d} (H2D) and ${figureOfD2h} (D2H)`,
    ...one.slice(one.length - after),
  ].join(" ");
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((word, index) => word !== other[index]);
  return end === -1 ? Math.min(one.length, other.length) : end;
}
