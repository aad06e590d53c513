import { asciiText } from "../draw/printable-text.js";
import type { Screen } from "../draw/screen.js";
import { factLines, joinBlocks } from "../draw/terminal/terminal-text.js";
import { PinbenchError } from "../errors.js";
import { type Term, termGroups } from "./term-groups.js";

/**
 * A key shared by all forms of a term. It ignores case, a number at either end ("device 0"), ASCII spellings
 * of signs, the number of workers ("x16"), and the memory in a share of the link.
 */
function keyOf(word: string): string {
  return asciiText(word)
    .trim()
    .toLowerCase()
    .replaceAll(/\s+/g, " ")
    .replace(/^\d+ /, "")
    .replace(/ \d+$/, "")
    .replace(/^x\d+$/, "x4")
    .replace(/^[a-z-]+\/link$/, "link");
}

export function termsNamed(word: string): Term[] {
  const key = keyOf(word);
  return allTerms.filter(({ names }) => names.some((name) => keyOf(name) === key));
}

function termsLike(word: string): Term[] {
  const exact = termsNamed(word);
  const hasWord = (name: string) =>
    keyOf(name)
      .split(/[ ,/]+/)
      .includes(keyOf(word));
  return exact.length > 0 ? exact : allTerms.filter(({ names }) => names.some(hasWord));
}

const allTerms = termGroups.flatMap(({ terms }) => terms);

/** The text of all terms, or of these words. Throws a usage error for an unknown word. */
export function termsText(words: readonly string[], screen: Screen): string {
  const unknown = words.find((word) => termsLike(word).length === 0);
  if (unknown !== undefined) {
    throw new PinbenchError("usage", `no term of the tables is called "${unknown}".`, {
      hint: "`pinbench help terms` lists them all.",
    });
  }
  const requested = new Set(words.length === 0 ? allTerms : words.flatMap(termsLike));
  return joinBlocks(
    termGroups.map(({ title, terms }) => {
      const facts = terms
        .filter((one) => requested.has(one))
        .map(({ names, meaning }) => [names[0]!, meaning] as const);
      return facts.length === 0 ? [] : [screen.chalk.bold(title), ...factLines(facts, "  ", screen)];
    }),
  );
}
