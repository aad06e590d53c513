import { describe, expect, it } from "vitest";
import { comparisonCharts } from "../../../src/compare/report/comparison-charts.js";
import { buildComparison, buildGroup } from "../../helpers/comparison.js";

describe("a comparison's forest plot", () => {
  it("has a row for each group with its change, two standard errors to each side and its threshold", () => {
    const [chart] = comparisonCharts(
      buildComparison({
        groups: [
          buildGroup({ change: 0.01, threshold: 0.1 }),
          buildGroup({ direction: "d2h", change: -0.098, verdict: "slower", reason: "So." }),
          buildGroup({ kind: "host", change: -0.2, verdict: null }),
        ],
      }),
    );
    expect(chart).toMatchObject({ kind: "forest", name: "changes", limitName: "threshold" });
    expect(chart!.rows).toMatchObject([
      { label: "H2D host", value: -0.2 },
      {
        ...{ label: "D2H pinned", figure: "−9.8 %", limits: [-0.03, 0.03], text: "D2H pinned: So." },
        ...{ value: -0.098, low: expect.closeTo(0.902 * Math.exp(-0.01) - 1) },
        high: expect.closeTo(0.902 * Math.exp(0.01) - 1),
      },
      { label: "H2D pinned", limits: [-0.1, 0.1] },
    ]);
    expect(chart!.rows.map(({ kind }) => chart!.kinds[kind]!.name.split(":")[0])).toEqual([
      ...["not slower", "slower", "not slower"],
    ]);
  });

  it("is absent without a group on both sides", () => {
    for (const groups of [[], [buildGroup({ verdict: "missing" })]])
      expect(comparisonCharts(buildComparison({ groups }))).toEqual([]);
  });
});
