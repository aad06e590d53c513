import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { comparisonSchema, type GroupComparison } from "../../../src/compare/comparison.js";
import { comparisonKind } from "../../../src/compare/report/comparison-report.js";
import { headline } from "../../../src/compare/report/outcome.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCell,
  buildComparison,
  buildGroup,
  buildMixedGroups,
  type ComparisonPart,
  idOf,
  oddText,
} from "../../helpers/comparison.js";
import { blocksOf, drawn, reportOf, textFormats } from "../../helpers/drawn.js";
import { MiB } from "../../helpers/result-document.js";

const regression = { outcome: "regression" } as const;
const report = (part: ComparisonPart) => reportOf(comparisonKind, buildComparison(part));
const tables = (part: ComparisonPart) => blocksOf(report(part), "table").map(({ grid }) => grid);
const rowsOf = (part: ComparisonPart, table: number) =>
  tables(part)[table]?.rows.map((row) => row.map(({ text }) => text)) ?? [];

describe.each(textFormats("comparison"))("a comparison as %s", (format) => {
  const text = (part: ComparisonPart) => drawn(comparisonKind, buildComparison(part), format);

  it("is reproducible, and has the notice of an emulated device", () => {
    const part = { backend: "emulated" as const, groups: buildMixedGroups() };
    expect(text(part)).toBe(text(part));
    expect(text(part)).toContain("emulated device");
    expect(text(part)).toMatch(/[^\n]\n$/);
  });

  it("has no NaN, Infinity or undefined", () => {
    const bad = buildGroup({ ids: [oddText], kind: oddText, threshold: 1, wouldShow: 1, hostChange: 0 });
    for (const groups of [buildMixedGroups(), [bad], []])
      expect(text({ groups })).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });
});

it("a comparison as JSON is the document itself", () => {
  const comparison = buildComparison({ groups: buildMixedGroups() });
  expect(comparisonSchema.parse(JSON.parse(drawn(comparisonKind, comparison, "json")))).toEqual(comparison);
});

const { baseline, candidate } = buildComparison();
const differing = { fact: "driver", baseline: "580.1", candidate: null, blocks: true, isOverruled: false };
const from = "from 2026-11-20 10:00 UTC";

it.each<[string, ComparisonPart, string]>([
  ["Baseline", {}, `main, 10 runs in 4 sessions, ${from}`],
  ["Baseline", { baseline: { ...baseline, sessions: 1 } }, `main, 10 runs, ${from}`],
  ["Candidate", {}, `measured now, 5 runs, ${from}`],
  ["Device", {}, "NVIDIA H200"],
  ["Device", { candidate: { ...candidate, deviceNames: ["L4", "L4"] } }, "NVIDIA H200 before, L4 now"],
  ["Device", { baseline: { ...baseline, deviceNames: [] } }, "not known before, NVIDIA H200 now"],
  ["Rule", {}, "threshold 3 %"],
  [
    "Rule",
    {
      groups: [
        buildGroup(),
        ...["pageable", "staged"].map((kind) => buildGroup({ kind, threshold: 0.05 })),
        buildGroup({ direction: "d2h" }),
        buildGroup({ kind: "host", threshold: 0.05, verdict: null }),
      ],
      rule: { strict: true },
    },
    "threshold 3 % (pinned) and 5 % (pageable and staged), strict",
  ],
  ["Measured again", { confirmation: { runs: 5, suspects: ["a", "b"] } }, "2 cells in 5 fresh processes"],
  ["Differs", { differences: [differing] }, "driver: 580.1 before, not known now (not comparable)"],
  ["Differs", { differences: [{ ...differing, blocks: false }] }, "driver: 580.1 before, not known now"],
])("a comparison's report states the fact %s in words (case %#)", (name, part, words) => {
  const [facts] = blocksOf(report(part), "facts");
  expect(facts!.facts.find(([fact]) => fact === name)?.[1]).toBe(words);
});

it("a comparison's alerts name the emulated device, allowed differences and unfinished runs", () => {
  const differ = (fact: string, isOverruled: boolean) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled },
  });
  const differences = [differ("GPU", true), differ("driver", false), differ("link under load", true)];
  const part = { backend: "emulated" as const, differences, unfinished: ["a run has not ended"] };
  expect(blocksOf(report(part), "alert").map(({ text }) => text)).toEqual([
    emulatedNotice,
    "different GPU and link under load, compared anyway (--allow-mismatch)",
    "a run has not ended",
  ]);
});

