import { describe, expect, it } from "vitest";
import type { CellComparison } from "../../../src/compare/comparison.js";
import { comparedNames } from "../../../src/compare/report/cell-text.js";
import { failuresOf } from "../../../src/compare/report/failures.js";
import {
  buildCellComparison,
  buildComparison,
  buildGroup,
  buildInconclusive,
  buildNew,
  buildSlower,
  type CellComparisonPart,
  type ComparisonPart,
} from "../../helpers/comparison.js";
import { KiB } from "../../helpers/result-document.js";

function failuresIn(part: ComparisonPart) {
  const comparison = buildComparison({ outcome: "regression", ...part });
  return failuresOf(comparison, comparedNames(comparison));
}
const textsOf = (part: ComparisonPart) => failuresIn(part).map(({ text }) => text);

/** A slower cell for each part, with so many workers. */
const slower = (...parts: (CellComparisonPart & { workers: number })[]) =>
  parts.map((part) => buildSlower({ direction: "h2d", change: -0.1, ...part }));
const pair = (part: CellComparisonPart, second: CellComparisonPart = {}) =>
  slower({ workers: 1, ...part }, { workers: 4, ...part, ...second });
const worst = (worstChange: number) => ({
  ...{ count: 1, runs: 5, share: { low: 0, high: 1 }, ofBaseline: 0, worstChange, startedAt: [] },
});

describe("a pattern of failing cells", () => {
  it.each<[string, ReturnType<typeof slower>, string]>([
    [
      "is slower if one of them certainly is",
      pair({ change: -0.2, verdict: "probably slower" }, { change: -0.1, verdict: "slower" }),
      "H2D pinned: −15.0 %, 2 of 2 cells slower; 1 of them probably; confirmed by 5 fresh processes",
    ],
    [
      "is confirmed by the fewest processes",
      pair({}, { confirmedBy: 3 }),
      "H2D pinned: −10.0 %, 2 of 2 cells slower; confirmed by 3 fresh processes",
    ],
    [
      "is not confirmed unless each of them is",
      pair({}, { confirmedBy: undefined as never }),
      "H2D pinned: −10.0 %, 2 of 2 cells slower",
    ],
    [
      "has the longest of much longer times",
      slower(...[0.1, 0.1, 0.4].map((change, i) => ({ mode: "latency" as const, workers: i + 1, change }))),
      "H2D pinned latency: +10.0 % (up to +40.0 %), 3 of 3 cells slower; confirmed by 5 fresh processes",
    ],
    [
      "has the slowest of single runs",
      pair({ verdict: "unsteady", change: 0, slowRuns: worst(-0.4) }),
      "H2D pinned: −40.0 % in single runs, 2 of 2 cells unsteady; confirmed by 5 fresh processes",
    ],
    [
      "includes undecided cells",
      [...pair({}), buildInconclusive({ memory: "pinned", workers: 2 })],
      "H2D pinned: −10.0 %, 2 of 3 cells slower; confirmed by 5 fresh processes",
    ],
    [
      "has no cells that one side lacks",
      [...pair({}), buildNew({ memory: "pinned", workers: 2 })],
      "H2D pinned: −10.0 %, 2 of 2 cells slower; confirmed by 5 fresh processes",
    ],
    [
      "is one of one process and of several",
      pair({ workerKind: "process" }),
      "H2D pinned processes: −10.0 %, 2 of 2 cells slower; confirmed by 5 fresh processes",
    ],
    [
      "has the size of blocks",
      pair({ blockBytes: 4 * KiB, blockWay: "loop" }),
      "H2D pinned loop in blocks of 4 KiB: −10.0 %, 2 of 2 cells slower; confirmed by 5 fresh processes",
    ],
    [
      "has the direction of both at once that is compared",
      pair({ direction: "bidir", moved: "d2h" }),
      "H2D+D2H (D2H) pinned: −10.0 %, 2 of 2 cells slower; confirmed by 5 fresh processes",
    ],
  ])("%s", (_, cells, text) => {
    expect(textsOf({ cells })).toEqual([text]);
  });

  it("is one of eight at most; the other cells are counted, with the worst of them", () => {
    const cells = Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0
        ? buildSlower({ workers: i + 1, change: -0.5 + 0.02 * i })
        : buildCellComparison({ direction: "d2h", workers: i + 1 }),
    );
    expect(textsOf({ cells }).at(-1)).toBe("2 further cells slower, most of all D2H pinned 16 MiB x17");
    expect(textsOf({ cells })).toHaveLength(9);
  });
});

it("host memory is certainly slower if one of its cells is, and all copies by the CPU suffer", () => {
  const [probable, certain] = (["probably slower", "slower"] as const).map((verdict, i) =>
    buildSlower({ memory: "host", workers: i + 1, change: -0.1, verdict }),
  );
  const copies = ["pageable", "staged", "pinned"].map((memory) => buildInconclusive({ memory }));
  const told = (...cells: CellComparison[]) =>
    failuresIn({ cells: [...cells, ...copies] }).map(({ verdict, text }) => [verdict, text]);
  const rest = "10.0 % slower than in the baseline: pageable and staged copies suffer from it";
  expect(told(probable!, certain!)).toEqual([["slower", `Host memory is ${rest}`]]);
  expect(told(probable!)).toEqual([["probably slower", `Host memory is probably ${rest}`]]);
});

it("a group is told beside its cells if it lost with host memory, or in another direction than these", () => {
  const cells = pair({ direction: "bidir", moved: "h2d" });
  const lost = { verdict: "slower", change: -0.2, low: -0.3, high: -0.1 } as const;
  const groupsTold = (part: object) =>
    textsOf({ cells, groups: [buildGroup(cells, { ...lost, ...part })] }).slice(1);
  expect(groupsTold({})).toEqual([]);
  expect(groupsTold({ isWithHost: true })).toEqual([
    "H2D pinned, 2 cells with what host memory lost: −20.0 % (−30.0 to −10.0 %), slower",
  ]);
  expect(groupsTold({ moved: "d2h" })).toEqual([
    "D2H pinned, 2 cells together: −20.0 % (−30.0 to −10.0 %), slower",
  ]);
});
