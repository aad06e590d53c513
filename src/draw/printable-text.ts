/**
 * Characters that control a terminal or the text direction: control characters (Unicode Cc), line and paragraph
 * separators, and bidirectional controls (Bidi_Control, UAX #9). Names of files, hosts, devices and loaders, and other
 * programs' output, may contain them. Texts for people show them as escapes; JSON keeps them.
 */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text on one line, with control characters as escapes: `\x1b`, `\u202e`, `\n`. */
export function printableText(text: string): string {
  return text.replace(unprintable, (character) => shortEscapes[character] ?? escapeOf(character));
}

/** In JavaScript's notation: `\xe9`, `\u202e`, `\u{1f600}`. */
function escapeOf(character: string): string {
  const code = character.codePointAt(0)!.toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}

/** ASCII spellings of pinbench's own signs. The blocks of a curve keep their order. */
const spelled: Readonly<Record<string, string>> = {
  "±": "+-",
  µ: "u",
  μ: "u",
  "×": "x",
  "²": "^2",
  "−": "-",
  "–": "-",
  "—": "-",
  "─": "-",
  "→": "->",
  "←": "<-",
  "≤": "<=",
  "≥": ">=",
  "≈": "~",
  "…": "...",
  "“": '"',
  "”": '"',
  "‘": "'",
  "’": "'",
  "·": "|",
  "†": "#",
  "▁": "_",
  "▂": ".",
  "▃": ":",
  "▄": "-",
  "▅": "=",
  "▆": "+",
  "▇": "*",
  "█": "#",
};

export function asciiText(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (character) => spelled[character] ?? escapeOf(character));
}

/**
 * A copy of a document with printable texts and keys, for people. Unchanged parts, such as columns of samples, are
 * shared.
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
