import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "pinbench-totals-"));
afterAll(() => rmSync(folder, { recursive: true }));

function totalsOf(...reports: string[]): string {
  const files = reports.map((report, i) => {
    const file = join(folder, `report-${i}.json`);
    writeFileSync(file, report);
    return file;
  });
  const script = resolve(import.meta.dirname, "../../scripts/test-totals.mjs");
  return spawnSync(process.execPath, [script, ...files], { encoding: "utf8" }).stdout;
}

describe("the totals line of .ci/run", () => {
  it("counts skipped and planned tests as skipped", () => {
    const report = { numPassedTests: 12, numFailedTests: 1, numPendingTests: 2, numTodoTests: 3 };
    expect(totalsOf(JSON.stringify(report))).toBe("12 passed, 1 failed, 5 skipped\n");
  });

  it("adds up what several runs report", () => {
    const reports = [{ numPassedTests: 12 }, { numPassedTests: 3, numFailedTests: 1, numPendingTests: 1 }];
    expect(totalsOf(...reports.map((report) => JSON.stringify(report)), "none")).toBe(
      "15 passed, 1 failed, 1 skipped\n",
    );
  });

  it.each(["", '{"numPassedTests":'])("is all zeros if the report is no report: '%s'", (report) => {
    expect(totalsOf(report)).toBe("0 passed, 0 failed, 0 skipped\n");
  });
});
