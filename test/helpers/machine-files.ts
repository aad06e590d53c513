import { readFileSync } from "node:fs";

/** Files of a machine, by path below "/", with what may stand in each: test/fixtures/files-of-NAME.txt. */
export function filesOf(name: "hosts" | "machines"): Record<string, string[]> {
  const text = readFileSync(new URL(`../fixtures/files-of-${name}.txt`, import.meta.url), "utf8");
  const entries = text
    .trim()
    .split("\n")
    .map((line) => line.split(/ (\[.*)/) as [path: string, contents: string]);
  return Object.fromEntries(entries.map(([path, contents]) => [path, JSON.parse(contents) as string[]]));
}
