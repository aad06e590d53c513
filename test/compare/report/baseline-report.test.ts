import { expect, it } from "vitest";
import { baselineReport } from "../../../src/compare/report/baseline-report.js";
import { fileScreen } from "../../../src/draw/screen.js";

const seconds = 1e9;
const made = { path: "main", runs: 10, cells: 4, occasions: 1, notice: null, checkRuns: 5 };
const sensitivity = { kinds: [], significance: 0.003 };

it.each([
  [90.2, "91 s"],
  [119.9, "2 min"],
  [121, "3 min"],
])("a baseline of %d s says that it knows no more of its machine than these: %s", (span, written) => {
  const report = baselineReport({ ...made, spanNs: span * seconds, sensitivity } as never, fileScreen());
  expect(report.replaceAll(/\s+/g, " ")).toContain(`All runs come from one ${written} window.`);
});
