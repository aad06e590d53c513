/** A number and its unit stay together. */
const breakable = / (?!%|GB\/s|µs|[KMGT]?i?B\b)/;

/** The words of a text, a number with its unit being one. */
export function splitWords(text: string): string[] {
  return text.split(breakable);
}

/** Breaks text into lines of at most `width` characters; a longer word keeps a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of splitWords(text)) {
    if (line === "") {
      line = word;
    } else if (line.length + 1 + word.length <= width) {
      line += ` ${word}`;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** The same with later lines indented to stand below the text that follows `prefix`. */
export function wrapAfter(prefix: string, text: string, width: number): string[] {
  const indent = " ".repeat(prefix.length);
  return wrap(text, width - prefix.length).map((line, index) => (index === 0 ? prefix : indent) + line);
}
