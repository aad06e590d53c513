import { expect, it } from "vitest";
import {
  type Block,
  environment,
  facts,
  fold,
  note,
  type Report,
  section,
  texts,
} from "../../../src/draw/report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { drawTerminal } from "../../../src/draw/terminal/draw-terminal.js";

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

it("a terminal shows the brief view, if there is one, unless the whole view is requested", () => {
  const brief = { blocks: ofType("answer", "brief"), leavesOut: "the rest" };
  const part = { blocks: ofType("note", "whole"), brief };
  expect(shown(part)).toEqual(["=> brief", "", "  --all shows the rest"]);
  expect(shown(part, true)).toEqual(["  whole"]);
  expect(shown({ blocks: part.blocks })).toEqual(["  whole"]);
});

it("the last line in a terminal names pinbench help terms, and what --all would show", () => {
  const terms = "pinbench help terms explains the words";
  const blocks = [environment([["Host", "node-1"]])];
  expect(shown({ hasTerms: true, blocks })).toEqual(["  Host  node-1", "", `  ${terms}`]);
  const brief = { blocks, leavesOut: "the rest" };
  expect(shown({ hasTerms: true, brief })).toEqual([
    "  Host  node-1",
    "",
    `  --all shows the rest; ${terms}`,
  ]);
});

it("a terminal shows a tight section without empty lines, and an entry with its facts below", () => {
  const entry: Block = { type: "entry", text: "A setting", facts: [["Set", "x=1"]] };
  const inner = [entry, fold("Plans", [facts([["A", "b"]])])];
  const lines = ["  A setting", "    Set  x=1", "Plans", "  A  b"];
  expect(drawn(section("In short:", inner, true))).toEqual(["In short:", ...lines]);
  expect(drawn(section("In short:", inner)).filter((line) => line !== "")).toEqual(["In short:", ...lines]);
  expect(drawn(section("In short:", inner))).toContain("");
});
