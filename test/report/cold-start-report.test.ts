import { expect, it } from "vitest";
import { coldStartReports } from "../../src/report/tables/cold-start-report.js";
import type { ColdStart } from "../../src/results/schema.js";
import { buildColdStart, buildDocument } from "../helpers/result-document.js";

/** The texts of the only cold start, and of its table. */
function reportOf(part: Partial<ColdStart>) {
  const [section] = coldStartReports(buildDocument({ coldStart: [buildColdStart(part)] }));
  if (section?.type !== "section") throw new Error("no section");
  return section.blocks.map((block) => {
    if (block.type === "table")
      return {
        rows: block.grid.rows.map((row) => row.map(({ text }) => text)),
        footnote: block.grid.footnote,
      };
    return "text" in block ? block.text : "";
  });
}

it("has each cost of a start in its place", () => {
  expect(reportOf({ pinning: [] })).toEqual(["driver 62.0 ms, context 328 ms, first copy 41.0 µs"]);
});

it("has each way of obtaining memory with its own costs, and when each direction makes up for them", () => {
  const [record] = buildColdStart().pinning;
  const payOff = { pinned: { h2d: 3, d2h: 1 }, registered: { h2d: 0, d2h: null } };
  const [, table] = reportOf({ pinning: [{ ...record!, payOff }] });
  expect(table).toMatchObject({
    rows: [
      ["16 MiB", "pageable", "4.40 ms", "440 µs", "", ""],
      ["16 MiB", "pinned", "5.10 ms", "1.28 ms", "3 copies", "1 copy"],
      ["16 MiB", "registered", "1.90 ms", "634 µs", "at once", "-"],
    ],
  });
});

it("has the reason of a refusal of any size, each once", () => {
  const { pinning } = buildColdStart();
  const refused = [{}, { registered: "not supported" }, { registered: "not supported", pinned: "too large" }];
  const records = refused.map((refusals) => ({ ...pinning[0]!, refusals }));
  const [, table] = reportOf({ pinning: records });
  const { footnote } = table as { footnote: string };
  expect(footnote).toMatch(
    /; registered memory was refused: not supported; pinned memory was refused: too large$/,
  );
});