describe("the tables of a comparison", () => {
  it("have a row for each group, decided ones first, with change, standard errors and detectable loss", () => {
    const groups = buildMixedGroups();
    expect(rowsOf({ groups }, 0)).toEqual([
      ["D2H pinned", "1", "5+5", "−9.9 %", "20.6", "3.4 %", "slower"],
      ["H2D write-combined", "1", "5+5", "0.0 %", "0.0", "3.4 %", "unsteady"],
      ["H2D registered", "1", "-", "-", "-", "-", "missing"],
      ["H2D staged", "1", "5+5", "+5.1 %", "9.9", "3.4 %", "faster"],
      ["H2D mapped", "1", "-", "-", "-", "-", "new"],
    ]);
    const [others] = blocksOf(report({ groups }), "fold");
    expect(others!.title).toBe("Without a decided difference");
    const rows = others!.blocks.flatMap((block) => (block.type === "table" ? block.grid.rows : []));
    expect(rows.map((row) => [row[0]!.text, row.at(-1)!.text])).toEqual([
      ["H2D pageable", "undecided"],
      ["H2D pinned", "not slower"],
      ["H2D host", "(control)"],
    ]);
  });

  it("have a row for each cell beyond its group's threshold or without a figure, by verdict and loss", () => {
    expect(rowsOf({ groups: buildMixedGroups() }, 1)).toEqual([
      ["D2H pinned 16 MiB", "55.4", "49.9", "−9.9 %", "-", "slower"],
      ["H2D pageable 16 MiB", "55.4", "44.3", "−20.0 %", "-", "undecided"],
      ["H2D registered 16 MiB", "55.4", "-", "-", "-", "missing"],
      ["H2D staged 16 MiB", "55.4", "58.2", "+5.1 %", "-", "faster"],
      ["H2D mapped 16 MiB", "-", "55.4", "-", "-", "new"],
    ]);
    expect(tables({})).toHaveLength(1);
  });

  it("have times apart from rates: a longer time is a loss", () => {
    const group = buildGroup({ ids: [4, 8].map((size) => idOf("pinned", "h2d", size)) });
    const times = group.ids.map((id, i) =>
      buildCell({ id, unit: "us", change: [-0.1, 0.0712][i]!, standardErrors: 1.23 }, group),
    );
    const part = { groups: [group], cells: [buildCell({ change: 0.5 }, group), ...times] };
    expect(tables(part).map(({ caption }) => caption)).toEqual([
      "Groups of cells, by speed: more is faster",
      "Throughput in GB/s, more is faster",
      "Latency in µs, less is faster",
    ]);
    expect(rowsOf(part, 2).map((row) => row.slice(3, 5))).toEqual([
      ["+7.2 %", "1.2"],
      ["−10.0 %", "1.2"],
    ]);
  });

  it("have 24 cells at most, the others folded, and two in the brief view", () => {
    const ids = Array.from({ length: 30 }, (_, i) => idOf("pinned", "h2d", (i + 1) * MiB));
    const part = { ...regression, groups: [buildGroup({ ids, change: -0.1, verdict: "slower" })] };
    expect(rowsOf(part, 1)).toHaveLength(24);
    const { blocks, brief } = report(part);
    const [others] = blocks.flatMap((block) => (block.type === "fold" ? [block] : []));
    expect(others).toMatchObject({ title: "Other cells", blocks: [{ grid: { rows: { length: 6 } } }] });
    const tables = brief!.blocks.flatMap((block) => (block.type === "table" ? [block.grid.rows.length] : []));
    expect(tables).toEqual([1, 2]);
  });

  it("show each group that fails or is undecided in the brief view, the worst first", () => {
    const slower = ["mapped", "staged", "system"].map((kind) =>
      buildGroup({ kind, change: -0.1, verdict: "slower" }),
    );
    const unsteady = buildGroup({ direction: "d2h", verdict: "unsteady", changeOverTime: -0.774 });
    const open = buildGroup({ kind: "pageable", change: -0.2, verdict: "undecided" });
    const { brief } = report({ ...regression, groups: [buildGroup(), open, unsteady, ...slower] });
    const [grid] = brief!.blocks.flatMap((block) => (block.type === "table" ? [block.grid] : []));
    const verdicts = grid!.rows.map((row) => row.at(-1)!.text);
    expect(verdicts).toEqual(["slower", "slower", "slower", "unsteady", "undecided"]);
  });
});

