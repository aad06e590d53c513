import { expect, it } from "vitest";
import { idOfNamedCell } from "../../../src/results/naming/named-cell.js";
import { cellNames } from "../../../src/results/naming/wording.js";

it.each([
  ["h2d pinned 64MiB", "d0/h2d/pinned/67108864/w1/throughput/cold"],
  ["D2H  staged 1GiB x4", "d0/d2h/staged/1073741824/w4/throughput/cold"],
  ["latency pageable h2d 4KiB", "d0/h2d/pageable/4096/w1/latency/cold"],
  ["d2d 16MiB", "d0/d2d/device/16777216/w1/throughput/cold"],
])("the words '%s' name a cell, in any order and case", (name, id) => {
  expect(idOfNamedCell(name)).toBe(id);
  expect(cellNames([id])(id).toLowerCase().split(" ")[0]).toBe(id.split("/")[1]);
});

it.each([
  "",
  "h2d",
  "h2d 64MiB",
  "h2d pinned",
  "h2d pinned 64MiB 1GiB",
  "h2d pinned 64MiB x0",
  "h2d pinnd 64MiB",
])("the words %j name no cell", (name) => {
  expect(() => idOfNamedCell(name)).toThrow(/names no (cell|memory)/);
});
