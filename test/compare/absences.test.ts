import { describe, expect, it } from "vitest";
import { cellFigures, idsOf } from "../../src/compare/result-set.js";
import { buildCell } from "../helpers/result-document.js";
import { buildRuns, resultSet } from "../helpers/runs.js";

const complete = { status: "complete", error: null } as const;
type Changes = Partial<Parameters<typeof cellFigures>[0]>;
const absenceOf = (changes: Changes, run: Parameters<typeof cellFigures>[1] = complete) => {
  const { absence, figures } = cellFigures({ ...buildCell({ GBps: 50 }), ...changes }, run);
  expect(figures).toHaveLength(absence === null ? 1 : 0);
  return absence;
};

describe("a cell without a figure", () => {
  const error = { kind: "memory", message: "no memory" } as unknown as NonNullable<Changes["error"]>;

  it.each([
    [{ outcome: "converged" }, null],
    [{ outcome: "budget" }, null],
    [{ outcome: "mismatch" }, { isFailure: true, reason: "the data came back wrong" }],
    [
      { outcome: "failed", error },
      { isFailure: true, reason: "it failed: no memory" },
    ],
    [
      { outcome: "failed", error: null },
      { isFailure: true, reason: "it failed: no reason is known" },
    ],
    [
      { outcome: "skipped", skipReason: "no GPU" },
      { isFailure: false, reason: "it was skipped: no GPU" },
    ],
    [
      { outcome: "skipped", skipReason: null },
      { isFailure: false, reason: "it was skipped: no reason is known" },
    ],
    [{ outcome: null }, { isFailure: false, reason: "its run ended before it was finished" }],
  ] as const)("says why: %j", (changes, absence) => {
    expect(absenceOf(changes)).toEqual(absence);
  });

  it.each([
    [
      { status: "failed", error },
      { isFailure: true, reason: "its run failed: no memory" },
    ],
    [
      { status: "failed", error: null },
      { isFailure: true, reason: "its run failed: no reason is known" },
    ],
    [
      { status: "aborted", error: null },
      { isFailure: false, reason: "its run was interrupted before it was finished" },
    ],
  ] as const)("says what became of its run: %j", (run, absence) => {
    expect(absenceOf({ outcome: null }, run as unknown as typeof complete)).toEqual(absence);
  });
});

describe("the cells of several results", () => {
  it("are listed once each", () => {
    const [one, two] = [[{ workers: 1 }], [{ workers: 1 }, { workers: 2 }]].map((cells) =>
      resultSet(buildRuns({ cells, count: 2 })),
    );
    const ids = two!.runs[0]!.cells.map(({ cell }) => cell.id);
    expect(new Set(ids).size).toBe(2);
    expect(idsOf(one!, two!)).toEqual(ids);
  });
});
