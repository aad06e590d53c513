/**
 * P-values after Holm's step-down correction, in the order given: those below a level control the chance of any
 * false one among all of them at that level, however they depend on each other (S. Holm, "A simple sequentially
 * rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979).
 */
export function holm(pValues: readonly number[]): number[] {
  const ascending = pValues.map((_, i) => i).sort((i, j) => pValues[i]! - pValues[j]!);
  const adjusted = new Array<number>(pValues.length);
  let largest = 0;
  ascending.forEach((index, rank) => {
    largest = Math.max(largest, Math.min(1, pValues[index]! * (pValues.length - rank)));
    adjusted[index] = largest;
  });
  return adjusted;
}
