import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verdicts } from "../../src/compare/comparison.js";
import { fileScreen } from "../../src/draw/screen.js";
import { cellGrids } from "../../src/report/tables/cell-grids.js";
import { termGroups } from "../../src/report/term-groups.js";
import { termsNamed, termsText } from "../../src/report/terms.js";
import { sign } from "../../src/results/naming/cell-figure.js";
import { directionName } from "../../src/results/naming/wording.js";
import { caches, memories, modes, peerPaths, workerKinds } from "../../src/settings/choices.js";
import { buildDevice, buildDocument, sweepCells } from "../helpers/result-document.js";

const root = join(import.meta.dirname, "../../src");
/** Sources that draw tables. */
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => /^(report|doctor|explain|pin)\/(?!questions\/).*\.ts$|\/report\/[^/]*\.ts$/.test(path))
  .map((path) => readFileSync(join(root, path), "utf8"));

/** A head of several lines as one text: "pinned/" above "pageable" is one word. */
const headOf = (lines: readonly string[]) =>
  lines
    .filter((line) => line !== "")
    .join(" ")
    .replaceAll("/ ", "/");

/** Column heads that are literals in the sources. */
const writtenHeads = sources.flatMap((source) =>
  [...source.matchAll(/\b(?:number|word)(?:Column|Label)\(\s*((?:"[^"]*"(?:, )?)+)/g)].map(([, heads = ""]) =>
    headOf([...heads.matchAll(/"([^"]*)"/g)].map(([, head]) => head!)),
  ),
);

/** Words of table cells that are literals in the sources; "yes" and "no" are no terms. */
const writtenLabels = sources
  .flatMap((source) => [...source.matchAll(/\bfigure\("([a-zA-Z ]+)"\)/g)].map(([, label]) => label!))
  .filter((label) => label !== "yes" && label !== "no");

const unexplained = (words: readonly string[]) =>
  [...new Set(words)].filter((word) => termsNamed(word).length === 0);

describe("pinbench help terms explains every word of the tables:", () => {
  it("the heads of all columns", () => {
    expect(writtenHeads.length).toBeGreaterThan(40);
    expect(unexplained(writtenHeads.filter((head) => head !== ""))).toEqual([]);
  });

  it("the heads that depend on what was measured", () => {
    const cells = sweepCells().filter(({ memory }) => memory !== "pageable");
    const unpinned = cells
      .filter(({ memory }) => memory !== "pinned")
      .map((cell) => ({ ...cell, device: 1 }));
    const devices = [buildDevice(), buildDevice({ ordinal: 1 })];
    const grids = [
      buildDocument({ cells: sweepCells() }),
      buildDocument({ cells: [...cells, ...unpinned], devices }),
    ];
    const heads = grids.flatMap((document) =>
      cellGrids(document).flatMap(({ columns }) => columns.map(({ head }) => headOf(head))),
    );
    expect(heads).toContain("pinned/pageable");
    expect(unexplained(heads)).toEqual([]);
  });

  it("the words in table cells", () => {
    expect(writtenLabels).toContain("registered");
    expect(unexplained(writtenLabels)).toEqual([]);
  });

  it("the signs beside figures", () => {
    expect(unexplained([...Object.values(sign), "±", "<="])).toEqual([]);
  });

  it.each(
    Object.entries({
      memories,
      directions: Object.values(directionName),
      modes,
      caches,
      peerPaths,
      workerKinds: workerKinds.filter((kind) => kind !== "thread"),
      verdicts,
    }),
  )("all %s", (_, words) => {
    expect(unexplained([...words])).toEqual([]);
  });

  it.each([
    "stopping interval",
    "host control",
    "session",
    "pageable",
    "bidirectional",
    "persist",
    "persistent",
    "hand-over",
    "round",
    "converged",
    "of alone",
    "at once",
    "gain",
    "host ns",
  ])("%s", (word) => {
    expect(termsNamed(word)).toHaveLength(1);
  });
});

describe("pinbench help terms", () => {
  const text = (words: string[], columns = 80) => termsText(words, fileScreen({ columns }));

  it("lists every term once, in groups", () => {
    const names = termGroups.flatMap(({ terms }) => terms.map((one) => one.names[0]));
    expect(new Set(names).size).toBe(names.length);
    for (const { title } of termGroups) expect(text([]).split("\n")).toContain(title);
  });

  it.each([60, 80])("fits %i columns", (columns) => {
    const widest = Math.max(
      ...text([], columns)
        .split("\n")
        .map((line) => line.length),
    );
    expect(widest).toBeLessThanOrEqual(columns);
  });

  it("shows the requested terms, by any of their names and in any case", () => {
    expect(text(["STAGED", "d2h"])).toBe(
      "What is copied\n  D2H  device to host: from the GPU's memory to the machine's\n\n" +
        "Kinds of memory\n  staged  ordinary memory that pinbench's threads copy piece by piece through\n" +
        "          small pinned buffers\n",
    );
    expect(text(["us"])).toBe(text(["µs"]));
    expect(text(["+-"])).toBe(text(["±"]));
    expect(text(["x16"])).toMatch(/^What is copied\n {2}worker /);
    expect(text(["keeps"])).toMatch(/copy alone, beside, keeps .*load alone, beside, keeps /s);
  });

  it("names a requested word that is no term", () => {
    expect(() => text(["staged", "nosuch"])).toThrow('no term of the tables is called "nosuch".');
  });
});
