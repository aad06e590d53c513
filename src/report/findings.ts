import type { CellResult, ResultDocument } from "../results/schema.js";
import { comparableCells, equalWidth } from "./finding-evidence.js";
import {
  bothDirections,
  latencyByMemory,
  otherKindsAgainstPinned,
  pinnedAgainstPageable,
  stagedAgainstPinned,
  type Topic,
  workersOnPageable,
} from "./finding-topics.js";
import { type Note, note } from "./report-parts.js";
import { splitWords } from "./terminal-text.js";
import { counted } from "./wording.js";

const mostLines = 3;

/**
 * The closing lines of a report: what the cells show, wrong data first. They claim what other processes find as well: a
 * difference only where the interval of the ratio excludes that there is none, equality only where it does not and all
 * is narrow. Cells that failed or came back wrong are no evidence.
 */
export function findings(document: ResultDocument): Note[] {
  const wrong = document.cells.filter(({ outcome }) => outcome === "mismatch").length;
  const share = `${wrong} of ${counted(document.cells.length, "cell")}`;
  const alarm = note(`DATA CAME BACK WRONG in ${share}: do not trust this machine`, "mismatch");
  const lines = comparisons(document).slice(0, mostLines);
  return [...(wrong === 0 ? [] : [alarm]), ...lines.map((text) => note(text))];
}

function comparisons(document: ResultDocument): string[] {
  const cells = comparableCells(document);
  const width = equalWidth(document);
  const bothWays = (topic: Topic) => joinDirections(topic(cells, "h2d", width), topic(cells, "d2h", width));
  const lines = [
    ...[pinnedAgainstPageable, stagedAgainstPinned, workersOnPageable].map(bothWays),
    bothDirections(cells, width),
    ...[latencyByMemory, otherKindsAgainstPinned].map(bothWays),
  ].filter((line) => line !== null);
  if (lines.length === 0) {
    return ["no comparison was measured: it takes two memory kinds or two worker counts, with intervals"];
  }
  const subject = subjectOf(document, cells);
  return lines.map((line) => subject + line);
}

/** Says where the figures are those of the emulated device, or of one of several devices. */
function subjectOf(document: ResultDocument, cells: readonly CellResult[]): string {
  const parts = [
    ...(document.backend === "emulated" ? ["in this machine's memory"] : []),
    ...(document.devices.length > 1 ? [`on device ${cells[0]?.device}`] : []),
  ];
  return parts.length === 0 ? "" : `${parts.join(" ")}, `;
}

/** Where more words than this differ, two clauses are easier to read than one. */
const mostDifferingWords = 4;

/**
 * One line from the clauses for the two directions (null where nothing was found). What they have in common is said
 * once: "pinned is 3.0× (H2D) and 2.8× (D2H) pageable from 1 MiB up".
 */
function joinDirections(h2d: string | null, d2h: string | null): string | null {
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
