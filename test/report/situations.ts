import { expect, it } from "vitest";
import { jsonReport } from "../../src/draw/json.js";
import { fileScreen } from "../../src/draw/screen.js";
import { visibleWidth } from "../../src/draw/terminal/terminal-text.js";
import { bindingCommands } from "../../src/report/findings/node-findings.js";
import { serverConstants } from "../../src/report/findings/server-constants.js";
import { resultKind } from "../../src/report/result-report.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { blocksOf, drawn, reportOf } from "../helpers/drawn.js";
import { buildCell, type CellPart } from "../helpers/result-document.js";
import { seeded } from "../helpers/seeded.js";

/**
 * Tables of situations: results, each with a name for what its text should show. Their texts are compared with
 * a file in situations/, which `vitest -u` writes again after a text has changed on purpose.
 */

export type Situation = [name: string, document: ResultDocument];

/** The same copies from pageable and from pinned memory. */
export function pair(pageable: number, pinned: number, part: CellPart = {}): CellResult[] {
  return [
    buildCell({ ...part, memory: "pageable", GBps: pageable }),
    buildCell({ ...part, memory: "pinned", GBps: pinned }),
  ];
}

/** The headline, the rows of findings, and the large figures of a page. */
export function sentencesOf(document: ResultDocument): string[] {
  const report = reportOf(resultKind, document);
  const answers = blocksOf(report, "answer");
  const figures = answers.flatMap((block) => block.headline ?? []);
  const findings = blocksOf(report, "table").filter(({ grid }) => grid.caption?.startsWith("Findings"));
  return [
    ...answers.map(({ text, tone }) => `=> ${tone === "plain" ? "" : `[${tone}] `}${text}`),
    ...findings.flatMap(({ grid: { rows, footnote } }) => [
      ...rows.map((row) => ` - ${row.map(({ text }) => text).join(" | ")}`),
      ...(footnote === undefined ? [] : [`   ${footnote}`]),
    ]),
    ...(figures.length === 0 ? [] : [`   large: ${figures.map((entry) => entry.join(" ")).join(", ")}`]),
  ];
}

/** A random order, the same at each run. */
function shuffled<Value>(values: readonly Value[]): Value[] {
  const { uniform } = seeded(1);
  return values
    .map((value) => [uniform(), value] as const)
    .sort(([one], [other]) => one - other)
    .map(([, value]) => value);
}

/** Lines to paste, which are never wrapped. */
const pasted = (document: ResultDocument) =>
  [serverConstants(document), bindingCommands(document)].flatMap((text) => text?.split("\n") ?? []);

/** Devices that copied at once are named in the order of their cells. */
const withDevicesInOrder = (cells: readonly CellResult[]) =>
  cells.some(({ together }) => together !== undefined)
    ? cells.toSorted((one, other) => one.device - other.device)
    : [...cells];

/** Compares each situation's text with a file, and tests what holds for every result. */
export function describeSituations(
  file: string,
  situations: readonly Situation[],
  linesOf: (document: ResultDocument) => string[],
  compared = (lines: string[]) => lines,
): void {
  it(`the text of each result matches situations/${file}.txt`, async () => {
    expect(new Set(situations.map(([name]) => name)).size).toBe(situations.length);
    const texts = situations.map(([name, document]) => [`# ${name}`, ...linesOf(document)].join("\n"));
    await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot(
      `${import.meta.dirname}/situations/${file}.txt`,
    );
  });

  it(`results of situations/${file}.txt read the same in whatever order their cells were measured`, () => {
    for (const [name, document] of situations) {
      const orders = [document.cells.toReversed(), shuffled(document.cells)];
      for (const cells of orders.map(withDevicesInOrder))
        expect(compared(linesOf({ ...document, cells })), name).toEqual(compared(linesOf(document)));
    }
  });

  it(`results of situations/${file}.txt fit a terminal, and are the same after writing and reading JSON`, () => {
    for (const [name, document] of situations) {
      const lines = drawn(resultKind, document, "table", fileScreen({ columns: 60 })).split("\n");
      const wide = lines.filter((line) => visibleWidth(line) > 60 && !pasted(document).includes(line.trim()));
      expect(wide, name).toEqual([]);
      expect(parseResult(jsonReport(document)), name).toEqual(document);
    }
  });
}
