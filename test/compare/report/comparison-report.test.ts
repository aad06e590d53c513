import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { type CellComparison, comparisonSchema } from "../../../src/compare/comparison.js";
import { comparedNames } from "../../../src/compare/report/cell-text.js";
import {
  cellsToShow,
  comparisonAlerts,
  comparisonFacts,
  comparisonGrids,
  groupGrids,
  hiddenNotes,
  notesBelow,
} from "../../../src/compare/report/comparison-content.js";
import { comparisonKind } from "../../../src/compare/report/comparison-report.js";
import { describeOutcome } from "../../../src/compare/report/outcome.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildFaster,
  buildGroup,
  buildInconclusive,
  buildMixedCells,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";
import { blocksOf, drawn, reportOf, textFormats } from "../../helpers/drawn.js";

const regression = { outcome: "regression" } as const;

describe.each(textFormats("comparison"))("a comparison as %s", (format) => {
  const text = (part: ComparisonPart) => drawn(comparisonKind, buildComparison(part), format);

  it("is the same each time, and says that the device is emulated", () => {
    const part = { backend: "emulated" as const, cells: buildMixedCells() };
    expect(text(part)).toBe(text(part));
    expect(text(part)).toContain("emulated device");
    expect(text(part)).toMatch(/[^\n]\n$/);
  });

  it("has no NaN, Infinity or undefined", () => {
    const cells = [
      ...buildMixedCells(),
      buildCellComparison({ margin: null }),
      buildCellComparison({ mode: "latency", baseline: 0 }),
      buildCellComparison({ baseline: Number.NaN, change: Number.NaN, margin: Number.NaN }),
      buildCellComparison({ id: oddText }),
    ];
    for (const part of [{ cells }, { cells: [] }])
      expect(text(part)).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });
});

it("a comparison's JSON is the document", () => {
  const comparison = buildComparison({ cells: buildMixedCells() });
  expect(comparisonSchema.parse(JSON.parse(drawn(comparisonKind, comparison, "json")))).toEqual(comparison);
});

const { baseline, candidate } = buildComparison();

describe("the facts of a comparison", () => {
  const thresholds = (...some: number[]) => ({
    cells: some.map((threshold) => buildCellComparison({ threshold })),
  });
  const differing = { fact: "driver", baseline: "580.1", candidate: null, blocks: true, isOverruled: false };
  const confirmedBy = (atMost: number, ...suspects: string[]) => ({
    confirmation: { runs: 5, atMost, suspects },
  });
  const floorless = { rule: { floorGBps: 0, floorUs: 0 } };
  const onThree = { ...baseline, occasions: 3 };
  const again = "measured again by 5 fresh processes";
  const from = "from 2026-11-20 10:00 UTC";
  const rule = "significance 1 % over all cells";

  it.each<[string, ComparisonPart, string]>([
    ["Baseline", {}, `baseline.json, 5 runs, ${from}`],
    ["Baseline", { baseline: onThree }, `baseline.json, 5 runs on 3 occasions, ${from}`],
    ["Candidate", {}, `measured now, 3 runs, ${from}`],
    ["Device", {}, "NVIDIA H200"],
    ["Device", { candidate: { ...candidate, deviceNames: ["L4", "L4"] } }, "NVIDIA H200 before, L4 now"],
    ["Device", { baseline: { ...baseline, deviceNames: [] } }, "not known before, NVIDIA H200 now"],
    ["Rule", {}, `threshold 3 %, floor 0.05 GB/s and 0.1 µs, ${rule}`],
    ["Rule", { rule: { floorUs: 0, strict: true } }, `threshold 3 %, floor 0.05 GB/s, ${rule}, strict`],
    ["Rule", { rule: { floorGBps: 0, floorUs: 0 } }, `threshold 3 %, ${rule}`],
    [
      "Rule",
      { ...thresholds(0.03, 0.15, 0.03, 0.1, 0.15), ...floorless },
      `threshold 3 %, of some cells 10 % and 15 %, ${rule}`,
    ],
    ["Rule", { ...thresholds(0.15), ...floorless }, `threshold 15 %, ${rule}`],
    ["Confirmed", confirmedBy(5, "a", "b"), `2 suspects ${again}`],
    ["Confirmed", confirmedBy(24, "a"), `1 suspect ${again}, of at most 24`],
    ["Differs", { differences: [differing] }, "driver: 580.1 before, not known now (not comparable)"],
    ["Differs", { differences: [{ ...differing, blocks: false }] }, "driver: 580.1 before, not known now"],
  ])("%s of %j are in words", (name, part, words) => {
    const facts = comparisonFacts(buildComparison(part));
    expect(facts.find(([fact]) => fact === name)?.[1]).toBe(words);
  });
});

