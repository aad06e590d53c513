import { expect, it } from "vitest";
import { type BaselineReport, baselineReport } from "../../../src/compare/report/baseline-report.js";
import { fileScreen } from "../../../src/draw/screen.js";

const kind = { kind: "pinned", cells: 4, betweenRuns: 0.0011, betweenSessions: 0.00401, wouldShow: 0.0331 };
const made: BaselineReport = {
  ...{ path: "main", runs: 10, cells: 4, sessions: 4, notice: null, checkRuns: 7 },
  sensitivity: [kind, { ...kind, kind: "pageable", betweenSessions: 0.05, wouldShow: 0.281 }],
};
const report = (part: Partial<BaselineReport>) => baselineReport({ ...made, ...part }, fileScreen());

it("a baseline's report has each kind of memory with its noise and detectable loss, rounded up", () => {
  const text = report({});
  expect(text).toMatch(/^ {2}pinned +4 +0\.2 % +0\.5 % +3\.4 %$/m);
  expect(text).toMatch(/^ {2}pageable +4 +0\.2 % +5\.0 % +29 %$/m);
  expect(text).toContain("A check of 7 runs");
});

it.each([
  [1, "main holds 10 runs of 4 cells.", true],
  [4, "main holds 10 runs of 4 cells in 4 sessions.", false],
])("the report on a baseline of %i sessions asks for more if it has one", (sessions, size, isAdvised) => {
  const text = report({ sessions });
  expect(text).toContain(size);
  expect(text.includes("`pinbench baseline main --append`")).toBe(isAdvised);
});

it("a baseline's report begins with the notice of an emulated device", () => {
  expect(report({ notice: "an emulated device" })).toMatch(/^! an emulated device\n/);
});
