import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { validateXML } from "xmllint-wasm";
import {
  type Comparison,
  isFailing,
  isOpen,
  outcomeExitCodes,
  outcomes,
  verdicts,
} from "../../../src/compare/comparison.js";
import { comparisonKind } from "../../../src/compare/report/comparison-report.js";
import { githubReport } from "../../../src/compare/report/github.js";
import { junitReport } from "../../../src/compare/report/junit.js";
import { describeOutcome } from "../../../src/compare/report/outcome.js";
import { fileScreen } from "../../../src/draw/screen.js";
import { emulatedNotice } from "../../../src/results/device-facts.js";
import {
  buildComparison,
  buildGroup,
  buildMixedGroups,
  type ComparisonPart,
  idOf,
  oddText,
} from "../../helpers/comparison.js";
import { drawn } from "../../helpers/drawn.js";

const regression = { outcome: "regression" } as const;
const slower = buildGroup({
  direction: "d2h",
  change: -0.098,
  verdict: "slower",
  reason: "−9.8 %, 5 errors.",
});
const oddGroup = buildGroup({
  ids: [oddText],
  kind: oddText,
  reason: oddText,
  verdict: "slower",
  change: -0.1,
});
const everything: ComparisonPart = {
  ...regression,
  groups: [...buildMixedGroups(), oddGroup],
  notes: [oddText],
};

/** Every outcome with a group of every verdict, with and without --strict, if the two can occur together. */
const possible: Comparison[] = outcomes.flatMap((outcome) =>
  [...verdicts, null].flatMap((verdict) =>
    [true, false].flatMap((strict) => {
      const group = buildGroup({ verdict, ...(verdict === "slower" && { change: -0.1 }) });
      const mayPass = !isFailing(group) && !isOpen(group, { strict });
      if (outcome === "pass" && !mayPass) return [];
      const groups = outcome === "not comparable" ? [] : [group];
      return [buildComparison({ outcome, groups, rule: { strict } })];
    }),
  ),
);

const testsOf = (comparison: Comparison) =>
  junitReport(comparison)
    .split("<testcase ")
    .slice(1)
    .map((test) => ({
      name: / name="(.*?)"/.exec(test)![1]!,
      result: /<(failure|error|skipped) /.exec(test)?.[1] ?? "pass",
      text: test,
    }));
const commandsOf = (comparison: Comparison) =>
  githubReport(comparison, "")
    .trimEnd()
    .split("\n")
    .map((line) => /^::(?<level>\w+) title=(?<title>.*?)::(?<text>.*)$/.exec(line)!.groups!);

describe("the exit code of a comparison", () => {
  const isZero = ({ outcome }: Comparison) => outcomeExitCodes[outcome] === 0;

  it("is 0 if and only if JUnit's overall test passes, and failing groups are failed tests", () => {
    for (const comparison of possible) {
      const [whole, ...ofGroups] = testsOf(comparison);
      expect(whole!.result === "pass").toBe(isZero(comparison));
      const failing = comparison.groups.map((one) => isFailing(one) || isOpen(one, comparison.rule));
      expect(ofGroups.map(({ result }) => result === "failure")).toEqual(failing);
    }
  });

  it("is 0 if and only if the GitHub report has no error command", () => {
    for (const comparison of possible) {
      const levels = commandsOf(comparison).map(({ level }) => level);
      expect(levels.includes("error")).toBe(!isZero(comparison));
      expect(levels[0]).toBe(isZero(comparison) ? "notice" : "error");
    }
  });
});

