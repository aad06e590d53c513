import { nearestWord } from "../../settings/choices.js";
import { parseSize } from "../../settings/units.js";

/**
 * Whether a whole id matches the pattern, in which `*` stands for any characters, including slashes and none at all.
 */
export function matchesPattern(id: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return id === pattern;
  // The first match of each part leaves most room for later parts, so no other needs to be tried.
  let at = first.length;
  if (!id.startsWith(first)) return false;
  for (const part of others) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return id.length - last.length >= at && id.endsWith(last);
}

/** A pattern of cells that matches none of them. */
export interface UnmatchedPattern {
  pattern: string;
  /** Hint for the user: the pattern that was likely meant, and the most similar cells. */
  hint: string;
}

const mostNamed = 3;

/** More parts than an id has; the rest cannot match. */
const mostParts = 16;

/**
 * The first of `patterns` (`*` stands for any characters) that matches none of these cell ids; null if each matches
 * one, or without cells.
 */
export function unmatchedPattern(
  patterns: readonly string[],
  ids: readonly string[],
): UnmatchedPattern | null {
  if (ids.length === 0) return null;
  const pattern = patterns.find((one) => !ids.some((id) => matchesPattern(id, one)));
  return pattern === undefined ? null : { pattern, hint: hintFor(pattern, ids) };
}

/** Similarity of ids is the number of common parts in any order, because people forget parts and mix up their order. */
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

/** The part of an id that was likely meant; `typed` itself if it is a part, or similar to none. */
function nearestPart(typed: string, known: readonly string[]): string {
  if (known.some((part) => matchesPattern(part, typed))) return typed;
  const bytes = sizeWithUnit(typed) ?? (/^\d{4,16}$/.test(typed) ? Number(typed) : null);
  if (bytes === null) return nearestWord(typed, known) ?? typed;
  const sizes = known.filter((part) => /^\d+$/.test(part));
  const distance = (part: string) => Math.abs(Math.log(Number(part) / bytes));
  return sizes.sort((a, b) => distance(a) - distance(b))[0] ?? typed;
}

/** Bytes of "64KiB" or "64 MB"; null for other texts. */
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

/** A pattern of these parts that matches the id: in the id's order, with `*` for the other parts. */
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
