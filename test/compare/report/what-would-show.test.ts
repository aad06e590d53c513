import { describe, expect, it } from "vitest";
import { whatWouldShow } from "../../../src/compare/report/outcome.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildGroup,
  buildMissing,
  buildNew,
  type ComparisonPart,
} from "../../helpers/comparison.js";

const said = (part: ComparisonPart) => whatWouldShow(buildComparison(part));

const cells = ["pinned", "pageable", "staged"].flatMap((memory) =>
  (["h2d", "d2h"] as const).flatMap((direction) => buildCellComparisons(3, { memory, direction })),
);

/** A group for each kind and direction, with the losses that would show. */
const groupsWith = (losses: Record<string, readonly (number | null)[]>) =>
  Object.entries(losses).flatMap(([memory, ofMemory]) =>
    (["h2d", "d2h"] as const).map((direction, i) =>
      buildGroup(
        cells.filter((cell) => cell.memory === memory && cell.direction === direction),
        { wouldShow: ofMemory[i]! },
      ),
    ),
  );

describe("the loss that would show", () => {
  it("is that of a kind's least certain direction, rounded up", () => {
    const groups = groupsWith({ pinned: [0.0312, 0.0333], pageable: [0.03, 0.0331], staged: [0.01, 0.034] });
    expect(said({ cells, groups })).toBe("Pinned, pageable and staged: a loss of 3.4 % would show");
  });

  it("is called undetectable above twice the threshold, with advice", () => {
    const groups = groupsWith({ staged: [0.12, 0.149], pinned: [0.03, 0.034], pageable: [0.15, 0.1] });
    expect(said({ cells, groups, baseline: { ...buildComparison().baseline, path: "sets/main" } })).toBe(
      "Pinned: a loss of 3.4 % would show; staged and pageable: a loss below 15 % would not show " +
        "(add sessions: `pinbench baseline sets/main --append`)",
    );
  });

  it("is none if no spread is known", () => {
    expect(said({ cells: buildCellComparisons(2, { margin: null }) })).toMatch(
      /^Pinned: no loss would show \(make a baseline of several sessions: /,
    );
  });

  it("is that of each threshold, and none at all if one direction has no known spread, or a loss of all of the speed", () => {
    const withThresholds = cells.map((cell, i) => ({ ...cell, threshold: i % 3 === 0 ? 0.2 : 0.03 }));
    const known = { pageable: [0.3, 0.3], staged: [0.3, 0.3], pinned: [0.3, 0.3] };
    expect(said({ cells: withThresholds, groups: groupsWith(known) })).toBe(
      "Pageable, staged and pinned: a loss of 30 % would show",
    );
    const unknown = { pinned: [0.03, null], pageable: [0.96, 0.03], staged: [0.06, 0.03] };
    expect(said({ cells, groups: groupsWith(unknown) })).toMatch(
      /^Staged: a loss of 6\.0 % would show; pinned and pageable: no loss would show \(/,
    );
  });

  it("is that of a direction of a cell whose sum alone is in a group", () => {
    const both = buildCellComparisons(3, { direction: "bidir", moved: "sum" });
    const one = buildCellComparison({ direction: "bidir", moved: "h2d", wouldShow: 0.05 });
    const groups = [buildGroup(both, { wouldShow: 0.04 })];
    expect(said({ cells: [...both, one], groups })).toBe("Pinned: a loss of 5.0 % would show");
  });

  it("is that of the single cells if they are too few for a group", () => {
    const latency = buildCellComparison({ mode: "latency", wouldShow: 0.041 });
    const groups = groupsWith({ pinned: [0.02, 0.02], pageable: [0.02, 0.02], staged: [0.02, 0.02] });
    expect(said({ cells: [...cells, latency], groups })).toBe(
      "Pinned, pageable and staged: a loss of 2.0 % would show; pinned latency: a loss of 4.1 % would show",
    );
  });

  it("is not given for the host, for cells of one side only, or without cells", () => {
    expect(
      said({
        cells: [buildCellComparison({ memory: "host" }), buildMissing(), buildNew()],
      }),
    ).toBeNull();
  });

  it.each<[string, ComparisonPart]>([
    [
      "`pinbench baseline 'my sets' --append`",
      { baseline: { ...buildComparison().baseline, path: "my sets" } },
    ],
    [
      "`pinbench baseline FOLDER --sessions 4`",
      { baseline: { ...buildComparison().baseline, path: "a.json" } },
    ],
    ["more runs on each side, on several occasions, show more", { command: "compare" }],
    [
      "more runs on each side, on several occasions, show more",
      { baseline: { ...buildComparison().baseline, path: null } },
    ],
  ])("comes with the advice %s", (advice, part) => {
    expect(said({ cells: [buildCellComparison({ wouldShow: 0.3 })], ...part })).toContain(advice);
  });
});
