import { PinbenchError } from "../../errors.js";

/** Whether an id matches a pattern as a whole. `*` matches any characters, also slashes and none. */
export function matchesPattern(id: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return id === pattern;
  // Taking the first match of each part leaves most room for later parts, so no other is needed.
  let at = first.length;
  if (!id.startsWith(first)) return false;
  for (const part of others) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return id.length - last.length >= at && id.endsWith(last);
}

const mostNamed = 3;

/** Throws a usage error with some cell ids for the first pattern that matches none. */
export function refuseUnmatched(patterns: readonly string[], ids: readonly string[], path: string): void {
  const unmatched = patterns.find((pattern) => !ids.some((id) => matchesPattern(id, pattern)));
  if (unmatched === undefined || ids.length === 0) return;
  const known = [...new Set(ids)];
  const others = known.length > mostNamed ? ` and ${known.length - mostNamed} more` : "";
  throw new PinbenchError("usage", `no cell of the checks in ${path} matches "${unmatched}".`, {
    hint: `* stands for any characters, sizes are in bytes. Cells: ${known.slice(0, mostNamed).join(", ")}${others}.`,
  });
}
