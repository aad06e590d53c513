import { describe, expect, it } from "vitest";
import type { Trend } from "../../../src/compare/history/history-document.js";
import { describeHistory } from "../../../src/compare/history/trends.js";
import { findingNotes, trendFindings } from "../../../src/compare/report/history-findings.js";
import { historyKind } from "../../../src/compare/report/history-report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import { blocksOf, drawn, reportOf } from "../../helpers/drawn.js";
import { frozen } from "../../helpers/frozen.js";
import { buildEntry, buildFigure, buildTrend, pinnedId } from "../../helpers/history.js";

/** The time of check 0, 1, 2… as text. */
const timeOf = (check: number) => `${buildEntry(check).startedAt.slice(0, 10)} 05:00 UTC`;
const named = (check: number) => `check ${check + 1} (${timeOf(check)})`;
const document = describeHistory({
  ...{ version: "0.1.0", path: "history", cells: null },
  history: { entries: Array.from({ length: 30 }, (_, day) => buildEntry(day)), notes: [] },
});
const { checks } = document;
const trendWith = (part: Partial<Trend>): Trend => frozen({ ...document.trends[0]!, name: "a", ...part });

const stepAt = (after: number, part: Partial<Trend["steps"][0]> = {}) => ({
  ...{ change: -0.1, low: -0.12, high: -0.08, before: after - 1, after, earliest: after, latest: after },
  ...{ differences: [], ...part },
});
const newest = (change: number, figure: number | null = null) => {
  return { check: 29, figure, change, checksBefore: 29, isFar: true };
};
const tenth = "−10.0 %";
const range = " (−12.0 to −8.0 %)";
const up = { change: 0.1, low: 0.08, high: 0.12 };
const far = "the newest check is far from the median before it";
const differences = [{ fact: "driver", before: "1", after: "2" }];

describe("a finding in a trend", () => {
  it.each<[Partial<Trend>, string, string, boolean]>([
    [{ steps: [stepAt(4)] }, `slower since ${named(4)}`, tenth, true],
    [
      { steps: [stepAt(9, { earliest: 8, latest: 11, ...up })] },
      `faster since ${named(9)}, or between 9 and 12`,
      "+10.0 %",
      false,
    ],
    [{ outages: [{ first: 4, last: 4, change: -0.0501 }] }, `outage in ${named(4)}`, "−5.1 %", true],
    [{ outages: [{ first: 4, last: 6, change: -0.5 }] }, `outage in ${named(4)} to 7`, "−50.0 %", true],
    [{ outages: [{ first: 4, last: 4, change: 0.5 }] }, `short rise in ${named(4)}`, "+50.0 %", false],
    [
      { unit: "us", outages: [{ first: 4, last: 4, change: 0.0501 }] },
      `outage in ${named(4)}`,
      "+5.1 %",
      true,
    ],
    [{ newest: newest(-0.5) }, far, "−50.0 %", true],
    [{ newest: newest(0.5, 27.7) }, far, "+50.0 %", false],
  ])("reads $1, with the size $2", (part, event, size, isSlower) => {
    expect(trendFindings(trendWith(part), checks)).toMatchObject([{ event, size, isSlower }]);
  });

  it("is shown once for all trends with the same change at the same check, in the order of checks", () => {
    const trends = [
      trendWith({ name: "a", steps: [stepAt(9)] }),
      trendWith({ name: "b", steps: [stepAt(4, up), stepAt(9)] }),
      trendWith({ name: "c", steps: [stepAt(9, { differences })] }),
    ];
    const [b, ab, c] = ["plain", "warning", "warning"].map((tone) => ({ tone }));
    const none = "(no recorded fact changed)";
    const tenths = tenth + range;
    expect(findingNotes({ ...document, trends }, "whole")).toEqual([
      { ...b, text: `Faster since ${named(4)}: b +10.0 % (+8.0 to +12.0 %) ${none}.` },
      { ...ab, text: `Slower since ${named(9)}: a ${tenths} and b ${tenths} ${none}.` },
      { ...c, text: `Slower since ${named(9)}: c ${tenths} (driver 1 → 2).` },
    ]);
  });

  it("names three of many trends in the headline, without intervals", () => {
    const trends = ["a", "b", "c", "d", "e"].map((name) => trendWith({ name, newest: newest(-0.5, 27.7) }));
    expect(findingNotes({ ...document, trends }, "brief").map(({ text }) => text)).toEqual([
      "The newest check is far from the median before it: a −50.0 %, b −50.0 %, c −50.0 % and 2 more.",
    ]);
  });
});

const since = (check: number, size: string) =>
  `${size.startsWith("+") ? "Faster" : "Slower"} since ${named(check)}: a ${size} (no recorded fact changed).`;

