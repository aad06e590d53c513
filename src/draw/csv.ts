/** What stands in a field; null is an empty one. */
export type CsvValue = string | number | null;

/** Lines of fields, quoted as RFC 4180 says, but ending in LF as tools on Linux expect. What is absent is empty. */
export function csvLines(lines: readonly (readonly CsvValue[])[]): string {
  return lines.map((line) => `${line.map(quote).join(",")}\n`).join("");
}

/**
 * A text that a spreadsheet would take for a formula stands behind an apostrophe (OWASP, "CSV Injection"): names in a
 * result may be anybody's. No name that pinbench gives begins like one.
 */
function quote(value: CsvValue): string {
  const text = value === null ? "" : String(value);
  const shown = typeof value === "string" && /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
