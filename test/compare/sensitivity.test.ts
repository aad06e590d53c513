import { describe, expect, it } from "vitest";
import { sensitivityOf } from "../../src/compare/sensitivity.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { buildRuns, compareRuns, resultSet } from "../helpers/runs.js";

const cells = [
  ...[1, 2].map((workers) => ({ GBps: 50, workers })),
  { GBps: 50, direction: "d2h" },
  { GBps: 10, memory: "pageable" },
] as const;

describe("the loss that checks against a baseline would detect", () => {
  const baseline = buildRuns({ cells, count: 10 });
  const sensitivity = sensitivityOf(resultSet(baseline).runs, 5, defaultThresholds);

  it("is reported for each kind of memory", () => {
    expect(sensitivity.map(({ kind, cells }) => [kind, cells])).toEqual([
      ["pinned", 3],
      ["pageable", 1],
    ]);
  });

  it("is the same as in a check with this number of runs", () => {
    const { groups } = compareRuns(baseline, buildRuns({ cells, seed: 3, speed: 0.5 }));
    for (const { kind, wouldShow } of sensitivity) {
      const ofKind = groups.flatMap((group) => (group.kind === kind ? [group.wouldShow!] : []));
      expect(Math.max(...ofKind)).toBeCloseTo(wouldShow, 12);
    }
  });

  it("is smaller with more sessions", () => {
    const later = baseline.map((document, i) => ({
      ...document,
      run: { ...document.run, id: `later-${i}`, startedAt: `2026-11-21T10:${10 + i}:00.000Z` },
    }));
    const often = sensitivityOf(resultSet([...baseline, ...later]).runs, 5, defaultThresholds);
    for (const [i, { wouldShow }] of often.entries()) {
      expect(wouldShow).toBeLessThan(sensitivity[i]!.wouldShow);
    }
  });
});
