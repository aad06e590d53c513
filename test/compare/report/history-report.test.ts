import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { describeHistory } from "../../../src/compare/history/courses.js";
import { datesAlong, historyKind, sparkline } from "../../../src/compare/report/history-report.js";
import { fileScreen } from "../../../src/draw/screen.js";
import type { HistoryEntry } from "../../../src/results/history-entry.js";
import { blocksOf, drawn, reportOf } from "../../helpers/drawn.js";
import { buildCourse, buildEntry, buildFigure, pinnedId } from "../../helpers/history.js";

const plain = fileScreen({ columns: 120 });
const describeEntries = (entries: HistoryEntry[], notes: string[] = []) =>
  describeHistory({ version: "0.1.0", path: "history", history: { entries, notes }, cells: null });
const d2h = pinnedId.replace("h2d", "d2h");
const course = buildCourse({ checks: 40, steps: { 20: -0.05 } });
const entries = course.map((factor, day) =>
  buildEntry(day, {
    outcome: day === 20 ? "regression" : "pass",
    fingerprint: { driver: day < 20 ? "570.1" : "580.2" },
    series: [
      buildFigure({ figure: 55 * factor }),
      buildFigure({ id: d2h, moved: "d2h", figure: 50 * factor }),
    ],
  }),
);
const history = describeEntries(entries, ["line 3 of history/history.jsonl is left out: it is not JSON"]);
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

