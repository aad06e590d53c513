import { PinbenchError } from "../../errors.js";

/**
 * Whether a whole id matches the pattern, in which `*` stands for any characters, including slashes and none at all.
 */
export function matchesPattern(id: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[^\w/-]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(id);
}

const mostNamed = 3;

/** Throws a usage error, which names some cells, for the first pattern that matches none of these ids. */
export function refuseUnmatched(patterns: readonly string[], ids: readonly string[], path: string): void {
  const unmatched = patterns.find((pattern) => !ids.some((id) => matchesPattern(id, pattern)));
  if (unmatched === undefined || ids.length === 0) return;
  const known = [...new Set(ids)];
  const others = known.length > mostNamed ? ` and ${known.length - mostNamed} more` : "";
  throw new PinbenchError("usage", `no cell of the checks in ${path} matches "${unmatched}".`, {
    hint: `* stands for any characters, sizes are in bytes. Cells: ${known.slice(0, mostNamed).join(", ")}${others}.`,
  });
}
