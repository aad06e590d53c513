import { describe, expect, it } from "vitest";
import { GrowingBaseline } from "../../src/cli/baseline-session.js";
import { runFigures } from "../../src/compare/result-set.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { noConfiguration } from "../../src/settings/configuration.js";
import { buildMismatch } from "../helpers/result-document.js";
import { buildRuns } from "../helpers/runs.js";

const figuresOf = (runs: readonly ResultDocument[]) => runs.map((run) => runFigures(run, null));

it("the report on a baseline has its runs and sessions, and the loss that a check would find", () => {
  const runs = [1, 2, 4].flatMap((day, i) =>
    buildRuns({
      ...{ count: 1, seed: i + 1 },
      document: { run: { id: `run-${i}`, startedAt: `2026-11-0${day}T12:00:00.000Z` } },
    }),
  );
  const report = new GrowingBaseline("main", figuresOf(runs)).report({ cells: ["one"] }, noConfiguration);
  expect(report).toMatchObject({
    ...{ path: "main", runs: 3, cells: 1, sessions: 3, notice: null, checkRuns: 5 },
    sensitivity: [{ kind: "pinned", cells: 1 }],
  });
});

describe("a run joins a baseline only if", () => {
  const [earlier] = buildRuns({ count: 1 }) as [ResultDocument];
  const refusalOf = (part: Partial<ResultDocument>, before = [earlier]) => {
    try {
      new GrowingBaseline("main", figuresOf(before)).checkFits({ ...earlier, ...part });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  it("it finished without wrong data", () => {
    const aborted = { run: { ...earlier.run, status: "aborted" as const } };
    expect(refusalOf({})).toBeNull();
    expect(refusalOf({}, [])).toBeNull();
    expect(refusalOf(aborted)).toBe("nothing was added to main: a measurement failed (the run is aborted).");
    expect(refusalOf(aborted, [])).toBe(
      "no baseline was written: a measurement failed (the run is aborted).",
    );
    const wrong = buildMismatch();
    expect(refusalOf({ cells: [...earlier.cells, wrong] })).toBe(
      `nothing was added to main: data came back wrong (${wrong.id}).`,
    );
  });
});
