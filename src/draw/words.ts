/* Words around figures, the same in every output. */

/** A number with its noun: "1 cell", "2 cells". `nouns` is an irregular plural. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

export function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function withoutFullStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

/** To the minute, in universal time: "2026-11-21 10:22 UTC". */
export function timeText(startedAt: string): string {
  return `${startedAt.slice(0, 10)} ${startedAt.slice(11, 16)} UTC`;
}

/**
 * A blank where a line may break. A number stays with its unit and interval, a size with its workers ("64 MiB x4"), and
 * no line ends in a sign.
 */
const breakable = /(?<=,) |(?<![±=]) (?!±|(?:%|GB\/s|[µunm]?s|batches\/s|[KMGT]?i?B|x\d+)(?!\w))/;

/** Splits a text into words; a number with its unit is one word. */
export function splitWords(text: string): string[] {
  return text.split(breakable);
}

/** The text for a page, which breaks its lines by itself: with blanks that do not break within the words. */
export function unbroken(text: string): string {
  return splitWords(text)
    .map((word) => word.replaceAll(" ", "\u00a0"))
    .join(" ");
}
