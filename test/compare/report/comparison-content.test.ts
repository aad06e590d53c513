import { describe, expect, it } from "vitest";
import type { CellComparison } from "../../../src/compare/comparison.js";
import { comparedNames } from "../../../src/compare/report/cell-text.js";
import {
  cellsToShow,
  comparisonAlerts,
  comparisonFacts,
  groupGrids,
  hiddenNotes,
  notesBelow,
} from "../../../src/compare/report/comparison-content.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildFaster,
  buildGroup,
  buildInconclusive,
  type ComparisonPart,
} from "../../helpers/comparison.js";

const { baseline, candidate } = buildComparison();

describe("the facts of a comparison", () => {
  const factOf = (name: string, part: ComparisonPart) =>
    comparisonFacts(buildComparison(part)).find(([fact]) => fact === name)?.[1];

  it.each<[string, ComparisonPart, string]>([
    [
      "Baseline",
      { baseline: { ...baseline, occasions: 3 } },
      "baseline.json, 5 runs on 3 occasions, from 2026-11-20 10:00 UTC",
    ],
    [
      "Device",
      { candidate: { ...candidate, deviceNames: ["NVIDIA L4", "NVIDIA L4"] } },
      "NVIDIA H200 before, NVIDIA L4 now",
    ],
    ["Device", { baseline: { ...baseline, deviceNames: [] } }, "not known before, NVIDIA H200 now"],
    [
      "Rule",
      { rule: { floorUs: 0, strict: true } },
      "threshold 3 %, floor 0.05 GB/s, significance 1 % over all cells, strict",
    ],
    ["Rule", { rule: { floorGBps: 0, floorUs: 0 } }, "threshold 3 %, significance 1 % over all cells"],
    [
      "Confirmed",
      { confirmation: { runs: 5, atMost: 24, suspects: ["a"] } },
      "1 suspect measured again by 5 fresh processes, of at most 24",
    ],
  ])("%s of %j are in words", (name, part, words) => {
    expect(factOf(name, part)).toBe(words);
  });
});

it("alerts are the device's, allowed differences and unfinished runs", () => {
  const differ = (fact: string, isOverruled: boolean) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled },
  });
  const differences = [differ("GPU", true), differ("driver", false), differ("link under load", true)];
  const alerts = comparisonAlerts(buildComparison({ differences, unfinished: ["a run has not ended"] }));
  expect(alerts.map(({ text }) => text)).toEqual([
    "different GPU and link under load, compared anyway (--allow-mismatch)",
    "a run has not ended",
  ]);
});

it("a group's row tells if it includes what host memory lost, its interval and what is not known", () => {
  const cells = buildCellComparisons(3);
  const rowOf = (part: object) =>
    groupGrids({ groups: [buildGroup(cells, part)] })[0]!.rows[0]!.map(({ text, note }) =>
      `${text} ${note}`.trim(),
    );
  expect(rowOf({ isWithHost: true, change: -0.1, low: -0.12, high: -0.08 })).toEqual([
    ...["H2D pinned with host memory", "3", "−10.0 % (−12.0 to −8.0 %)", "3.4 %", "not slower"],
  ]);
  expect(rowOf({ low: null, wouldShow: null })).toEqual(["H2D pinned", "3", "0.0 % ±?", "-", "not slower"]);
});

describe("the cells that are shown", () => {
  const shown = (cells: CellComparison[], groups: Parameters<typeof buildGroup>[] = [], showsAll = false) =>
    cellsToShow(buildComparison({ cells, groups: groups.map((one) => buildGroup(...one)) }), showsAll);

  it("are four of those that do not fail, unless all are asked for", () => {
    const faster = [1, 2, 3, 4, 5].map((workers) => buildFaster({ workers }));
    expect(shown(faster)).toEqual(faster.slice(0, 4));
    expect(shown(faster, [], true)).toEqual(faster);
  });

  it("are undecided ones of no group, or of one in another direction, but the host's", () => {
    const [open, ofHost] = [buildInconclusive(), buildInconclusive({ memory: "host" })];
    expect(shown([open, ofHost])).toEqual([open]);
    expect(shown([open], [[[open], { moved: "d2h" }]])).toEqual([open]);
    expect(shown([open], [[[open]]])).toEqual([]);
  });

  it("are undecided ones of a group that seem to have lost their threshold, of speed or in time", () => {
    const open = (change: number) => buildInconclusive({ change });
    const latency = (change: number) => buildInconclusive({ mode: "latency", change });
    const isShown = (cell: CellComparison) => shown([cell], [[[cell]]]).length === 1;
    expect([open(-0.03), open(-0.02), open(0.03)].map(isShown)).toEqual([true, false, false]);
    expect([latency(0.03), latency(0.02), latency(-0.03)].map(isShown)).toEqual([true, false, false]);
  });
});

it("hidden cells are counted by their verdicts, the most urgent first", () => {
  const cells = [...buildCellComparisons(2), buildFaster(), buildInconclusive()];
  const textOf = (shown: CellComparison[]) =>
    hiddenNotes(buildComparison({ cells }), shown).map(({ text }) => text.replace(/^.*: /, ""));
  expect(textOf([])).toEqual(["1 inconclusive, 1 faster, 2 not slower"]);
  expect(textOf(cells.slice(1))).toEqual(["1 not slower"]);
  expect(textOf(cells)).toEqual([]);
});

describe("the notes below the cells", () => {
  const notesOf = (cells: CellComparison[], shown = cells) =>
    notesBelow(buildComparison({ cells }), comparedNames({ cells }), shown).map(({ text }) => text);

  it("have the range of what host memory explains, from the least", () => {
    const cells = [-0.05, -0.2, -0.1].map((explainedByHost, i) =>
      buildCellComparison({ workers: i + 1, memory: i === 1 ? "staged" : "pageable", explainedByHost }),
    );
    expect(notesOf(cells)).toContain(
      "3 pageable and staged cells would change by −20.0 to −5.0 % if only host memory had changed: the verdict is about the rest",
    );
  });

  it("say why a shown cell has no interval, and nothing of hidden ones", () => {
    const unknown = buildCellComparison({ margin: null });
    const reason = "±? no interval: the noise between processes is not known";
    expect(notesOf([unknown])).toContain(reason);
    expect(notesOf([unknown], [])).not.toContain(reason);
  });
});
