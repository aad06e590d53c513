import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { validateXML } from "xmllint-wasm";
import { type Verdict, verdicts } from "../../../src/compare/comparison.js";
import { comparisonKind, githubReport } from "../../../src/compare/report/comparison-report.js";
import { junitReport } from "../../../src/compare/report/junit.js";
import { describeOutcome } from "../../../src/compare/report/outcome.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildGroup,
  buildInconclusive,
  buildMissing,
  buildMixedCells,
  buildSlower,
  type ComparisonPart,
  oddText,
} from "../../helpers/comparison.js";
import { drawn } from "../../helpers/drawn.js";

const link = { generation: 5, width: 16 };
const linkLosses = [{ device: 0, baseline: link, candidate: { ...link, width: 8 }, runs: 5, of: 5 }];
const regression = { outcome: "regression" } as const;
const strict = { rule: { strict: true } };
const undecidedGroup = [1, 2, 4].map((workers) => buildInconclusive({ workers }));
const failingGroup = {
  ...{ ...regression, cells: undecidedGroup },
  groups: [buildGroup(undecidedGroup, { change: -0.1, verdict: "slower" })],
};
const notComparable = {
  outcome: "not comparable",
  cells: buildCellComparisons(2, { change: null, verdict: "not comparable", reason: "The driver differs." }),
  differences: [{ fact: "driver", baseline: "580", candidate: "590", blocks: true, isOverruled: false }],
} as const satisfies ComparisonPart;
const odd = { id: oddText, memory: oddText, reason: oddText };

