import fc from "fast-check";

/** Changes that a broken or hostile program makes to a document's tree and text. */

/** Replaces a JSON literal that no JavaScript value is written as. */
const literal = (text: string) => `@@${text}@@`;

const oddNumbers = [
  ...["NaN", "Infinity", "1e999", "-0", "0x10", "1e-400", "12345678901234567890", "1e308"].map(literal),
  ...[0, -1, 0.5, 1e308, -1e308, 5e-324, 1e-300, 1e21, 2 ** 53, 2 ** 53 + 2, 2 ** 31, 1e15, 4096, -1e-9],
];

const oddTexts = [
  "",
  " ",
  "\u0000\u001b[2J\u0007",
  "\u202e\u2066gnp",
  "a\n  b\r\n| c |",
  "\u2028=> all is well",
  "\ud800",
  "|`*_<b>&\"']]>,;%0A::error::",
  "=1+1",
  "2026-11-20T10:00:00.000Z",
  "9999-12-31T23:59:59Z",
  "-1",
  "x".repeat(1 << 20),
  " ".repeat(100_000),
  "__proto__",
  "emulated",
  "cuda",
  "d0/h2d/pinned/16777216/w1/throughput/cold",
];

const deep = (depth: number) => literal(`${"[".repeat(depth)}${"]".repeat(depth)}`);

const oddValues: readonly unknown[] = [
  null,
  true,
  [],
  {},
  [null],
  [[]],
  "1",
  1,
  deep(20_000),
  { constructor: 1, toString: null },
];

const oddKeys = ["__proto__", "constructor", "toString", "\u202e", "", "a\nb", "length"];

/** A change; `at` selects its place in the tree, and one of several values. */
interface Change {
  what: keyof typeof changes;
  at: number;
  which: number;
}

type Tree = unknown;
/** An object's or an array's entry. */
type Entry = readonly [key: string, value: Tree];

const take = <Value>(values: readonly Value[], which: number): Value => values[which % values.length]!;

/** Replacements of an entry: none, one or several. */
const changes = {
  drop: (): Entry[] => [],
  duplicate: ([key, value]: Entry): Entry[] => [
    [key, value],
    [`${key}2`, value],
  ],
  rename: ([, value]: Entry, which: number): Entry[] => [[take(oddKeys, which), value]],
  number: ([key]: Entry, which: number): Entry[] => [[key, take(oddNumbers, which)]],
  scaled: ([key, value]: Entry, which: number): Entry[] => [
    [key, typeof value === "number" ? value * take([1e-3, 1.5, 1e3, 1e9, -1, 1e-12], which) : value],
  ],
  text: ([key]: Entry, which: number): Entry[] => [[key, take(oddTexts, which)]],
  value: ([key]: Entry, which: number): Entry[] => [[key, take(oddValues, which)]],
  reverse: ([key, value]: Entry): Entry[] => [[key, Array.isArray(value) ? value.toReversed() : value]],
  repeat: ([key, value]: Entry, which: number): Entry[] => [
    [
      key,
      Array.isArray(value)
        ? Array(2 + (which % 3))
            .fill(value)
            .flat()
        : value,
    ],
  ],
  empty: ([key, value]: Entry): Entry[] => [
    [key, Array.isArray(value) ? [] : typeof value === "string" ? "" : typeof value === "object" ? {} : 0],
  ],
} satisfies Record<string, (entry: Entry, which: number) => Entry[]>;

/** Entries of a samples' column that count as places; with all of them, other places would be rare. */
const mostEntries = 2;

const isNested = (value: Tree): value is object => typeof value === "object" && value !== null;

/** The values that some changes apply to; other changes apply to any. */
const kindsOf: Partial<Record<Change["what"], (value: Tree) => boolean>> = {
  number: (value) => typeof value === "number",
  scaled: (value) => typeof value === "number",
  text: (value) => typeof value === "string",
  reverse: Array.isArray,
  repeat: Array.isArray,
};

type Path = readonly string[];

/** Places of a tree where a change is possible. */
function placesIn(tree: Tree, isFor: (value: Tree) => boolean, above: Path = []): Path[] {
  if (!isNested(tree)) return [];
  const entries = Object.entries(tree);
  const kept = Array.isArray(tree) && !tree.some(isNested) ? entries.slice(0, mostEntries) : entries;
  return kept.flatMap(([key, value]) => {
    const path = [...above, key];
    const below = placesIn(value, isFor, path);
    return isFor(value) ? [path, ...below] : below;
  });
}

function changedAt(tree: object, [key, ...below]: Path, change: Change): Tree {
  const entries = Object.entries(tree).flatMap((entry): readonly Entry[] => {
    if (entry[0] !== key) return [entry];
    if (below.length > 0) return [[key, changedAt(entry[1] as object, below, change)]];
    return changes[change.what](entry, change.which);
  });
  return Array.isArray(tree) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

/** Changes of the text or its bytes; none in half of the cases. */
const textChanges: readonly ((text: string, at: number) => string)[] = [
  (text) => text,
  (text) => text,
  (text) => text,
  (text) => text,
  (text) => text,
  (text, at) => text.slice(0, at % text.length),
  (text, at) => flipped(text, at),
  (text, at) => flipped(flipped(text, at), at * 7 + 3),
  (text) => `\ufeff${text}`,
  (text) => Buffer.from(text, "utf16le").toString("utf8"),
  (text) => `${text}${text}`,
  (text, at) => `${text.slice(0, at % text.length)}\0${text.slice(at % text.length)}`,
];

function flipped(text: string, at: number): string {
  const bytes = Buffer.from(text);
  const index = at % bytes.length;
  bytes[index] = bytes[index]! ^ (1 << (at % 8));
  return new TextDecoder().decode(bytes);
}

/** Changes of a text. */
export interface Mutation {
  changes: Change[];
  text: number;
  at: number;
}

/** Mutations, mostly with one or two changes, because a document is refused for its first fault. */
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  changes: fc.array(
    fc.record({
      what: fc.constantFrom(...(Object.keys(changes) as (keyof typeof changes)[])),
      at: fc.nat({ max: 1e6 }),
      which: fc.nat({ max: 1000 }),
    }),
    { minLength: 0, maxLength: 3, size: "max" },
  ),
  text: fc.nat({ max: textChanges.length - 1 }),
  at: fc.nat({ max: 1e6 }),
});

/** The document's changed text. */
export function mutated(document: unknown, { changes, text, at }: Mutation): string {
  let tree = document;
  for (const change of changes) {
    const places = placesIn(tree, kindsOf[change.what] ?? (() => true));
    if (places.length > 0) tree = changedAt(tree as object, take(places, change.at), change);
  }
  const written = (JSON.stringify(tree) ?? "").replaceAll(/"@@([^"@]*)@@"/g, "$1");
  return written === "" ? "" : textChanges[text]!(written, at);
}