describe("the notes of a comparison", () => {
  const notes = (...groups: Partial<GroupComparison>[]) =>
    blocksOf(report({ groups: groups.map(buildGroup), notes: ["a note"] }), "note").map(({ text }) => text);

  it("have the reasons that neither the headline nor the table of groups shows", () => {
    expect(
      notes(
        { verdict: "slower", change: -0.1 },
        { verdict: "slower", change: -0.01, reason: "1 of 3 cells lost more than the others." },
        { kind: "mapped", verdict: "unsteady", reason: "Slow runs." },
        { kind: "pageable", verdict: "undecided", reason: "Noise." },
        { kind: "staged", verdict: "missing", reason: "No figures." },
        {},
      ),
    ).toEqual([
      "H2D pinned: slower. 1 of 3 cells lost more than the others.",
      "H2D staged: missing. No figures.",
      "note: a note",
    ]);
  });
});

describe("a comparison's text", () => {
  const render = (part: ComparisonPart, level: 0 | 1 = 0) =>
    drawn(comparisonKind, buildComparison(part), "table", fileScreen({ chalk: new Chalk({ level }) }));
  const mixed = { ...regression, groups: buildMixedGroups() };

  it("has the headline first, then both sides, the groups, the cells, the notes and the machines", () => {
    const text = render({ ...mixed, notes: ["a note"] });
    expect(text.startsWith("pinbench 0.1.0 check\n\n=> Slower: D2H pinned −9.9 %; unsteady: ")).toBe(true);
    expect(text).toMatch(
      /\n\n {2}Baseline .*\n\nGroups .*\n\nThroughput .*\n {2}note: a note\n\nThe machines, /s,
    );
    expect(render({ backend: "emulated" }).split("\n")[1]).toBe(`! ${emulatedNotice}`);
  });

  it("has slower cells in red, and no escape code without colours", () => {
    const text = render(mixed, 1);
    expect(stripVTControlCharacters(text)).toBe(render(mixed));
    expect(render(mixed)).not.toContain("\u001b");
    expect(text).toContain("\u001b[31mslower\u001b[39m");
    expect(text).toContain("\u001b[31m=> Slower: D2H pinned");
  });

  it.each([60, 80, 120])("fits %i columns", (columns) => {
    const long = buildMixedGroups().map((group) => ({ ...group, direction: "bidir" as const }));
    const comparison = buildComparison({ ...regression, groups: long });
    const text = drawn(comparisonKind, comparison, "table", fileScreen({ columns }));
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
  });
});

describe("a comparison's report", () => {
  it("has the headline as its answer, and both machines with differences first", () => {
    const side = (driver: string, startedAt: string) => ({
      ...{ fingerprint: { gpu: "NVIDIA H200", driver }, startedAt },
    });
    const now = side("590", "2026-11-20T10:00:00Z");
    const comparison = buildComparison({
      ...regression,
      groups: [buildGroup({ change: -0.1, verdict: "slower" })],
      baseline: { ...baseline, ...side("580", "2026-11-01T10:00:00Z") },
      candidate: { ...candidate, ...now, fingerprint: { ...now.fingerprint, kernel: "6.8" } },
    });
    const one = reportOf(comparisonKind, comparison);
    expect(one.name).toBe("Check: NVIDIA H200, 2026-11-01 10:00 UTC and 2026-11-20 10:00 UTC");
    expect(report({ command: "compare" }).name).toMatch(/^Comparison: /);
    expect(blocksOf(one, "answer")).toMatchObject(
      headline(comparison).map((text) => ({ text, tone: "failure" })),
    );
    const machines = blocksOf(one, "fold").at(-1)!;
    expect(
      blocksOf({ ...one, blocks: machines.blocks }, "table")[0]!.grid.rows.map((row) =>
        row.map(({ text }) => text),
      ),
    ).toEqual([
      ["driver", "580", "590"],
      ["kernel", "not known", "6.8"],
      ["gpu", "NVIDIA H200", "NVIDIA H200"],
    ]);
  });

  it("has equally many columns in every row of a Markdown table, whatever the ids hold", () => {
    const odd = buildGroup({ ids: [oddText], change: -0.1, verdict: "slower", reason: oddText });
    const text = drawn(comparisonKind, buildComparison({ ...regression, groups: [odd] }), "markdown");
    const blocks = text.split("\n\n").filter((block) => block.startsWith("|"));
    expect(blocks.length).toBeGreaterThan(1);
    for (const block of blocks) {
      const columns = block
        .trim()
        .split("\n")
        .map((row) => row.match(/(?<!\\)\|/g)!.length);
      expect(new Set(columns).size).toBe(1);
    }
    expect(text).toContain('a "b" \\<c\\>');
  });
});
