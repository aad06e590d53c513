// A plain aligned table on stdout.
export function printTable(title, head, rows) {
  const text = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...text.map((row) => row[column].length)));
  const line = (row) => row.map((cell, column) => cell.padStart(widths[column])).join("   ");
  console.log(`\n${title}\n${line(text[0])}\n${"-".repeat(line(text[0]).length)}`);
  for (const row of text.slice(1)) console.log(line(row));
}

export const fixed = (value, digits = 2) => value.toFixed(digits);

/** Rounded down, so that a ratio just below its bound does not look as if it reached it. */
export const ratioText = (value) => (Math.floor(value * 1e4) / 1e4).toFixed(4);

export const verdict = (isReached) => (isReached ? "ok" : "BELOW");
