import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { blank, figure, type Grid, numberColumn, wordColumn } from "../../../src/draw/report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { terminalGrid } from "../../../src/draw/terminal/terminal-grid.js";
import { factLines } from "../../../src/draw/terminal/terminal-text.js";

const drawn = (grid: Grid, columns: number, part = {}) =>
  terminalGrid(grid, fileScreen({ columns, ...part }));

describe("a table that is too wide", () => {
  it("has notes below their figures if that is enough to fit", () => {
    const grid: Grid = {
      columns: [wordColumn("a"), numberColumn("b")],
      rows: [[figure("x"), figure("5.5", "±100 %")]],
    };
    expect(drawn(grid, 12)).toEqual(["  a       b", "  ─────────", "  x     5.5", "     ±100 %"]);
  });

  it("is stacked into a block for each row if its columns have no room", () => {
    const grid: Grid = {
      columns: [wordColumn("cell"), numberColumn("rate"), wordColumn("why")],
      rows: [
        [figure("H2D-pinned"), figure("55.0", "±1 %"), blank],
        [figure("D2H-pinned"), blank, figure("it-failed")],
      ],
    };
    expect(drawn(grid, 20)).toEqual([
      ...["  H2D-pinned", "    rate 55.0 ±1 %"],
      ...["  D2H-pinned", "    why it-failed"],
    ]);
  });

  it("wraps cells into two lines at most, those of the widest column first", () => {
    const grid: Grid = {
      columns: [wordColumn("a"), wordColumn("why")],
      rows: [[figure("alpha beta"), figure("one two three four five six seven eight")]],
    };
    expect(drawn(grid, 60)).toHaveLength(3);
    expect(drawn(grid, 39).slice(2)).toEqual([
      "  alpha beta  one two three four five",
      "                six seven eight",
    ]);
    expect(drawn(grid, 24)[0]).toBe("  alpha beta");
  });
});

it("figures in a table have the colour of their tone, with a note or without", () => {
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

it("the values of facts are aligned, also if they take several lines", () => {
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

it("a path in a fact that is longer than a line is broken after its slashes", () => {
  const facts = [["File", "in /home/user/results/a.json, 1 run"]] as const;
  expect(factLines(facts, "", fileScreen({ columns: 18 }))).toEqual([
    "File  in",
    "      /home/user/",
    "      results/",
    "      a.json,",
    "      1 run",
  ]);
  expect(factLines([["File", "a_long_name/b"]], "", fileScreen({ columns: 12 }))).toEqual([
    "File  a_long_name/b",
  ]);
});
