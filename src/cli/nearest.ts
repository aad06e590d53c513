/** The one of `words` that `typed` was most likely meant to be, or null; case, "-" and "_" do not count. */
export function nearest(typed: string, words: readonly string[]): string | null {
  const ranked = words
    .map((word) => ({ word, edits: editDistance(plain(typed), plain(word)) }))
    .sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  // In a short word one edit is already much.
  const mostEdits = Math.max(1, Math.floor(plain(typed).length / 3));
  return best !== undefined && best.edits <= mostEdits ? best.word : null;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, "");
}

/** Characters to insert, delete or replace to make `a` into `b` (Levenshtein). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const row = [i];
    for (let j = 1; j <= b.length; ++j) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, previous[j]! + 1, row[j - 1]! + 1));
    }
    previous = row;
  }
  return previous[b.length]!;
}
