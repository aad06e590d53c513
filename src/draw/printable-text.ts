/**
 * Names of files, hosts, devices and loaders, and other programs' output, may contain characters that control a
 * terminal or the direction of text: control characters (Unicode's Cc), line and paragraph breaks, and marks and
 * overrides of bidirectional text (Unicode's Bidi_Control, UAX #9). Texts for people show them as escapes; JSON keeps
 * them.
 */
const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text as one line without any control character: `\x1b`, `\u202e`, `\n` stand for them. */
export function printableText(text: string): string {
  return text.replace(unprintable, (character) => shortEscapes[character] ?? escapeOf(character));
}

/** In JavaScript's notation: `\xe9`, `\u202e`, `\u{1f600}`. */
function escapeOf(character: string): string {
  const code = character.codePointAt(0)!.toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}

/** ASCII spellings of the signs in pinbench's own texts; blocks of a curve keep their order. */
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
 * A document with every text, keys too, made printable for people. Parts without changes, such as columns of samples,
 * are not copied.
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
