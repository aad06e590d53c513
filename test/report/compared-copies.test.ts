import { expect, it } from "vitest";
import { cellNotes } from "../../src/report/cell-notes.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";

function cellOf(cache: CellResult["cache"], counts: { copies?: number; provenCopies?: number }): CellResult {
  const verification = { checkedBytes: 64, mismatches: [], ...counts };
  return buildCell({ cache, result: { verification } });
}

const notesOf = (cells: CellResult[], verify: boolean | "every" = true) =>
  cellNotes(buildDocument({ cells, plan: { verify } }))
    .map(({ text }) => text)
    .filter((text) => text.includes("--verify every"));

it("the share of compared copies is a line if it is less than half, by the state of the cache", () => {
  const warm = cellOf("warm", { copies: 200, provenCopies: 6 });
  const cold = cellOf("cold", { copies: 10, provenCopies: 4 });
  expect(notesOf([warm, cellOf("cold", { copies: 8, provenCopies: 4 })])).toEqual([
    "data checked: 3.0 % of the copies of warm cells; --verify every checks all",
  ]);
  expect(notesOf([warm, warm, cold])).toEqual([
    "data checked: 40 % of the copies of cold cells and 3.0 % of the copies of warm cells; --verify every checks all",
  ]);
});

it("is also a line if none is", () => {
  expect(notesOf([cellOf("warm", { copies: 6, provenCopies: 0 })])).toEqual([
    "data checked: none of the copies of warm cells; --verify every checks all",
  ]);
});

it("is none for results that do not say it, as older ones", () => {
  expect(notesOf([cellOf("warm", {})])).toEqual([]);
  expect(notesOf([buildCell({ result: { verification: null } })])).toEqual([]);
});

it("a line says that every copy was compared, because that changes figures", () => {
  expect(notesOf([cellOf("warm", { copies: 6, provenCopies: 6 })], "every")).toEqual([
    "note: every copy was checked, so samples have few copies: compare with results of --verify every alone",
  ]);
});

it("but not for cells that cannot have it, such as host copies larger than their slots", () => {
  const host = buildCell({
    memory: "host",
    result: { verification: { checkedBytes: 64, mismatches: [], copies: 6, provenCopies: 0 } },
  });
  expect(notesOf([cellOf("cold", { copies: 6, provenCopies: 6 }), host], "every")).toEqual([
    `note: every copy was checked (except in H2D host 16 MiB x1), so samples have few copies: compare with results of --verify every alone`,
  ]);
});

it("and there is none if nothing was measured", () => {
  expect(notesOf([buildCell({ result: { verification: null } })], "every")).toEqual([]);
});
