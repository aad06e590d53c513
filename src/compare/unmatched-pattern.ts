import { PinbenchError } from "../errors.js";
import { nearestWord } from "../settings/choices.js";
import { matchesPattern } from "../settings/thresholds.js";
import { parseSize } from "../settings/units.js";

/** A pattern of cells that matches none of them. */
export interface UnmatchedPattern {
  pattern: string;
  /** For the user: the pattern that was likely meant, and the cells that are most like this one. */
  hint: string;
}

/** As many cells are named in a message. */
const mostNamed = 3;

/** More parts than an id has: what is behind them is no pattern of a cell. */
const mostParts = 16;

/**
 * The first of `patterns`, in which `*` stands for any characters, that matches none of the cells with these ids; null
 * where each matches one, and where there are no cells.
 */
export function unmatchedPattern(
  patterns: readonly string[],
  ids: readonly string[],
): UnmatchedPattern | null {
  if (ids.length === 0) return null;
  const pattern = patterns.find((one) => !ids.some((id) => matchesPattern(id, one)));
  return pattern === undefined ? null : { pattern, hint: hintFor(pattern, ids) };
}

/** Throws a usage error for the first of these patterns of thresholds that no cell is like; `where` says whose cells. */
export function refuseUnmatched(patterns: readonly string[], ids: readonly string[], where: string): void {
  const unmatched = unmatchedPattern(patterns, ids);
  if (unmatched === null) return;
  const { pattern, hint } = unmatched;
  const message = `No cell of ${where} matches "${pattern}", which has a threshold.`;
  throw new PinbenchError("usage", message, { hint });
}

/** Ids are alike where they have the same parts, in whatever order: people forget some, and mix them up. */
function hintFor(pattern: string, ids: readonly string[]): string {
  const known = [...new Set(ids.flatMap((id) => id.split("/")))];
  const typed = pattern.split("/", mostParts).filter((part) => /[^*]/.test(part));
  const wanted = typed.map((part) => nearestPart(part, known));
  const ranked = ids
    .map((id) => ({ id, shared: wanted.filter((part) => hasPart(id, part)).length }))
    .sort((a, b) => b.shared - a.shared);
  const { id: nearest, shared: most } = ranked[0]!;
  const named = ranked.filter(({ shared }) => shared === most).map(({ id }) => id);
  const cells = `${most === 0 ? "Cells there are" : "The nearest"}: ${list(named)}.`;
  if (wanted.length === 0 || most < wanted.length) return cells;
  const isSizeMeant = typed.some((part) => sizeWithUnit(part) !== null);
  return `Did you mean "${patternLike(nearest, wanted)}"? ${isSizeMeant ? "Ids have sizes in bytes. " : ""}${cells}`;
}

/** The part of an id that was likely meant; `typed` itself where that is one, or like none. */
function nearestPart(typed: string, known: readonly string[]): string {
  if (known.some((part) => matchesPattern(part, typed))) return typed;
  const bytes = sizeWithUnit(typed) ?? (/^\d{4,16}$/.test(typed) ? Number(typed) : null);
  if (bytes === null) return nearestWord(typed, known) ?? typed;
  const sizes = known.filter((part) => /^\d+$/.test(part));
  const distance = (part: string) => Math.abs(Math.log(Number(part) / bytes));
  return sizes.sort((a, b) => distance(a) - distance(b))[0] ?? typed;
}

/** Bytes of "64KiB" or "64 MB"; null for all that is no number with such a unit. */
function sizeWithUnit(text: string): number | null {
  if (!/^[\d.]+\s*[KMGT]i?B$/i.test(text.trim())) return null;
  try {
    return parseSize(text);
  } catch {
    return null;
  }
}

function hasPart(id: string, pattern: string): boolean {
  return id.split("/").some((part) => matchesPattern(part, pattern));
}

/** The pattern with these parts that the id matches: its own order, and `*` for each row of others. */
function patternLike(id: string, parts: readonly string[]): string {
  const kept = id.split("/").map((part) => parts.find((one) => matchesPattern(part, one)) ?? "*");
  return kept.filter((part, i) => part !== "*" || kept[i - 1] !== "*").join("/");
}

function list(ids: readonly string[]): string {
  const named = ids.slice(0, mostNamed);
  const more = ids.length - named.length;
  if (more > 0) return `${named.join(", ")} and ${more} more`;
  return named.length === 1 ? named[0]! : `${named.slice(0, -1).join(", ")} and ${named.at(-1)}`;
}
