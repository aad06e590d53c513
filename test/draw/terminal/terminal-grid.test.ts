import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { blank, figure, type Grid, numberColumn, spared, wordColumn } from "../../../src/draw/report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { roomBeside, terminalGrid } from "../../../src/draw/terminal/terminal-grid.js";
import { factLines } from "../../../src/draw/terminal/terminal-text.js";

const drawn = (grid: Grid, columns: number, part = {}) =>
  terminalGrid(grid, fileScreen({ columns, ...part }));

/** A label and rates of three kinds of memory, two of which may be left out. */
const rates: Grid = {
  columns: [
    wordColumn("size"),
    spared(numberColumn("pinned/", "pageable"), 2),
    spared(numberColumn("pinned/", "link"), 1),
    numberColumn("pinned"),
  ],
  rows: [
    [figure("1 MiB"), figure("5.0×"), figure("88.0 %"), figure("55.0")],
    [figure("16 MiB"), figure("12×"), figure("9.0 %"), figure("5.50", "±1 %")],
  ],
};

describe("a table that is too wide", () => {
  it("leaves out first what is spared first, and says so", () => {
    const leftOut = (columns: number) =>
      / left out, .*/.exec(drawn(rates, columns).join(" ").replaceAll(/\s+/g, " "))?.[0];
    expect(leftOut(60)).toBeUndefined();
    expect(leftOut(36)).toBe(" left out, as the table is too wide: pinned/link");
    expect(leftOut(26)).toBe(" left out, as the table is too wide: pinned/link and pinned/pageable");
  });

  it("is shown in parts with the labels in each, and heads that belong together in one", () => {
    const columns = [numberColumn("D2H"), numberColumn("H2D", "alone"), numberColumn("", "at once")];
    const grid: Grid = {
      columns: [wordColumn("size"), ...columns, numberColumn("x")],
      rows: [[figure("1 MiB"), figure("54.0"), figure("55.0"), figure("50.0"), figure("1")]],
    };
    expect(drawn(grid, 26)).toEqual([
      ...["  size    D2H", "  ───────────", "  1 MiB  54.0", ""],
      ...["           H2D", "  size   alone  at once  x", "  ────────────────────────"],
      "  1 MiB   55.0     50.0  1",
    ]);
  });

  it("leaves out what is spared rather than break the words of many rows", () => {
    const rows = ["nine two three seven", "five six seven eight", "x", "y", "z"].map((text, i) => [
      figure(text),
      figure(String(100 + i)),
    ]);
    const grid: Grid = { columns: [wordColumn("why"), spared(numberColumn("n"), 1)], rows };
    const text = (some: Grid) => drawn(some, 25).join("\n");
    expect(text(grid)).toContain("  nine two three seven\n  five six seven eight\n");
    expect(text(grid)).toContain("left out");
    // One row of five is few.
    expect(text({ ...grid, rows: rows.slice(1) })).not.toContain("left out");
  });

  it("has notes below their figures, as wide as either, before it is taken apart", () => {
    const grid: Grid = {
      columns: [wordColumn("a"), numberColumn("b")],
      rows: [[figure("x"), figure("5.5", "±100 %")]],
    };
    expect(drawn(grid, 12)).toEqual(["  a       b", "  ─────────", "  x     5.5", "     ±100 %"]);
  });

  it("is a list of facts if two columns have no room, without empty ones", () => {
    const grid: Grid = {
      columns: [wordColumn("cell"), numberColumn("rate"), wordColumn("why")],
      rows: [
        [figure("H2D-pinned"), figure("55.0", "±1 %"), blank],
        [figure("D2H-pinned"), blank, figure("it-failed")],
      ],
    };
    expect(drawn(grid, 12)).toEqual([
      ...["  cell  H2D-pinned", "  rate  55.0 ±1 %", ""],
      ...["  cell  D2H-pinned", "  why   it-failed"],
    ]);
  });

  it("breaks words into as many lines as the column takes, the widest column first", () => {
    const text = "one two three four five six seven eight";
    const grid = (mostLines?: number): Grid => ({
      columns: [wordColumn("a"), { ...wordColumn("why"), ...(mostLines !== undefined && { mostLines }) }],
      rows: [[figure("alpha beta"), figure(text)]],
    });
    expect(drawn(grid(), 60)).toHaveLength(3);
    expect(drawn(grid(), 39).slice(2)).toEqual([
      "  alpha beta  one two three four five",
      "                six seven eight",
    ]);
    expect(drawn(grid(4), 31).slice(2)).toHaveLength(3);
  });
});

it("figures are in the colour of their tone, with a note or without", () => {
  const chalk = new Chalk({ level: 1 });
  const grid: Grid = {
    columns: [wordColumn("a"), numberColumn("b")],
    rows: [
      [figure("w", "", "warning"), figure("5", "±1 %", "failure")],
      [figure("m", "", "mismatch"), figure("6", "", "muted")],
    ],
  };
  const text = drawn(grid, 60, { chalk }).join("\n");
  for (const painted of [
    chalk.yellow("w"),
    chalk.red("5"),
    chalk.bold.red("m"),
    chalk.dim("±1 %"),
    chalk.dim("6"),
  ])
    expect(text).toContain(painted);
});

it("there is room beside a table for what is left of the line", () => {
  const grid: Grid = { columns: [wordColumn("a")], rows: [[figure("12345")]] };
  expect(roomBeside(grid, fileScreen({ columns: 20 }))).toBe(20 - 2 - 5 - 2);
  expect(roomBeside(grid, fileScreen({ columns: 6 }))).toBeLessThan(0);
});

it("facts have their values below each other, later lines of a value too", () => {
  const screen = fileScreen({ columns: 22 });
  expect(
    factLines(
      [
        ["Host", "a"],
        ["Driver", "one two three four"],
      ],
      "  ",
      screen,
    ),
  ).toEqual(["  Host    a", "  Driver  one two", "          three four"]);
});
