export function jsonReport(value: unknown): string {
  return `${serialize(value, "").replace(controlCharacters, escapeOf)}\n`;
}

/**
 * Characters that JSON.stringify() leaves unescaped although they control a terminal or the text direction. Escaped,
 * they mean the same to JSON readers; outside strings JSON has none.
 */
const controlCharacters = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const step = "  ";

function serialize(value: unknown, indent: string): string {
  const inner = indent + step;
  if (Array.isArray(value) && value.some(isNested)) {
    return block(
      "[",
      value.map((entry) => inner + serialize(entry, inner)),
      `${indent}]`,
    );
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([key, entry]) => `${inner}${JSON.stringify(key)}: ${serialize(entry, inner)}`);
    return entries.length === 0 ? "{}" : block("{", entries, `${indent}}`);
  }
  return JSON.stringify(value) ?? "null";
}

function block(open: string, lines: readonly string[], close: string): string {
  return `${open}\n${lines.join(",\n")}\n${close}`;
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
