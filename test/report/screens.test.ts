import { Chalk } from "chalk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { figure, type Grid, numberColumn, wordColumn } from "../../src/draw/report.js";
import { fileScreen, type Screen } from "../../src/draw/screen.js";
import { terminalGrid } from "../../src/draw/terminal/terminal-grid.js";
import { paragraph, visibleWidth } from "../../src/draw/terminal/terminal-text.js";
import { shownDocuments } from "../helpers/shown-documents.js";
import { trialSeed } from "../helpers/trials.js";

/*
 * The output at several widths. The files in snapshots/ are for reviewers; `vitest -u` writes them again after a text has
 * changed on purpose. The other tests hold at every width and need no file.
 */

const widths = [60, 80, 120, 200];
const names = Object.keys(shownDocuments);
const snapshot = (name: string) => `snapshots/${name}.txt`;
const shown = (name: string, part: Partial<Screen>) => shownDocuments[name]!(fileScreen(part));

/** Two outputs are many pages long, and have no snapshot. */
const lookedAt = names.filter((name) => name !== "beside" && name !== "together");

describe.each(lookedAt)("the output of %s", (name) => {
  it.each([60, 80])("matches its snapshot in %i columns", async (columns) => {
    await expect(shown(name, { columns })).toMatchFileSnapshot(snapshot(`${name}-${columns}`));
  });
});

/** The outputs with the most kinds of columns. */
describe.each(["run", "compare"])("the output of %s", (name) => {
  it("matches its snapshot in ASCII", async () => {
    await expect(shown(name, { columns: 80, isAscii: true })).toMatchFileSnapshot(snapshot(`${name}-ascii`));
  });
});

it("the colours of each output match their snapshot", async () => {
  const chalk = new Chalk({ level: 1 });
  const codesOf = (line: string) => line.match(/\\e\[\d+m/g)?.join("") ?? "";
  const firstLines = lookedAt.map((name) => {
    const lines = shown(name, { columns: 80, chalk }).replaceAll("\u001b", "\\e").split("\n");
    const coloured = lines.filter(
      (line, index) =>
        codesOf(line) !== "" && lines.findIndex((one) => codesOf(one) === codesOf(line)) === index,
    );
    return [`# ${name}`, ...coloured].join("\n");
  });
  await expect(`${firstLines.join("\n\n")}\n`).toMatchFileSnapshot(snapshot("colours"));
});

/** Rules depend on the width, and are no words. */
const isDrawn = (word: string) => /^[─-]+$/.test(word);
/** A stacked table has commas between its entries, and no line break in a head such as "pinned/link". */
const wordsOf = (text: string) => text.split(/[\s,/]+/).filter((word) => word !== "" && !isDrawn(word));

/** Column heads that a stacked table leaves out. */
const headsOfNames = wordsOf("cell finding group method node question state trend what was measured");

describe.each(names)("the output of %s", (name) => {
  it.each(widths)("fits %i columns without breaking a word", (columns) => {
    const text = shown(name, { columns });
    expect(text.split("\n").filter((line) => visibleWidth(line) > columns)).toEqual([]);
    const whole = new Set(wordsOf(shown(name, { columns: 1000 })));
    expect(wordsOf(text).filter((word) => !whole.has(word))).toEqual([]);
  });

  it.each(widths)("keeps every word in %i columns", (columns) => {
    const here = new Set(wordsOf(shown(name, { columns })));
    const lost = wordsOf(shown(name, { columns: 1000 })).filter((word) => !here.has(word));
    expect(lost.filter((word) => !headsOfNames.includes(word))).toEqual([]);
  });

  it("differs with colours only by its colour codes", () => {
    const coloured = shown(name, { columns: 80, chalk: new Chalk({ level: 1 }) });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how a colour begins.
    expect(coloured.replaceAll(/\u001b\[\d+m/g, "")).toBe(shown(name, { columns: 80 }));
  });

  it("has minus signs, not hyphens, before negative numbers", () => {
    expect(shown(name, { columns: 80 }).match(/(?<=[\s(])-\d.*/g) ?? []).toEqual([]);
  });

  it("keeps every word in ASCII", () => {
    const here = new Set(wordsOf(shown(name, { columns: 1000, isAscii: true })));
    const ascii = wordsOf(shown(name, { columns: 1000 })).filter((word) => /^[ -~]+$/.test(word));
    expect(ascii.filter((word) => !here.has(word))).toEqual([]);
  });

  it("has only ASCII characters on a terminal that shows only ASCII", () => {
    const text = shown(name, { columns: 80, isAscii: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what ASCII is.
    expect(text.match(/[^\x00-\x7f]/g) ?? []).toEqual([]);
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
});

it("running text is at most 110 columns wide, however wide the screen is", () => {
  const lines = paragraph("word ".repeat(100), fileScreen({ columns: 200 }));
  const longest = Math.max(...lines.map(visibleWidth));
  expect(longest).toBeGreaterThan(104);
  expect(longest).toBeLessThanOrEqual(110);
});

describe("a table of random content", () => {
  const word = fc.stringMatching(/^[a-z]{1,9}$/);
  const wide = fc.constantFrom("日本語", "測定", "한국", "e\u0301t\u00e9");
  const entry = fc.oneof(
    fc.array(fc.oneof(word, wide), { minLength: 0, maxLength: 4 }).map((words) => figure(words.join(" "))),
    fc
      .tuple(fc.double({ min: 0, max: 9999, noNaN: true }), fc.constantFrom("", "±2.1 %", "±12 % *"))
      .map(([value, note]) => figure(value.toFixed(2), note)),
  );
  const column = fc
    .tuple(fc.boolean(), fc.array(word, { minLength: 1, maxLength: 2 }))
    .map(([isWord, head]) => (isWord ? wordColumn(...head) : numberColumn(...head)));
  const grids: fc.Arbitrary<Grid> = fc.array(column, { minLength: 1, maxLength: 9 }).chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      rows: fc.array(fc.array(entry, { minLength: columns.length, maxLength: columns.length }), {
        maxLength: 5,
      }),
      labels: fc.integer({ min: 1, max: Math.min(3, columns.length) }),
    }),
  );

  it("is never wider than its screen, whatever characters it has", () => {
    fc.assert(
      fc.property(grids, fc.integer({ min: 40, max: 140 }), (grid, columns) => {
        const words = grid.rows.flat().flatMap(({ text, note }) => [...text.split(" "), note]);
        const longest = Math.max(0, ...words.map(visibleWidth));
        const tooWide = terminalGrid(grid, fileScreen({ columns })).filter(
          (line) => visibleWidth(line) > columns,
        );
        expect(longest).toBeLessThan(40);
        expect(tooWide).toEqual([]);
      }),
      { seed: trialSeed },
    );
  });

  it("shows each word of its cells", () => {
    fc.assert(
      fc.property(grids, fc.integer({ min: 40, max: 140 }), (grid, columns) => {
        const text = terminalGrid({ ...grid, keepsRepeats: true }, fileScreen({ columns })).join(" ");
        const needed = grid.rows.flat().flatMap(({ text }) => text.split(" "));
        expect(needed.filter((one) => !text.includes(one))).toEqual([]);
      }),
      { seed: trialSeed },
    );
  });
});
