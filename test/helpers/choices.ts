import { readFileSync } from "node:fs";
import { seeded } from "./seeded.js";

/** Random choices that are the same in every run. */
export function choices(seed: number) {
  const { uniform, normal } = seeded(seed);
  const upTo = (count: number) => Math.floor(uniform() * count);
  const one = <T>(some: readonly T[]): T => some[upTo(some.length)]!;
  const is = (share: number) => uniform() < share;
  const some = <T>(all: readonly T[], share: number) => all.filter(() => is(share));
  const list = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, i) => make(i));
  return { uniform, normal, upTo, one, is, some, list };
}

export type Choices = ReturnType<typeof choices>;

/** Files of a machine, by path below "/", with what may stand in each: test/fixtures/files-of-NAME.txt. */
export function filesOf(name: "hosts" | "machines"): Record<string, string[]> {
  const text = readFileSync(new URL(`../fixtures/files-of-${name}.txt`, import.meta.url), "utf8");
  const entries = text
    .trim()
    .split("\n")
    .map((line) => line.split(/ (\[.*)/) as [path: string, contents: string]);
  return Object.fromEntries(entries.map(([path, contents]) => [path, JSON.parse(contents) as string[]]));
}
