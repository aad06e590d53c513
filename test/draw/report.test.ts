import { describe, expect, it } from "vitest";
import { figure, headTexts, numberColumn, rowsWithoutRepeats, wordColumn } from "../../src/draw/report.js";

describe("the labels of a table's rows", () => {
  const columns = [numberColumn("size"), numberColumn("workers"), wordColumn("memory"), numberColumn("GB/s")];
  const shown = (labels: number, ...rows: (readonly [size: string, workers: string, kind: string])[]) =>
    rowsWithoutRepeats({
      columns,
      labels,
      rows: rows.map(([size, workers, kind]) => [
        ...[figure(size), figure(workers, kind), figure("pinned")],
        figure("55.4"),
      ]),
    }).map((row) => row.map(({ text }) => text).join("|"));

  it("are left blank if they repeat those of the row above, except for the last one", () => {
    expect(shown(3, ["1 MiB", "2", ""], ["1 MiB", "2", ""], ["1 MiB", "4", ""])).toEqual([
      "1 MiB|2|pinned|55.4",
      "||pinned|55.4",
      "|4|pinned|55.4",
    ]);
    expect(shown(1, ["1 MiB", "2", ""], ["1 MiB", "2", ""])[1]).toBe("1 MiB|2|pinned|55.4");
  });

  it("are no repeats with another note, or behind a label that is none", () => {
    expect(shown(3, ["1 MiB", "2", ""], ["1 MiB", "2", "processes"])[1]).toBe("|2|pinned|55.4");
    expect(shown(3, ["1 MiB", "2", ""], ["4 MiB", "2", ""])[1]).toBe("4 MiB|2|pinned|55.4");
  });
});

describe("the heads of columns in one line", () => {
  it("join words that are broken at a slash, and begin with the head that they continue", () => {
    expect(headTexts([numberColumn("pinned/", "link"), numberColumn("given", "back")])).toEqual([
      "pinned/link",
      "given back",
    ]);
    expect(headTexts([numberColumn("H2D", "alone"), numberColumn("", "at once")])).toEqual([
      "H2D alone",
      "H2D at once",
    ]);
  });
});
