import { describe, expect, it } from "vitest";
import {
  type Block,
  details,
  environment,
  facts,
  figure,
  fold,
  note,
  numberColumn,
  type Report,
  section,
  tables,
  texts,
  wordColumn,
} from "../../../src/draw/report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { drawTerminal } from "../../../src/draw/terminal/draw-terminal.js";

/** Two rows of the same size, with equal rates. */
const table = (row: string, caption: string): Block => ({
  type: "table",
  grid: {
    caption: `${row}, ${caption}`,
    columns: [wordColumn("size"), wordColumn("rate")],
    rows: [1, 2].map(() => [figure("1 MiB"), figure("50")]),
    joins: { row, caption },
  },
});

const drawn = (...blocks: Block[]) => shown({ blocks });

function shown(part: Partial<Report>, showsAll = false, columns = 80): string[] {
  const report: Report = { command: "run", version: "0.1.0", name: "", hasTerms: false, blocks: [], ...part };
  return drawTerminal(report, fileScreen({ columns, showsAll })).trim().split("\n").slice(2);
}

const ofType = (type: "answer" | "note", ...lines: string[]) =>
  texts(
    type,
    lines.map((line) => note(line)),
  );
const pointer = "  --all shows all rows and notes";

it("draws small tables as one, unless they differ in more than what names their rows", () => {
  const lines = drawn(table("H2D", "cold"), table("H2D", "warm"), table("D2H", "warm"), table("P2P", "warm"));
  expect(lines).toMatchInlineSnapshot(`
    [
      "H2D, cold",
      "  size    rate",
      "  ────────────",
      "  1 MiB   50",
      "  1 MiB   50",
      "",
      "warm",
      "        size    rate",
      "  ──────────────────",
      "  H2D   1 MiB   50",
      "        1 MiB   50",
      "  D2H   1 MiB   50",
      "        1 MiB   50",
      "  P2P   1 MiB   50",
      "        1 MiB   50",
    ]
  `);
});

describe("without --all", () => {
  const ranked = ([3, 1, 2] as const).map(
    (yields): Block => ({ type: "code", language: "", text: `rank ${yields}\n-\n-`, yields }),
  );
  const blocks = ranked.flatMap((block): Block[] => [block, facts([["Size", "1 MiB"]])]);
  const ranksIn = (mostLines: number, showsAll = false, columns = 80) =>
    shown({ blocks, mostLines }, showsAll, columns).flatMap((line) => /rank (\d)/.exec(line)?.[1] ?? []);

  it("too many lines leave out first what yields first, as much as is needed", () => {
    const all = shown({ blocks }).length + 2;
    expect(ranksIn(all)).toEqual(["3", "1", "2"]);
    expect(ranksIn(all - 1)).toEqual(["3", "2"]);
    expect(ranksIn(all - 3)).toEqual(["3"]);
    expect(ranksIn(1)).toEqual([]);
    expect(shown({ blocks, mostLines: 1 }).at(-1)).toBe(pointer);
  });

  it("lines are not counted on a narrow screen, nor with --all", () => {
    expect(ranksIn(1, false, 79)).toHaveLength(3);
    expect(ranksIn(1, true)).toHaveLength(3);
  });

  it("facts are the brief ones", () => {
    const host = environment(
      [
        ["Host", "node-1"],
        ["Driver", "580"],
      ],
      [["Host", "node-1"]],
    );
    expect(drawn(host)).toEqual(["  Host  node-1", "", pointer]);
    expect(shown({ blocks: [host] }, true)).toEqual(["  Host    node-1", "  Driver  580"]);
  });

  it("words are explained below the facts if nothing is left out, or else beside the pointer", () => {
    const host = environment([["Host", "node-1"]]);
    expect(shown({ hasTerms: true, blocks: [host] })).toEqual([
      "  Host   node-1",
      "  Words  pinbench help terms explains them",
    ]);
    expect(shown({ hasTerms: true, blocks: [host, ...details([facts([["A", "b"]])])] })).toEqual([
      ...["  Host  node-1", ""],
      `${pointer}; pinbench help terms explains the words`,
    ]);
  });

  it("a section of details alone is left out with its title", () => {
    const inner = details(ofType("note", "rare"));
    expect(drawn(section("Rare:", inner))).toEqual([pointer]);
    expect(drawn(section("Rates:", [...ofType("note", "a"), ...inner]))).toEqual([
      ...["Rates:", "", "  a", "", pointer],
    ]);
  });

  it("a table has its main rows, and fewer if the tables have too many lines, which then end", () => {
    const rows = ["a", "b", "c", "d"].map((name) => [figure(name)]);
    const grid = { columns: [wordColumn("x")], rows, keyRows: [0, 1, 2], coreRows: [0] };
    const rowsIn = (tableLines: number) =>
      shown({ tableLines, blocks: tables([grid, { ...grid, columns: [wordColumn("y")] }]) })
        .map((line) => line.trim())
        .filter((line) => /^[abcd]$/.test(line))
        .join("");
    expect(rowsIn(12)).toBe("abcabc");
    expect(rowsIn(11)).toBe("aa");
    expect(rowsIn(7)).toBe("a");
    expect(drawn(...tables([{ columns: grid.columns, rows, footnote: "Half." }])).at(-1)).toBe(pointer);
    expect(drawn(...tables([{ columns: grid.columns, rows }])).at(-1)).toBe("  d");
  });
});

it("joined tables keep their labels apart from each other", () => {
  const cells = (size: string) => [figure(size), figure("2"), figure("50")];
  const columns = [wordColumn("size"), numberColumn("workers"), numberColumn("rate")];
  const both = ["H2D", "D2H"].map((row) => ({
    ...{ caption: `${row}, warm`, columns, labels: 2, joins: { row, caption: "warm" } },
    rows: [cells("1 MiB"), cells("1 MiB")],
  }));
  expect(drawn(...tables(both)).slice(3)).toEqual([
    ...["  H2D   1 MiB         2     50", "                      2     50"],
    ...["  D2H   1 MiB         2     50", "                      2     50"],
  ]);
});

it("an answer is last only where a report ends with it", () => {
  const blocks = [...ofType("answer", "It is fast."), ...ofType("note", "a")];
  expect(shown({ blocks })).toEqual(["=> It is fast.", "", "  a"]);
  expect(shown({ blocks, endsWithAnswer: true })).toEqual(["  a", "", "=> It is fast."]);
});

it("a tight section has no empty lines, what is folded has notes in its place, and an entry its facts below", () => {
  const entry: Block = { type: "entry", text: "A setting", facts: [["Set", "x=1"]] };
  const inner = [entry, fold("Plans", [facts([["A", "b"]])], [note("see the page")])];
  const lines = ["  A setting", "    Set  x=1", "  see the page"];
  expect(drawn(section("In short:", inner, true))).toEqual(["In short:", ...lines]);
  expect(drawn(section("In short:", inner)).filter((line) => line !== "")).toEqual(["In short:", ...lines]);
  expect(drawn(section("In short:", inner))).toContain("");
});