it("alerts are the device's, allowed differences and unfinished runs", () => {
  const differ = (fact: string, isOverruled: boolean) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled },
  });
  const differences = [differ("GPU", true), differ("driver", false), differ("link under load", true)];
  const part = { backend: "emulated" as const, differences, unfinished: ["a run has not ended"] };
  expect(comparisonAlerts(buildComparison(part)).map(({ text }) => text)).toEqual([
    emulatedNotice,
    "different GPU and link under load, compared anyway (--allow-mismatch)",
    "a run has not ended",
  ]);
});

const textsOf = (rows: readonly (readonly { text: string; note: string }[])[]) =>
  rows.map((row) => row.map(({ text, note }) => `${text} ${note}`.trim()));

describe("the rows of cells", () => {
  const rowsOf = (cells: CellComparison[]) =>
    comparisonGrids(cells, comparedNames({ cells })).map(({ rows }) => textsOf(rows));

  it("have both figures, the change with its interval, and the verdict", () => {
    expect(rowsOf(buildMixedCells())[0]!.slice(2)).toEqual([
      ["H2D pageable 16 MiB x1", "10.6", "10.3", "−2.0 % (−8.0 to +4.0 %)", "inconclusive"],
      ["H2D registered 16 MiB x1", "55.4", "-", "-", "missing"],
      ["H2D mapped 16 MiB x1", "-", "-", "-", "new"],
      ["D2H pinned 16 MiB x1", "61.3", "55.3", "−9.9 % (−10.2 to −9.5 %)", "slower"],
    ]);
  });

  it("are apart by unit, in which less or more is faster", () => {
    const latency = buildCellComparison({ mode: "latency", baseline: 3.501, change: 0.0712 });
    const cells = [latency, buildCellComparison()];
    const grids = comparisonGrids(cells, comparedNames({ cells }));
    expect(grids.map(({ caption }) => caption)).toEqual([
      "Throughput in GB/s, more is faster",
      "Latency in µs, less is faster",
    ]);
    expect(textsOf(grids[1]!.rows)[0]!.slice(1, 4)).toEqual(["3.51", "3.76", "+7.2 % (+6.8 to +7.5 %)"]);
  });

  it("have no interval that is not known, or larger than the figure", () => {
    const changeOf = (part: object) => rowsOf([buildCellComparison(part)])[0]![0]![3];
    expect([changeOf({ margin: null }), changeOf({ change: 0.2, margin: 21.69 })]).toEqual([
      "0.0 % ±?",
      "+20.0 % ±?",
    ]);
  });

  it("have a group's number of cells, its change, what would show and whether it is with host memory", () => {
    const cells = buildCellComparisons(3);
    const rowOf = (part: object) => textsOf(groupGrids({ groups: [buildGroup(cells, part)] })[0]!.rows)[0];
    expect(rowOf({ isWithHost: true, change: -0.1, low: -0.12, high: -0.08 })).toEqual([
      ...["H2D pinned with host memory", "3", "−10.0 % (−12.0 to −8.0 %)", "3.4 %", "not slower"],
    ]);
    expect(rowOf({ low: null, wouldShow: null })).toEqual(["H2D pinned", "3", "0.0 % ±?", "-", "not slower"]);
  });
});