it.each<[Partial<Trend>[], string[]]>([
  [
    [{ newest: newest(-0.5) }],
    ["The newest check is far from the median before it: a −50.0 %.", "1 of 1 trend changed in 30 checks."],
  ],
  [
    [{ steps: [stepAt(9), stepAt(4, up), stepAt(2)] }, {}],
    [since(9, tenth), since(4, "+10.0 %"), "1 of 2 trends changed in 30 checks."],
  ],
  [[{}, {}], ["No change in 30 checks (2 trends)."]],
])("a history's headline begins with the newest changes (case %#)", (parts, lines) => {
  const report = reportOf(historyKind, { ...document, trends: parts.map(trendWith) });
  expect(blocksOf(report, "answer").map(({ text }) => text)).toEqual(lines);
});

const describeEntries = (entries: HistoryEntry[], cells: string[] | null = null, notes: string[] = []) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes }, cells });
const d2h = pinnedId.replace("h2d", "d2h");
const trend = buildTrend({ checks: 40, steps: { 20: -0.05 } });
const entries = trend.map((factor, day) =>
  buildEntry(day, {
    outcome: day === 20 ? "regression" : "pass",
    series: [
      buildFigure({ figure: 55 * factor }),
      buildFigure({ id: d2h, moved: "d2h", figure: 50 * factor }),
    ],
  }),
);
const history = describeEntries(entries, null, ["line 3 is left out"]);
const plain = fileScreen({ columns: 120 });
const textOf = (...args: Parameters<typeof describeEntries>) =>
  drawn(historyKind, describeEntries(...args), "table", plain).replaceAll(/\s+/g, " ");

describe("a history's report", () => {
  const report = reportOf(historyKind, history);

  it("has the conclusion first, then the checks, the trends, the findings and what was left out", () => {
    expect(report.name).toBe(`History: 40 checks in history until ${timeOf(39)}`);
    expect(blocksOf(report, "answer")).toMatchObject([
      { text: expect.stringMatching(/^Slower since .* h2d pinned −5\.\d % and d2h pinned −5\.\d % \(no/) },
      { text: "2 of 2 trends changed in 40 checks." },
    ]);
    expect(blocksOf(report, "finding").map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Slower since .* h2d pinned −5\.\d % \(.* and d2h pinned −5\.\d % \(/),
    ]);
    const text = drawn(historyKind, history, "table", plain);
    expect(text).toContain(`history, 40 checks from ${timeOf(0)} to ${timeOf(39)}`);
    expect(text).toContain("39 pass and 1 regression");
    expect(text).toMatch(
      /^ {2}h2d pinned +\d\d\.\d GB\/s +−5\.\d % +[−+]?0\.\d % +−\d\.\d % +\+\d\.\d % +0\.\d\d %$/m,
    );
    expect(text).toContain("note: line 3 is left out");
    expect(JSON.parse(drawn(historyKind, history, "json"))).toEqual(history);
  });

  it("marks a newest check that is far off the trend", () => {
    const toneOf = (fall: number) => {
      const falling = trend
        .slice(0, 20)
        .map((factor, day) =>
          buildEntry(day, { series: [buildFigure({ figure: 55 * factor * (day === 19 ? fall : 1) })] }),
        );
      const [table] = blocksOf(reportOf(historyKind, describeEntries(falling)), "table");
      return table!.grid.rows[0]![3]!.tone;
    };
    expect([toneOf(0.5), toneOf(1)]).toEqual(["warning", "plain"]);
  });

  it("has the names and directions of the requested cells, not their ids", () => {
    const bidir = buildFigure({ id: pinnedId.replace("h2d", "bidir") });
    const some = entries.slice(0, 9).map((entry) => ({ ...entry, series: [...entry.series, bidir] }));
    const [table] = blocksOf(reportOf(historyKind, describeEntries(some, ["*"])), "table");
    expect(table!.grid.rows.map(([name]) => name!.text)).toEqual([
      "H2D pinned 16 MiB",
      "D2H pinned 16 MiB",
      "H2D+D2H pinned 16 MiB, h2d",
    ]);
  });

  it("names each machine", () => {
    const ofTwo = entries.map((entry, day) => ({
      ...entry,
      machine: { hostName: [`node-${day % 2}`], gpuUuids: [], pciAddresses: [] },
    }));
    expect(textOf(ofTwo)).toContain("Machines node-0; node-1");
  });

  it.each([
    [0, "=> history holds no check yet."],
    [0, "history, no check"],
    [1, "=> Only 1 check so far: a trend needs 8."],
    [1, `history, 1 check of ${timeOf(0)}`],
    [7, "=> Only 7 checks so far: a trend needs 8."],
    [20, "=> No change in 20 checks (2 trends)."],
  ])("of %i checks reports their number: %s", (count, sentence) => {
    expect(textOf(entries.slice(0, count))).toContain(sentence);
  });

  it("of checks without figures reports that", () => {
    expect(textOf([buildEntry(0, { series: [] })])).toContain("=> No check has a figure.");
  });
});
