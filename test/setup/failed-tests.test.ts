import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "pinbench-failed-"));
afterAll(() => rmSync(folder, { recursive: true }));

const root = resolve(import.meta.dirname, "../..");

/** What is printed for a report on one file of tests, in the form of vitest's JSON reporter. */
function printedFor(file: object): string {
  const path = join(folder, "report.json");
  const testResults = [{ name: join(root, "test/some.test.ts"), message: "", assertionResults: [], ...file }];
  writeFileSync(path, JSON.stringify({ testResults }));
  return printed(path);
}

function printed(...paths: string[]): string {
  const script = join(root, "scripts/failed-tests.mjs");
  return spawnSync(process.execPath, [script, ...paths], { encoding: "utf8", cwd: root }).stdout;
}

const test = (status: string, fullName: string, ...failureMessages: string[]) => ({
  status,
  fullName,
  failureMessages,
});

describe("the failed tests that .ci/run lists at its end", () => {
  it("have their file, their full name, their message without colours, and the line of the test", () => {
    const message = [
      "AssertionError: expected \u001b[31m1\u001b[39m to be 2",
      "    at Proxy.toBe (/x/node_modules/@vitest/runner/dist/a.js:1:2)",
      "    at /project/test/some.test.ts:7:3",
    ].join("\n");
    const assertionResults = [test("passed", "a set is empty"), test("failed", "a set has a size", message)];
    expect(printedFor({ status: "failed", assertionResults })).toBe(
      [
        "test/some.test.ts: a set has a size",
        "    AssertionError: expected 1 to be 2",
        "    at /project/test/some.test.ts:7:3",
        "",
      ].join("\n"),
    );
  });

  it("are reported as timed out if vitest ended them", () => {
    const assertionResults = [test("failed", "a queue drains", "Error: STACK_TRACE_ERROR\n    at /t.ts:1:1")];
    expect(printedFor({ status: "failed", assertionResults })).toContain("it did not end within its time");
  });

  it("say no more than the first lines of a long message", () => {
    const lines = Array.from({ length: 50 }, (_, i) => `line ${i}.`);
    const text = printedFor({
      status: "failed",
      assertionResults: [test("failed", "a text is short", lines.join("\n"))],
    });
    expect(text).toContain("line 5.");
    expect(text).not.toContain("line 6.");
  });

  it.each([
    ["that cannot be loaded", { message: "Cannot find module './nothing.js'" }, "Cannot find module"],
    ["whose hook fails", { assertionResults: [test("skipped", "a set is empty")] }, "a hook failed"],
  ])("include a file %s", (_, file, text) => {
    expect(printedFor({ status: "failed", ...file })).toMatch(
      new RegExp(`^test/some\\.test\\.ts\n    ${text}`),
    );
  });

  it("are none if all passed, or if no report was written", () => {
    expect(printedFor({ status: "passed", assertionResults: [test("passed", "a set is empty")] })).toBe("");
    expect(printed(join(folder, "none.json"))).toBe("");
  });
});

function totalsOf(...reports: string[]): string {
  const files = reports.map((report, i) => {
    const file = join(folder, `report-${i}.json`);
    writeFileSync(file, report);
    return file;
  });
  const script = join(root, "scripts/test-totals.mjs");
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

  it.each(["", '{"numPassedTests":'])("is all zeros if the report is empty or cut off: '%s'", (report) => {
    expect(totalsOf(report)).toBe("0 passed, 0 failed, 0 skipped\n");
  });
});