describe("the cells that are shown", () => {
  const shown = (cells: CellComparison[], groups: Parameters<typeof buildGroup>[] = []) =>
    cellsToShow(buildComparison({ cells, groups: groups.map((one) => buildGroup(...one)) }));

  it("are four of those that do not fail, and 24 of those that do", () => {
    const faster = [1, 2, 3, 4, 5].map((workers) => buildFaster({ workers }));
    expect(shown(faster)).toEqual(faster.slice(0, 4));
    const slower = Array.from({ length: 30 }, (_, i) =>
      buildSlower({ workers: i + 1, change: -(i + 10) / 200 }),
    );
    expect(shown([...faster, ...slower])).toEqual([
      ...slower.toReversed().slice(0, 24),
      ...faster.slice(0, 4),
    ]);
    expect(shown(buildCellComparisons(3))).toEqual([]);
  });

  it("are undecided ones of no group, or of one in another direction, but the host's", () => {
    const [open, ofHost] = [buildInconclusive(), buildInconclusive({ memory: "host" })];
    expect(shown([open, ofHost])).toEqual([open]);
    expect(shown([open], [[[open], { moved: "d2h" }]])).toEqual([open]);
    expect(shown([open], [[[open]]])).toEqual([]);
  });

  it.each([
    ["throughput", [-0.03, -0.02, 0.03]],
    ["latency", [0.03, 0.02, -0.03]],
  ] as const)(
    "are undecided ones of a group that seem to have lost their threshold, in %s",
    (mode, changes) => {
      const isShown = (change: number) => {
        const cell = buildInconclusive({ mode, change });
        return shown([cell], [[[cell]]]).length === 1;
      };
      expect(changes.map(isShown)).toEqual([true, false, false]);
    },
  );

  it("leave the others to a note by their verdicts, the most urgent first", () => {
    const cells = [...buildCellComparisons(2), buildFaster(), buildInconclusive()];
    const noteOf = (some: CellComparison[]) =>
      hiddenNotes(buildComparison({ cells }), some).map(({ text }) => text);
    expect(noteOf([])).toEqual([
      "4 cells not shown (--all shows them): 1 inconclusive, 1 faster, 2 not slower",
    ]);
    expect(noteOf(cells.slice(1))).toEqual(["1 cell not shown (--all shows them): 1 not slower"]);
    expect(noteOf(cells)).toEqual([]);
  });
});

describe("the notes below the cells", () => {
  const notesOf = (cells: CellComparison[], shown = cells, notes: string[] = []) =>
    notesBelow(buildComparison({ cells, notes }), comparedNames({ cells }), shown).map(({ text }) => text);
  const explained = (...changes: number[]) =>
    changes.map((explainedByHost, i) =>
      buildCellComparison({ workers: i + 1, memory: i === 1 ? "staged" : "pageable", explainedByHost }),
    );
  const rest = "if only host memory had changed: the verdict is about the rest";
  const unknown = [buildCellComparison({ margin: null })];
  const noise = "±? no interval: the noise between processes is";

  it("have each reason once, then the meanings of good verdicts, then further notes", () => {
    const open = [1, 2, 3].map((workers) => buildInconclusive({ workers }));
    expect(
      notesOf([...buildCellComparisons(2), ...open, buildSlower(), buildFaster()], [], ["a note"]),
    ).toEqual([
      "slower: The drop exceeds the threshold of 3 % and the noise between processes (D2H pinned 16 MiB x1)",
      "inconclusive: The interval reaches over the threshold (3 cells)",
      expect.stringMatching(/^not slower: a loss of .*; faster: shown to be faster/),
      "note: a note",
    ]);
  });

  it.each([
    [[-0.05, -0.2, -0.1], `3 pageable and staged cells would change by −20.0 to −5.0 % ${rest}`],
    [[5.197], `1 pageable cell would change by +519.7 % ${rest}`],
  ])("have the range of what host memory explains: %j", (changes, note) => {
    expect(notesOf(explained(...changes))).toContain(note);
  });

  it("say why a shown cell has no interval, and nothing of hidden ones", () => {
    expect(notesOf(unknown)).toContain(`${noise} not known`);
    expect(notesOf(unknown, [])).not.toContain(`${noise} not known`);
    expect(notesOf([buildCellComparison({ change: 0.2, margin: 21.69 })])).toContain(
      `${noise} larger than the figure itself`,
    );
  });
});

