import { expect, it } from "vitest";
import { baselineReport } from "../../../src/compare/report/baseline-report.js";
import { fileScreen } from "../../../src/draw/screen.js";

const seconds = 1e9;
const made = { path: "main", runs: 10, cells: 4, occasions: 1, notice: null, checkRuns: 5 };
const sensitivity = { kinds: [] };

it.each([
  [90.2, "91 s"],
  [119.9, "2 min"],
  [121, "3 min"],
])("a baseline of %d s says that it knows no more of its machine than these: %s", (span, written) => {
  const report = baselineReport({ ...made, spanNs: span * seconds, sensitivity } as never, fileScreen());
  expect(report.replaceAll(/\s+/g, " ")).toContain(`All runs come from one ${written} window.`);
});

const kind = { name: "pinned", cells: 4, typicalDeviation: 0.011, largestDeviation: 0.022 };
const shown = (part: object) =>
  baselineReport(
    {
      ...made,
      spanNs: 1,
      sensitivity: { kinds: [{ ...kind, typicalDrop: 0.0331, largestDrop: 0.144 }] },
      ...part,
    },
    fileScreen(),
  );

it("a baseline's kinds of memory have their spread and the drops that are found, the typical and the largest", () => {
  expect(shown({ checkRuns: 7 })).toContain("A check of 7 runs, with as many to confirm,");
  expect(shown({})).toMatch(/^ {2}pinned +4 +1\.1 % +2\.2 % +3\.4 % +15 %$/m);
});

it.each([
  [1, "main holds 10 runs of 4 cells.", "All runs come from one"],
  [2, "main holds 10 runs of 4 cells, measured on 2 occasions.", "Two occasions do not show"],
  [3, "main holds 10 runs of 4 cells, measured on 3 occasions.", null],
])(
  "a baseline of %i occasions tells what it holds, and whether that is enough",
  (occasions, holds, lacks) => {
    const text = shown({ occasions });
    expect(text).toContain(holds);
    expect(/All runs come from one|Two occasions do not show/.exec(text)?.[0] ?? null).toBe(lacks);
  },
);

it("a baseline of an emulated device begins with that", () => {
  expect(shown({ notice: "an emulated device" })).toMatch(/^! an emulated device\n/);
});
