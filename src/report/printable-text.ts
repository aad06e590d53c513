/**
 * Names of files, hosts, devices and loaders, and what other programs say, may hold what a terminal obeys and what turns
 * text around: control characters (Unicode's Cc), breaks of lines and paragraphs, and the marks and overrides of
 * bidirectional text (Unicode's Bidi_Control, UAX #9). Whatever people read has them as visible escapes; JSON keeps the
 * truth.
 */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text as one line without anything that a terminal or a page would obey: `\x1b`, `\u202e`, `\n` stand for it. */
export function printableText(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return (
      shortEscapes[character] ??
      (code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`)
    );
  });
}

/**
 * A document with every text in it, keys too, made printable, to be rendered for people. What holds none that changes,
 * such as columns of samples, is not copied.
 */
export function printableDocument<Document>(document: Document): Document {
  return printableValue(document) as Document;
}

function printableValue(value: unknown): unknown {
  if (typeof value === "string") return printableText(value);
  if (Array.isArray(value)) {
    const entries = value.map(printableValue);
    return entries.every((entry, index) => entry === value[index]) ? value : entries;
  }
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const old = Object.entries(value);
  const entries = old.map(([key, entry]) => [printableText(key), printableValue(entry)] as const);
  const isSame = entries.every(([key, entry], index) => key === old[index]![0] && entry === old[index]![1]);
  return isSame ? value : Object.fromEntries(entries);
}