describe("a comparison's table", () => {
  const render = (part: ComparisonPart, level: 0 | 1 = 0) =>
    drawn(comparisonKind, buildComparison(part), "table", fileScreen({ chalk: new Chalk({ level }) }));
  const mixed = { ...regression, cells: buildMixedCells() };

  it("has the outcome first, then both sides, the cells, the notes and the machines", () => {
    const part = { ...mixed, notes: ["a note"] };
    const text = render(part);
    expect(text.startsWith("pinbench 0.1.0 check\n\n=> D2H pinned 16 MiB x1: slower")).toBe(true);
    expect(text).toMatch(
      /\n\n {2}Baseline .*\n {2}D2H pinned 16 MiB x1 .*\n {2}note: a note\n\nThe machines, /s,
    );
    expect(render({ backend: "emulated" }).split("\n")[1]).toBe(`! ${emulatedNotice}`);
  });

  it("has slower cells in red and others muted, and no escape code at level 0", () => {
    const text = render(mixed, 1);
    expect(stripVTControlCharacters(text)).toBe(render(mixed));
    expect(render(mixed)).not.toContain("\u001b");
    expect(text).toContain("\u001b[31mslower\u001b[39m");
    expect(text).toContain("\u001b[31m=> D2H pinned 16 MiB x1: slower, ");
  });
});

describe("a comparison's report", () => {
  it("has the outcome as its answer, and both machines with differences first", () => {
    const side = (driver: string, startedAt: string) => ({
      ...{ fingerprint: { gpu: "NVIDIA H200", driver }, startedAt },
    });
    const now = side("590", "2026-11-20T10:00:00Z");
    const comparison = buildComparison({
      ...{ ...regression, cells: [buildSlower(), ...buildCellComparisons(3)] },
      baseline: { ...baseline, ...side("580", "2026-11-01T10:00:00Z") },
      candidate: { ...candidate, ...now, fingerprint: { ...now.fingerprint, kernel: "6.8" } },
    });
    const report = reportOf(comparisonKind, comparison);
    expect(report.name).toBe("Check: NVIDIA H200, 2026-11-01 10:00 UTC and 2026-11-20 10:00 UTC");
    expect(reportOf(comparisonKind, buildComparison({ command: "compare" })).name).toMatch(/^Comparison: /);
    expect(blocksOf(report, "answer")).toMatchObject([
      { text: describeOutcome(comparison), tone: "failure" },
    ]);
    const [cells, machines] = blocksOf(report, "fold");
    expect(cells!.title).toBe("All cells (4)");
    const tableOf = (fold: typeof cells) =>
      blocksOf({ ...report, blocks: fold!.blocks }, "table")[0]!.grid.rows;
    expect(tableOf(cells)).toHaveLength(4);
    expect(tableOf(machines).map((row) => row.map(({ text }) => text))).toEqual([
      ["driver", "580", "590"],
      ["kernel", "not known", "6.8"],
      ["gpu", "NVIDIA H200", "NVIDIA H200"],
    ]);
  });

  it("has equally many columns in every row of its Markdown, whatever the ids hold", () => {
    const cells = [buildCellComparison({ id: oddText }), buildSlower({ id: oddText, reason: oddText })];
    const text = drawn(comparisonKind, buildComparison({ ...regression, cells }), "markdown");
    const [ofCells = ""] = text.split("<summary>The machines");
    for (const row of ofCells.split("\n").filter((line) => line.startsWith("|")))
      expect(row.match(/(?<!\\)\|/g)).toHaveLength(6);
    expect(text).toContain('a "b" \\<c\\>');
    expect(drawn(comparisonKind, buildComparison({ cells: [] }), "markdown")).not.toContain("All cells");
  });
});
