import { describe, expect, it } from "vitest";
import { compareResults } from "../../src/compare/compare-results.js";
import { buildRuns, comparisonRequest } from "../helpers/runs.js";

const staged = [1, 2, 3, 4].map((workers) => ({ GBps: 10 * workers, memory: "staged" as const, workers }));
const cells = [{ GBps: 55 }, ...staged];

/** The notes of a check in which so many of the four staged cells looked slower. */
function notesWith(suspects: number): string[] {
  const request = comparisonRequest(buildRuns({ cells }), buildRuns({ cells, seed: 2 }), {
    command: "check",
  });
  const ids = request.baseline.runs[0]!.cells.filter(({ cell }) => cell.memory === "staged").map(
    ({ cell }) => cell.id,
  );
  return compareResults({ ...request, suspects: ids.slice(0, suspects) }).notes;
}

describe("a check in which most cells of a kind look slower together", () => {
  it("says that they may have a passing cause in common", () => {
    expect(notesWith(3)).toEqual([
      expect.stringMatching(/^3 of 4 staged cells looked slower at the same time: .*--confirm-after 5min/),
    ]);
  });

  it("says nothing of it where only a few do", () => {
    expect(notesWith(2)).toEqual([]);
    expect(notesWith(0)).toEqual([]);
  });
});
