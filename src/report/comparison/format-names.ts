/** Values of `--format` for `compare` and `check`; apart from what renders them, which is slow to load. */
export const comparisonFormats = [
  "table",
  "json",
  "markdown",
  "junit",
  "github",
  "bmf",
  "benchmark-action",
] as const;

export type ComparisonFormat = (typeof comparisonFormats)[number];
