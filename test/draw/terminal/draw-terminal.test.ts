import { expect, it } from "vitest";
import { type Block, figure, type Report, wordColumn } from "../../../src/draw/report.js";
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

function drawn(...blocks: Block[]): string[] {
  const report: Report = { command: "run", version: "0.1.0", name: "", hasTerms: false, blocks };
  return drawTerminal(report, fileScreen({ columns: 80, isVerbose: false }))
    .trim()
    .split("\n")
    .slice(2);
}

it("draws small tables as one, each row named and each figure kept", () => {
  expect(drawn(table("H2D", "warm"), table("D2H", "warm"), table("P2P", "warm"))).toMatchInlineSnapshot(`
    [
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

it("draws no tables as one that differ in more than what names their rows", () => {
  const lines = drawn(table("H2D", "cold"), table("H2D", "warm"), table("D2H", "warm"));
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
    ]
  `);
});