describe("a comparison as JUnit XML", () => {
  /** The schema of Jenkins' xunit plugin, unchanged. */
  const schema = readFileSync(new URL("junit-10.xsd", import.meta.url), "utf8");
  const render = (part: ComparisonPart) => junitReport(buildComparison(part));

  /** The element of the test whose name begins so. */
  function testNamed(xml: string, name: string): string {
    const test = xml.split("<testcase ").find((one) => one.includes(` name="${name}`));
    return test?.split("</testcase>")[0] ?? "";
  }
  const resultOf = (part: ComparisonPart, name: string) =>
    /<(failure|skipped|error) type="([\w ]+)"/.exec(testNamed(render(part), name))?.[1] ?? "pass";

  it("keeps the schema, which would notice a report that breaks it", async () => {
    const parts: ComparisonPart[] = [
      {},
      { ...regression, cells: [...buildMixedCells(), ...notComparable.cells] },
      notComparable,
      { outcome: "failed", cells: [buildMissing()], notes: ["out of memory"] },
      { outcome: "inconclusive", cells: [buildInconclusive()], ...strict },
      { backend: "emulated" },
      { cells: [] },
      { cells: buildCellComparisons(3, { margin: null }) },
      { ...regression, cells: [buildCellComparison(odd), buildSlower(odd)], notes: [oddText] },
    ];
    // All at once, as each call starts a thread for it.
    const xml = parts.map((part, i) => ({ fileName: `${i}.xml`, contents: render(part) }));
    const result = await validateXML({ xml, schema: { fileName: "junit-10.xsd", contents: schema } });
    expect(result.errors).toEqual([]);
    const broken = render({}).replace(' classname="pinbench" name="comparison"', "");
    expect((await validateXML({ xml: broken, schema })).valid).toBe(false);
  });

  it("has a test for each cell, and one for the comparison as a whole", () => {
    const cells = [0, 0, 3].map((device, i) => buildCellComparison({ device, workers: i + 1 }));
    const xml = render({ cells });
    expect([...xml.matchAll(/<testcase classname="(.*?)" name="(.*?)"/g)].map((one) => one.slice(1))).toEqual(
      [
        ["pinbench", "comparison"],
        ["pinbench.d0.h2d.pinned", "d0 H2D pinned 16 MiB x1"],
        ["pinbench.d0.h2d.pinned", "d0 H2D pinned 16 MiB x2"],
        ["pinbench.d3.h2d.pinned", "d3 H2D pinned 16 MiB x3"],
      ],
    );
    expect(testNamed(xml, "comparison")).toContain(
      `<system-out>${describeOutcome(buildComparison({ cells }))}<`,
    );
    expect(testNamed(xml, "d3")).toContain("\nd3/h2d/pinned/16777216/w3/");
  });

  // By each verdict: of steady memory, strictly, of other memory, and if the measurement failed.
  it.each<[Verdict, string, string, string, string]>([
    ["slower", "failure", "failure", "failure", "failure"],
    ["probably slower", "failure", "failure", "failure", "failure"],
    ["unsteady", "failure", "failure", "skipped", "failure"],
    ["uneven", "failure", "failure", "skipped", "failure"],
    ["faster", "pass", "pass", "pass", "pass"],
    ["not slower", "pass", "pass", "pass", "pass"],
    ["inconclusive", "skipped", "failure", "skipped", "skipped"],
    ["not comparable", "skipped", "skipped", "skipped", "skipped"],
    ["missing", "skipped", "failure", "skipped", "error"],
    ["new", "pass", "pass", "pass", "pass"],
  ])("has a test that fails if the exit code does, of a cell that is %s", (verdict, ...results) => {
    const parts: ComparisonPart[] = [{}, strict, {}, { outcome: "failed" }];
    const found = parts.map((part, i) => {
      const cells = [buildCellComparison({ verdict, memory: i === 2 ? "pageable" : "pinned" })];
      return resultOf({ ...part, cells }, "H2D");
    });
    expect(found).toEqual(results);
    expect(verdicts).toContain(verdict);
  });

  it.each<[string, ComparisonPart, string]>([
    ["passes", {}, "pass"],
    ["passes, though a cell fails", { ...regression, cells: [buildSlower()] }, "pass"],
    ["fails with a group of which no cell fails", failingGroup, "failure"],
    ["fails with a link that lost lanes", { ...regression, linkLosses }, "failure"],
    ["fails if the results are not comparable", notComparable, "failure"],
    ["is an error after a failure", { outcome: "failed", cells: [buildMissing()] }, "error"],
    ["is an error after wrong data", { outcome: "mismatch", cells: [buildMissing()] }, "error"],
  ])("has a test of the whole that %s", (_, part, result) => {
    expect(resultOf(part, "comparison")).toBe(result);
  });

  it("has a failing cell's figures and reason, and its pattern if others fail with it", () => {
    const cells = [1, 2, 4].map((workers) => buildSlower({ workers }));
    const failed = testNamed(render({ ...regression, cells }), "D2H pinned 16 MiB x2");
    expect(failed).toMatch(
      / message="61\.3 GB\/s before, 55\.3 GB\/s now: .*; one of: D2H pinned: .* 3 of 3 cells /,
    );
    expect(failed).toContain(`\n${cells[0]!.reason}\n`);
  });

  it("has the check's time for the whole, and none for existing results or a clock that was set back", () => {
    const took = { createdAt: "2026-11-20T10:02:30.500Z" };
    const xml = render(took);
    expect(testNamed(xml, "comparison")).toContain('time="150.5"');
    expect(xml.match(/time="150\.5"/g)).toHaveLength(3);
    const { candidate } = buildComparison();
    for (const part of [
      { ...took, command: "compare" as const },
      { createdAt: "2026-11-20T09:00:00.000Z" },
      { candidate: { ...candidate, startedAt: "" } },
    ])
      expect(render(part)).not.toMatch(/ time="[^0]/);
  });

  it("counts its tests, failures and errors", () => {
    expect(render({ outcome: "failed", cells: buildMixedCells() })).toContain(
      '<testsuites name="pinbench check" tests="7" failures="1" errors="2" time="86400">',
    );
    expect(render(notComparable)).toContain('tests="3" failures="1" errors="0" time="86400" skipped="2"');
  });

  it("has both sides and a notice as properties, and notes in the output of the whole", () => {
    const { baseline, candidate } = buildComparison();
    const xml = render({
      baseline: { ...baseline, path: "before" },
      candidate: { ...candidate, path: "after", deviceNames: ["NVIDIA H200", "NVIDIA L4"] },
      ...{
        unfinished: ["a run has not ended"],
        notes: ["a note"],
        tool: { name: "pinbench", version: "9.8" },
      },
      backend: "emulated",
    });
    const properties = [...xml.matchAll(/<property name="pinbench.(\w+)" value="(.*)"\/>/g)];
    expect(Object.fromEntries(properties.map(([, name, value]) => [name, value]))).toEqual({
      ...{ version: "9.8", backend: "emulated", outcome: "pass", notice: emulatedNotice },
      ...{ baseline: "before", candidate: "after", devices: "NVIDIA H200, NVIDIA L4" },
    });
    const output = `\n${emulatedNotice}\na run has not ended\na note</system-out>`;
    expect(testNamed(xml, "comparison")).toContain(output);
  });

  it("keeps line breaks in attributes and replaces characters that XML forbids", () => {
    const xml = render({ cells: [buildCellComparison({ id: "a\nb\t\u0000\u001b\ud800" })] });
    expect(xml).toContain('name="a&#10;b&#9;\ufffd\ufffd\ufffd"');
  });
});

describe("a comparison as workflow commands of GitHub", () => {
  const commandsOf = (part: ComparisonPart) => githubReport(buildComparison(part)).trimEnd().split("\n");
  /** Level and title of each command. */
  const levels = (part: ComparisonPart) =>
    commandsOf(part).map((line) =>
      line
        .match(/^::(.*) title=pinbench(?:%3A)? (.*?)::/)!
        .slice(1)
        .join(" "),
    );
  const oneError = ["notice check", "error slower"];
  const slower = [1, 2, 4].map((workers) =>
    buildSlower({ workers, change: workers === 4 ? -0.12 : -0.0983 }),
  );
  const unsteady = (["pinned", "pageable"] as const).map((memory) =>
    buildCellComparison({ memory, verdict: "unsteady" }),
  );
  const alternating = Array.from({ length: 60 }, (_, i) =>
    i % 2 === 0 ? buildSlower({ workers: i + 1 }) : buildCellComparison({ direction: "d2h", workers: i + 1 }),
  );

  it.each<[string, ComparisonPart, string[]]>([
    ["one notice if nothing is wrong", {}, ["notice check"]],
    ["a warning if nothing is decided", { cells: undecidedGroup }, ["warning check", "warning inconclusive"]],
    ["an error for slower cells", { ...regression, cells: slower }, oneError],
    ["an error for a group alone", failingGroup, [...oneError, "warning inconclusive"]],
    ["an error of a failure", { outcome: "failed" }, ["error check"]],
    ["an error of wrong data", { outcome: "mismatch" }, ["error check"]],
    ["an error of what is not comparable", { outcome: "not comparable" }, ["error check"]],
    ["an error of what is undecided", { outcome: "inconclusive" }, ["error check"]],
    ["an error of a link that lost lanes", { ...regression, linkLosses }, ["error check"]],
    ["that error, then the slower cells", { cells: slower, linkLosses }, ["error check", "error slower"]],
    [
      "both for slow runs that fail or not",
      { ...regression, cells: unsteady },
      ["notice check", "error unsteady", "warning unsteady"],
    ],
    [
      "nine at most, however many patterns and verdicts there are",
      { ...regression, cells: [...alternating, buildInconclusive(), buildMissing()] },
      ["notice check", ...Array(6).fill("error slower"), "warning missing", "warning inconclusive"],
    ],
  ])("has %s", (_, part, expected) => {
    expect(levels(part)).toEqual(expected);
  });

  it("has the outcome with what did not end and notes, and a pattern with its worst cell", () => {
    const part = { ...regression, cells: slower, unfinished: ["a run has not ended"], notes: ["a note"] };
    const [outcome, error] = commandsOf(part);
    expect(outcome).toMatch(/^.*::D2H pinned: −9\.9 %25, 3 of 3 cells .*%0Aa run has not ended%0Aa note$/);
    expect(error).toMatch(
      /::D2H pinned: .*%0AD2H pinned 16 MiB x4, 61\.3 GB\/s before, 54\.0 GB\/s now: −12\.0 %25 .*%0AThe drop exceeds/,
    );
  });

  it("names five cells of a verdict that leaves them undecided, and counts the others", () => {
    const cells = [1, 2, 3, 4, 5, 6, 7].map((workers) => buildInconclusive({ workers }));
    const lines = commandsOf({ cells: [...cells, buildMissing(), ...buildCellComparisons(1)] });
    expect(lines[1]).toMatch(/::1 of 9 cells: .*%0AH2D registered 16 MiB x1$/);
    expect(lines[2]).toMatch(/::7 of 9 cells: .*%0AH2D pageable 16 MiB x5%0Aand 2 more$/);
  });

  it("says first that the device is emulated", () => {
    expect(commandsOf({ backend: "emulated" })[0]).toBe(`::notice title=pinbench::${emulatedNotice}`);
  });

  it("has a line each, whatever the ids hold", () => {
    const lines = commandsOf({ ...regression, cells: [buildSlower(odd)], notes: [oddText] });
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("`e` %250A ");
    expect(lines[1]).toContain("%0D%0Af,g:h");
    expect(lines[1]).not.toContain("\r");
  });

  const log = (part: ComparisonPart, showsAll = false) =>
    drawn(comparisonKind, buildComparison(part), "github", fileScreen({ showsAll }));

  it("has the table behind the commands, with all cells if these are asked for", () => {
    const [commands = "", ...rest] = log({ ...regression, cells: [buildSlower()] }).split("\n\n");
    expect(commands.split("\n").every((line) => line.startsWith("::"))).toBe(true);
    expect(rest.join("\n\n")).toMatch(
      /^pinbench 0\.1\.0 check\n\n=> D2H .*\n {2}D2H pinned 16 MiB x1 .* slower\n/s,
    );
    const rows = (showsAll: boolean) =>
      log({ cells: buildCellComparisons(3) }, showsAll).match(/^ {2}H2D pinned 16/gm);
    expect([rows(false), rows(true)?.length]).toEqual([null, 3]);
  });

  it("has no command in its table, whatever the names in it are", () => {
    const evil = "x\n::error::a ##[error]b ::set-output name=c::d";
    const text = log({
      ...regression,
      cells: [buildSlower({ id: evil }), buildInconclusive({ id: `::${evil}`, reason: `:: ${evil}` })],
      notes: [evil, "::error::e"],
      baseline: { ...buildComparison().baseline, path: "::warning::f" },
    });
    const table = text.slice(text.indexOf("\n\n"));
    expect(table).toContain("::error::e");
    expect(table).not.toMatch(/^\s*::/m);
    expect(table).not.toContain("##[");
  });
});
