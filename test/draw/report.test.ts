import { describe, expect, it } from "vitest";
import {
  figure,
  headTexts,
  note,
  numberColumn,
  reasonNotes,
  rowsWithoutRepeats,
  wordColumn,
} from "../../src/draw/report.js";

describe("the labels of a table's rows", () => {
  const columns = [numberColumn("size"), numberColumn("workers"), wordColumn("memory"), numberColumn("GB/s")];
  type Row = readonly [size: string, workers: string, kind: string];
  const shown = (labels: number, ...rows: Row[]) => shownOf({ labels }, ...rows);
  const shownOf = (grid: { labels: number; keepsRepeats?: true }, ...rows: Row[]) =>
    rowsWithoutRepeats({
      columns,
      ...grid,
      rows: rows.map(([size, workers, kind]) => [
        ...[figure(size), figure(workers, kind), figure("pinned")],
        figure("55.4"),
      ]),
    }).map((row) => row.map(({ text }) => text).join("|"));

  it("are left blank if they repeat those of the row above, except in the last label column", () => {
    expect(shown(3, ["1 MiB", "2", ""], ["1 MiB", "2", ""], ["1 MiB", "4", ""])).toEqual([
      "1 MiB|2|pinned|55.4",
      "||pinned|55.4",
      "|4|pinned|55.4",
    ]);
    expect(shown(1, ["1 MiB", "2", ""], ["1 MiB", "2", ""])[1]).toBe("1 MiB|2|pinned|55.4");
  });

  it("are kept if their note differs, or if a label to their left differs", () => {
    expect(shown(3, ["1 MiB", "2", ""], ["1 MiB", "2", "processes"])[1]).toBe("|2|pinned|55.4");
    expect(shown(3, ["1 MiB", "2", ""], ["4 MiB", "2", ""])[1]).toBe("4 MiB|2|pinned|55.4");
  });

  it("are all kept in a table that is sorted by something else", () => {
    const rows: Row[] = [
      ["1 MiB", "2", ""],
      ["1 MiB", "2", ""],
    ];
    expect(shownOf({ labels: 3, keepsRepeats: true }, ...rows)[1]).toBe("1 MiB|2|pinned|55.4");
  });
});

describe("the heads of columns in one line", () => {
  it("join words that are broken at a slash, and repeat the head that they continue", () => {
    expect(headTexts([numberColumn("pinned/", "link"), numberColumn("given", "back")])).toEqual([
      "pinned/link",
      "given back",
    ]);
    expect(
      headTexts([numberColumn("H2D", "alone"), numberColumn("", "at once"), numberColumn("", "share")]),
    ).toEqual(["H2D alone", "H2D at once", "H2D share"]);
  });
});

it("a reason that several cells share is one note, which names each cell once", () => {
  const cells = [
    { id: "a", reasons: ["throttled.", "throttled."] },
    { id: "b", reasons: ["hot.", "throttled."] },
  ];
  const whom = (members: readonly { id: string }[]) => members.map(({ id }) => id).join(" and ");
  expect(reasonNotes(cells, ({ reasons }) => reasons, whom, "copies", "warning")).toEqual([
    note("copies: throttled (a and b)", "warning"),
    note("copies: hot (b)", "warning"),
  ]);
});
