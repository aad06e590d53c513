import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkedFigures, parseResult, withoutSamples } from "../../src/results/parse.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";

const recorded = readFileSync(new URL("../../results/nvidia-h200/default.json", import.meta.url), "utf8");
const figuresOf = (text: string) => checkedFigures(JSON.parse(withoutSamples(text)), "it");

describe("reading only the figures of a result", () => {
  it("gives the same figures as reading all of it", () => {
    const whole = parseResult(recorded);
    const { cells, ...rest } = figuresOf(recorded);
    expect(whole).toMatchObject(rest);
    expect(cells).toHaveLength(whole.cells.length);
    for (const [i, cell] of cells.entries()) {
      expect(whole.cells[i]).toMatchObject(cell);
      expect(cell).not.toHaveProperty("samples");
    }
  });

  it("skips the columns of samples", () => {
    const column = /"(startNs|durationNs|round)":\s*\[\s*\d/;
    expect(recorded).toMatch(column);
    expect(withoutSamples(recorded)).not.toMatch(column);
  });

  it("does not change texts that look like samples", () => {
    const argv = ['"startNs": [1, 2]', "durationNs: [3]", '"round":[4]'];
    const text = JSON.stringify(buildDocument({ run: { argv } }));
    expect(JSON.parse(withoutSamples(text)).run.argv).toEqual(argv);
  });

  it("fails if a cell is listed twice, or is finished without figures", () => {
    const cell = buildCell({ GBps: 50 });
    const textOf = (...cells: (typeof cell)[]) => JSON.stringify(buildDocument({ cells }));
    expect(() => figuresOf(textOf(cell, cell))).toThrow(`it has the cell ${cell.id} twice.`);
    for (const outcome of ["converged", "budget"] as const)
      expect(() => figuresOf(textOf({ ...cell, outcome, stats: [] }))).toThrow(
        `it has no figures of the cell ${cell.id}.`,
      );
  });

  it.each([
    ["fleet", "a result of `pinbench fleet`"],
    ["fleet-run", "the list of a folder of `pinbench fleet run`"],
  ])("fails for a document of the kind %s", (kind, words) => {
    const text = JSON.stringify({ kind, schemaVersion: 1 });
    expect(() => figuresOf(text)).toThrow(`it is ${words}, not a result of a run.`);
  });
});