describe("a history as a table", () => {
  const text = drawn(historyKind, history, "table", plain);

  it("gives the number, times and outcomes of its checks", () => {
    const { name } = reportOf(historyKind, history);
    expect(name).toBe("History: 40 checks in history until 2026-02-09 05:00 UTC");
    expect(text).toContain("history, 40 checks from 2026-01-01 05:00 UTC to 2026-02-09 05:00 UTC");
    expect(text).toContain("39 pass and 1 regression");
  });

  it("draws the course of each group, and how far its newest value is from those before", () => {
    expect(text).toMatch(
      /^ {2}h2d pinned +1 +- +[▆▇█]{20}[▁▂▃]{20} +−4\.\d % +−\d\.\d % +\+\d\.\d % +0\.\d\d %$/m,
    );
  });

  it("draws a course in twelve columns at least, and none for awk and screen readers", () => {
    expect(drawn(historyKind, history, "table", fileScreen({ columns: 30 }))).toMatch(/ [▁-█]{12}$/m);
    expect(text).toMatch(/[▁-█]/);
    expect(drawn(historyKind, history, "table", fileScreen({ isPlain: true }))).not.toMatch(/[▁-█]/);
  });

  it("marks a newest check that is far off", () => {
    const toneOf = (fall: number) => {
      const falling = entries.slice(0, 20).map((entry, day) => ({
        ...entry,
        series: entry.series.map((one) => ({ ...one, figure: one.figure * (day === 19 ? fall : 1) })),
      }));
      const [table] = blocksOf(reportOf(historyKind, describeEntries(falling)), "table");
      return table!.grid.rows[0]![4]!.tone;
    };
    expect([toneOf(0.5), toneOf(1)]).toEqual(["warning", "plain"]);
  });

  it("reports a step of several courses once, with sizes, place and changed facts", () => {
    expect(oneLine(text)).toMatch(
      /step between check 20 \(2026-01-20 05:00 UTC\) and 21 \(2026-01-21 05:00 UTC\): h2d pinned −5\.\d % \(−5\.\d to −4\.\d %\), d2h pinned −5\.\d % \(.*\); changed there: driver 570\.1 → 580\.2/,
    );
    expect(text).toMatch(
      /^pinbench 0\.1\.0 history\n\n=> 2 of 2 courses changed in 40 checks: 2 steps, the last at check 21 \(2026-01-21 05:00 UTC\), to slower\n +figures\n\n/,
    );
  });

  it("has the names of the cells asked for, not their ids", () => {
    const request = { version: "0.1.0", path: "history", history: { entries, notes: [] } };
    const cells = describeHistory({ ...request, cells: [pinnedId, d2h] });
    const [table] = blocksOf(reportOf(historyKind, cells), "table");
    expect(table!.grid.rows.map(([name]) => name!.text)).toEqual([
      "H2D pinned 16 MiB x1",
      "D2H pinned 16 MiB x1",
    ]);
  });

  it("says what was left out of the file", () => {
    expect(text).toContain("note: line 3 of history/history.jsonl is left out: it is not JSON");
  });

  it("reports a drift, and that no recorded fact changed at a step", () => {
    const factors = buildCourse({ checks: 120, drift: [0, 80, -0.001], steps: { 80: -0.05 } });
    const drifting = describeEntries(
      factors.map((factor, day) =>
        buildEntry(day, { series: [buildFigure({ id: pinnedId, figure: 50 * factor })] }),
      ),
    );
    const told = oneLine(drawn(historyKind, drifting, "table", plain));
    expect(told).toMatch(/drift from check 1 \(.*\) to 80 \(.*\): h2d pinned −7\.\d % \(/);
    expect(told).toMatch(/step between check 80 .*; no recorded fact changed there/);
    expect(told).toContain(
      "=> 1 of 1 course changed in 120 checks: 1 step and 1 drift, the last at check 81 (2026-03-22 05:00 UTC), to slower figures",
    );
  });
});

describe("findings other than steps and drifts", () => {
  const shown = (factors: readonly number[], part: (day: number) => Partial<HistoryEntry> = () => ({})) =>
    oneLine(
      drawn(
        historyKind,
        describeEntries(
          factors.map((factor, day) =>
            buildEntry(day, { series: [buildFigure({ figure: 50 * factor })], ...part(day) }),
          ),
        ),
        "table",
        plain,
      ),
    );
  const noise = buildCourse({ checks: 60 });

  it.each<[string, number[], RegExp]>([
    [
      "the newest two checks at half",
      noise.slice(0, 30).map((one, day) => one * (day < 28 ? 1 : 0.5)),
      /1 step at the end, the last at check 29 .* the last 2 checks, from check 29 \(2026-01-29 05:00 UTC\) on, are slower: h2d pinned −(49|50)\.\d %;.* the newest check differs from the median of the 29 before by more than their noise: h2d pinned −(49|50)\.\d %, (24|25)\.\d GB\/s/,
    ],
    [
      "an outage of three checks",
      noise.map((one, day) => one * (day >= 12 && day < 15 ? 0.5 : 1)),
      /: 1 outage .* outage from check 13 \(2026-01-13 05:00 UTC\) to 15 \(2026-01-15 05:00 UTC\): h2d pinned −(49|50)\.\d %/,
    ],
    [
      "a check that was far faster",
      noise.map((one, day) => one * (day === 12 ? 2 : 1)),
      /short rise in check 13 \(2026-01-13 05:00 UTC\): h2d pinned \+(99|100)\.\d %/,
    ],
    [
      "two levels",
      noise.map((one, day) => one * (day % 2 === 0 ? 1 : 0.5)),
      /: 1 pattern .* two levels take turns, the lower one in 30 of 60 checks: h2d pinned −(49|50)\.\d %/,
    ],
    [
      "a sawtooth",
      noise.map((one, day) => one * (1 - (0.08 * (day % 7)) / 6)),
      /a pattern that repeats every 7 checks, lowest against highest: h2d pinned −[78]\.\d %/,
    ],
  ])("has words of its own: %s", (_, factors, words) => {
    const text = shown(factors);
    expect(text).toMatch(words);
    expect(text).not.toContain("no step and no drift");
  });

  it("has words of its own: a daily pattern", () => {
    const factors = noise.map((one, check) => one * (check % 4 === 2 ? 0.85 : 1));
    const text = shown(factors, (check) => ({
      startedAt: new Date(Date.UTC(2026, 0, 1, 6 * check)).toISOString(),
    }));
    expect(text).toMatch(
      /daily pattern, lowest from 12 to 18 UTC, highest from \d\d to \d\d UTC: h2d pinned −1[56]\.\d %/,
    );
  });

  it("has words of its own: two machines, one of them slower", () => {
    const text = shown(
      noise.map((one, day) => one * (day % 2 === 0 ? 1 : 0.5)),
      (day) => ({ machine: { hostName: [`node-${day % 2}`], gpuUuids: [], pciAddresses: [] } }),
    );
    expect(text).toContain("=> 1 of 2 courses changed in 60 checks: 1 slower machine");
    expect(text).toContain("Machines node-0; node-1");
    expect(text).toMatch(/slower than node-0: h2d pinned, node-1 −(49|50)\.\d %/);
  });
});

describe("a history of few checks", () => {
  it.each([
    [0, "=> history holds no check yet"],
    [0, "history, no check"],
    [1, "=> one check is not a course yet: each further check is compared with those before"],
    [1, "history, 1 check of 2026-01-01 05:00 UTC"],
    [3, "with fewer than 8 checks, a step is hard to distinguish from noise"],
    [20, "=> no step and no drift was found in 20 checks (2 courses)"],
  ])("of %i says so", (count, sentence) => {
    const text = drawn(historyKind, describeEntries(entries.slice(0, count)), "table", plain);
    expect(text).toContain(sentence);
    expect(text.includes("with fewer than 8 checks")).toBe(count === 1 || count === 3);
  });

  it("without a figure says so", () => {
    const empty = describeEntries([buildEntry(0, { series: [] })]);
    expect(drawn(historyKind, empty, "table", plain)).toContain("=> no check has a figure");
  });
});

describe("a latency", () => {
  it("that grows is what gets slower, and its change is rounded up", () => {
    const id = pinnedId.replace("throughput", "latency");
    const slower = describeEntries(
      course.map((factor, day) =>
        buildEntry(day, { series: [buildFigure({ id, unit: "us", figure: 5 / factor })] }),
      ),
    );
    const colours = fileScreen({ chalk: new Chalk({ level: 1 }) });
    const [warning] = drawn(historyKind, slower, "table", colours)
      .split("\n")
      .filter((line) => line.includes("step between"));
    expect(warning).toContain(colours.chalk.yellow("=> step between").slice(0, 12));
    expect(oneLine(drawn(historyKind, slower, "table", plain))).toContain("h2d pinned latency +5.");
  });
});

describe("a single cell", () => {
  it("keeps the direction in its name", () => {
    const idOf = (sizeBytes: number) => `d0/bidir/pinned/${sizeBytes}/w1/throughput/wall/cold`;
    const both = describeEntries(
      course.map((factor, day) =>
        buildEntry(day, {
          series: [2 ** 22, 2 ** 23, 2 ** 24, 2 ** 25].map((size) =>
            buildFigure({ id: idOf(size), figure: size === 2 ** 24 ? 40 * factor ** 4 : 40 }),
          ),
        }),
      ),
    );
    expect(both.courses.map(({ name }) => name)).toContain(`${idOf(2 ** 24)} (h2d)`);
    expect(drawn(historyKind, both, "table", plain)).toMatch(/^ {2}(?!bidir h2d).*\(h2d\)/m);
  });
});

describe("the other formats", () => {
  it("JSON is the document", () => {
    expect(JSON.parse(drawn(historyKind, history, "json", plain))).toEqual(history);
  });

  it("Markdown has the same table, findings and facts", () => {
    const text = drawn(historyKind, history, "markdown", plain);
    expect(text).toMatch(
      /^## pinbench history: 2 of 2 courses changed in 40 checks: 2 steps, the last at check 21 \(2026-01-21 05:00 UTC\), to slower figures\n/,
    );
    expect(text).toMatch(/^\| h2d pinned \| 1 \| - \| [▁-█]{40} \|/m);
    expect(text).toContain("- step between check 20");
    expect(text).toContain("- **History:** history, 40 checks");
  });
});

describe("the dates above a sparkline", () => {
  const checks = ["2026-01-01T05:00:00Z", "2026-03-31T05:00:00Z"].map((startedAt) => ({ startedAt }));
  it.each([
    [23, ["2026-01-01 – 2026-03-31"]],
    [22, ["2026-01-01 –", "2026-03-31"]],
  ])("in %i columns take as few lines as fit", (width, lines) => {
    expect(datesAlong(checks, width)).toEqual(lines);
  });
});

describe("a sparkline", () => {
  const points = (changes: readonly (number | null)[]) => ({
    points: changes.flatMap((change, check) => (change === null ? [] : [{ check, change }])),
  });

  it("goes from the least to the largest change, with blanks for checks without the figure", () => {
    expect(sparkline(points([-0.1, null, 0, 0.1]), 4, 40)).toBe("▁ ▅█");
  });

  it("is flat if changes are small", () => {
    expect(sparkline(points([0.001, 0, -0.001]), 3, 40)).toBe("▅▅▄");
    expect(sparkline(points([0]), 1, 40)).toBe("▅");
  });

  it("has medians of several checks if there are more than columns", () => {
    const line = sparkline(points([0, 0, -0.5, 0, -0.1, -0.1, -0.1, -0.1]), 8, 2);
    expect(line).toBe("█▁");
  });
});
