import { describe, expect, it } from "vitest";
import type { CellComparison } from "../../../src/compare/comparison.js";
import {
  bySeverity,
  comparedNames,
  describeChange,
  describeFigures,
  groupName,
  intervalText,
} from "../../../src/compare/report/cell-text.js";
import {
  buildCellComparison,
  buildGroup,
  buildInconclusive,
  buildMissing,
  buildSlower,
  type CellComparisonPart,
} from "../../helpers/comparison.js";

const latency = { mode: "latency", baseline: 8 } as const;
const slowRuns = (worstChange: number): NonNullable<CellComparison["slowRuns"]> => ({
  ...{ count: 1, runs: 5, share: { low: 0, high: 1 }, ofBaseline: 0, worstChange },
  startedAt: ["2026-11-20T10:01:00.123Z"],
});

describe("a change in words", () => {
  it.each<[string, CellComparisonPart, string]>([
    ["a loss of speed, rounded up", { change: -0.0501 }, "−5.1 % (−5.4 to −4.7 %)"],
    ["a gain of speed, rounded down", { change: 0.0509 }, "+5.0 % (+4.7 to +5.4 %)"],
    ["a longer time, rounded up", { ...latency, change: 0.0501 }, "+5.1 % (+4.7 to +5.4 %)"],
    [
      "what only host memory would have changed, rounded alike",
      { change: -0.2, explainedByHost: -0.1201 },
      "−20.0 % (−20.3 to −19.7 %); −12.1 % if only host memory had changed",
    ],
    ["nothing of that below 1 %", { change: -0.2, explainedByHost: -0.0099 }, "−20.0 % (−20.3 to −19.7 %)"],
    [
      "slow runs, the worst of them rounded up",
      { ...latency, slowRuns: slowRuns(0.4001) },
      "0.0 % (−0.3 to +0.3 %); 1 of 5 runs far slower, by up to +40.1 %, started 2026-11-20T10:01:00Z",
    ],
    ["the reason of an uneven cell", { verdict: "uneven", reason: "so" }, "0.0 % (−0.3 to +0.3 %); so"],
    ["the confirmation of a loss alone", { confirmedBy: 3 }, "0.0 % (−0.3 to +0.3 %)"],
    ["what is not known", { change: Number.NaN }, "change not known"],
    ["an interval of which an end is not known", { margin: Number.NaN }, "0.0 % (no interval known)"],
  ])("has %s", (_, part, words) => {
    expect(describeChange(buildCellComparison(part))).toBe(words);
  });

  it("has an interval that is narrow beside the figure", () => {
    expect(intervalText(buildCellComparison({ change: 3, margin: 2 }))).toBe("+100.0 to +500.0 %");
    expect(intervalText(buildCellComparison({ change: -0.9, margin: 0.2 }))).toBeNull();
  });
});

it("both figures of a cell are told in its unit, and which of them there is not", () => {
  expect([buildCellComparison(latency), buildMissing()].map(describeFigures)).toEqual([
    "8.00 µs before, 8.00 µs now: 0.0 % (−0.3 to +0.3 %)",
    "55.4 GB/s before, no figure now",
  ]);
});

describe("cells by severity", () => {
  it.each<[string, CellComparison[]]>([
    ["undecided ones after missing ones", [buildMissing(), buildInconclusive({ change: -0.5 })]],
    [
      "the worst of their single runs",
      [-0.4, -0.3].map((worst) => buildSlower({ verdict: "unsteady", change: 0, slowRuns: slowRuns(worst) })),
    ],
    [
      "their lost time",
      [0.5, 0.2].map((candidate) =>
        buildSlower({
          verdict: "uneven",
          change: (candidate - 1) / 9,
          lostShare: { baseline: 0, candidate },
        }),
      ),
    ],
    ["their times", [0.3, 0.2].map((change) => buildSlower({ ...latency, change }))],
  ])("are in the order of %s", (_, cells) => {
    expect(bySeverity(cells)).toEqual(cells);
    expect(bySeverity(cells.toReversed())).toEqual(cells);
  });
});

it("a cell of both directions at once is named with the one that is compared, if it is one", () => {
  const cells = (["h2d", "sum"] as const).map((moved) => buildCellComparison({ direction: "bidir", moved }));
  expect(cells.map(comparedNames({ cells }))).toEqual([
    "H2D+D2H pinned 16 MiB x1 (H2D)",
    "H2D+D2H pinned 16 MiB x1",
  ]);
});

it("a group is named with its device if there are several, and with both directions for their sum", () => {
  const group = (device: number, moved: "h2d" | "sum") =>
    buildGroup([buildCellComparison({ device })], { moved });
  const names = (...groups: ReturnType<typeof group>[]) => groups.map((one) => groupName(one, groups));
  expect(names(group(0, "h2d"), group(0, "sum"))).toEqual(["H2D pinned", "H2D+D2H pinned"]);
  expect(names(group(0, "h2d"), group(1, "h2d"))).toEqual(["d0 H2D pinned", "d1 H2D pinned"]);
});
