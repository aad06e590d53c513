export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export function mean(values: readonly number[]): number {
  return sumOf(values) / values.length;
}

export function squaresAboutMean(values: readonly number[]): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}