describe("a comparison as JUnit XML", () => {
  /** The schema of Jenkins' xunit plugin, unchanged. */
  const schema = readFileSync(new URL("junit-10.xsd", import.meta.url), "utf8");

  it("is valid by the JUnit schema, which rejects a broken report", async () => {
    const parts: ComparisonPart[] = [
      {},
      everything,
      { outcome: "failed", groups: [] },
      { backend: "emulated" },
    ];
    const reports = [...parts.map(buildComparison), ...possible].map(junitReport);
    // All at once, as each call starts a thread.
    const xml = reports.map((contents, i) => ({ fileName: `${i}.xml`, contents }));
    const result = await validateXML({ xml, schema: { fileName: "junit-10.xsd", contents: schema } });
    expect(result.errors).toEqual([]);
    const broken = reports[0]!.replace(' classname="pinbench" name="comparison"', "");
    expect((await validateXML({ xml: broken, schema })).valid).toBe(false);
  });

  it("has an overall test and one for each group, with reason and cells, and counts them", () => {
    const groups = [slower, ...[0, 3].map((device) => buildGroup({ device, verdict: "missing" }))];
    const tests = testsOf(buildComparison({ ...regression, groups }));
    expect(tests.map(({ name, result }) => [name, result])).toEqual([
      ["comparison", "failure"],
      ["d0 D2H pinned", "failure"],
      ["d0 H2D pinned", "skipped"],
      ["d3 H2D pinned", "skipped"],
    ]);
    expect(tests[1]!.text).toContain('<failure type="slower" message="−9.8 %, 5 errors.">');
    expect(tests[3]!.text).toContain(`\n${idOf("pinned", "h2d", 16 * 2 ** 20, 3)}<`);
    expect(junitReport(buildComparison({ ...regression, groups }))).toMatch(
      /<testsuite name="pinbench check" tests="4" failures="2" errors="0" time="86400" skipped="2" /,
    );
    const [failed] = testsOf(buildComparison({ outcome: "mismatch" }));
    expect(failed!.result).toBe("error");
  });

  it("has the check's duration, but none for existing results or a clock that was set back", () => {
    const took = { createdAt: "2026-11-20T10:02:30.500Z" };
    const render = (part: ComparisonPart) => junitReport(buildComparison(part));
    expect(render(took).match(/time="150\.5"/g)).toHaveLength(3);
    const { candidate } = buildComparison();
    for (const part of [
      { ...took, command: "compare" as const },
      { createdAt: "2026-11-20T09:00:00.000Z" },
      { candidate: { ...candidate, startedAt: "" } },
    ])
      expect(render(part)).not.toMatch(/ time="[^0]/);
  });

  it("has both sides and a notice as properties, and all sentences in the overall test's output", () => {
    const { baseline, candidate } = buildComparison();
    const comparison = buildComparison({
      baseline: { ...baseline, path: "before" },
      candidate: { ...candidate, path: "after", deviceNames: ["NVIDIA H200", "NVIDIA L4"] },
      ...{ unfinished: ["a run has not ended"], notes: ["a note"], backend: "emulated" },
    });
    const properties = junitReport(comparison).matchAll(/<property name="pinbench.(\w+)" value="(.*)"\/>/g);
    expect(Object.fromEntries([...properties].map(([, name, value]) => [name, value]))).toEqual({
      ...{ version: "0.1.0", backend: "emulated", outcome: "pass", notice: emulatedNotice },
      ...{ baseline: "before", candidate: "after", devices: "NVIDIA H200, NVIDIA L4" },
    });
    const sentences = [describeOutcome(comparison), emulatedNotice, "a run has not ended", "a note"];
    expect(testsOf(comparison)[0]!.text).toContain(`<system-out>${sentences.join("\n")}</system-out>`);
  });

  it("keeps line breaks in attributes and replaces characters that XML forbids", () => {
    const comparison = buildComparison({ groups: [buildGroup({ kind: "a\nb\t\u0000\u001b\ud800" })] });
    expect(junitReport(comparison)).toContain('name="H2D a&#10;b&#9;\ufffd\ufffd\ufffd"');
  });
});

describe("a comparison as workflow commands of GitHub", () => {
  const titles = (part: ComparisonPart) =>
    commandsOf(buildComparison(part)).map(({ level, title }) => `${level} ${title!.replace("%3A", ":")}`);

  it.each<[string, ComparisonPart, string[]]>([
    [
      "the outcome first, then the groups that fail",
      { ...regression, groups: [slower, buildGroup()] },
      [...["error pinbench check", "error pinbench: slower"]],
    ],
    [
      "a warning for a missing group",
      { groups: [buildGroup(), buildGroup({ verdict: "missing" })] },
      [...["notice pinbench check", "warning pinbench: missing"]],
    ],
    [
      "an error for a missing group under --strict",
      { outcome: "undecided", groups: [buildGroup({ verdict: "missing" })], rule: { strict: true } },
      ["error pinbench check", "error pinbench: missing"],
    ],
    ["the emulation notice first", { backend: "emulated" }, ["notice pinbench", "notice pinbench check"]],
    [
      "at most nine commands",
      { ...regression, groups: Array(12).fill(slower) },
      [...["error pinbench check", ...Array(8).fill("error pinbench: slower")]],
    ],
  ])("has %s", (_, part, expected) => {
    expect(titles(part)).toEqual(expected);
  });

  it("has each text on one line, even if a name has line breaks", () => {
    const comparison = buildComparison({ ...everything, unfinished: ["a run has not ended"] });
    const [whole, ...others] = commandsOf(comparison);
    expect(whole!.text!.replaceAll("%25", "%")).toContain(`${describeOutcome(comparison).slice(0, 20)}`);
    expect(whole!.text).toContain("%0Aa run has not ended%0A");
    const odd = others.find(({ text }) => text!.includes("%250A"))!;
    expect(odd.text).toContain("%0D%0Af,g:h");
  });

  const log = (part: ComparisonPart, showsAll = false) =>
    drawn(comparisonKind, buildComparison(part), "github", fileScreen({ showsAll }));

  it("has the table after the commands, with all cells if requested", () => {
    const [commands = "", ...rest] = log({ ...regression, groups: [slower] }).split("\n\n");
    expect(commands.split("\n").every((line) => line.startsWith("::"))).toBe(true);
    expect(rest.join("\n\n")).toMatch(
      /^pinbench 0\.1\.0 check\n\n=> Slower: .*\n {2}D2H pinned 16 MiB .* slower\n/s,
    );
    const rows = (showsAll: boolean) => log({}, showsAll).match(/^ {2}H2D pinned 16/gm);
    expect([rows(false), rows(true)?.length]).toEqual([null, 1]);
  });

  it("has no command in its table, even if a name contains one", () => {
    const evil = "x\n::error::a ##[error]b ::set-output name=c::d";
    const part = {
      ...regression,
      groups: [
        buildGroup({ ids: [evil], kind: `::${evil}`, verdict: "unsteady", reason: `:: ${evil}` }),
        buildGroup({ ids: [`::${evil}`], kind: evil, verdict: "missing", reason: `:: ${evil}` }),
      ],
      notes: [evil, "::error::e"],
      baseline: { ...buildComparison().baseline, path: "::warning::f" },
    };
    const text = log(part, true);
    const table = text.slice(text.indexOf("\n\n"));
    expect(table).toContain("::error::e");
    expect(table).not.toMatch(/^\s*::/m);
    expect(table).not.toContain("##[");
  });
});
