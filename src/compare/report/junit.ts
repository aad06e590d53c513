import { noticeIn } from "../../results/naming/wording.js";
import { type CellComparison, type Comparison, isFailing } from "../comparison.js";
import { comparedNames, describeFigures, type NameOfCompared } from "./cell-text.js";
import { type Failure, failuresOf } from "./failures.js";
import { describeOutcome } from "./outcome.js";

/** Why a test did not pass; null if it did. */
type Result = { kind: "failure" | "error" | "skipped"; type: string; message: string } | null;

interface TestCase {
  className: string;
  name: string;
  result: Result;
  output: string;
  seconds: number;
}

/**
 * The comparison as JUnit XML for the schema of Jenkins' xunit plugin: a test for each cell, and one for the whole
 * comparison, which has all of the time. A test fails if and only if the exit code is not 0.
 */
export function junitReport(comparison: Comparison): string {
  const nameOf = comparedNames(comparison);
  const failures = failuresOf(comparison, nameOf);
  const cellTests = comparison.cells.map((cell) => cellTest(cell, comparison, { nameOf, failures }));
  const tests = [wholeTest(comparison, nameOf, cellTests), ...cellTests];
  const count = (kind: NonNullable<Result>["kind"]) =>
    tests.filter(({ result }) => result?.kind === kind).length;
  const time = tests.reduce((sum, { seconds }) => sum + seconds, 0);
  const totals = { tests: tests.length, failures: count("failure"), errors: count("error"), time };
  const name = `pinbench ${comparison.command}`;
  const suite = element(
    "testsuite",
    { name, ...totals, skipped: count("skipped"), timestamp: comparison.createdAt },
    [propertiesElement(comparison), ...tests.map(testElement)],
  );
  return xmlDocument(element("testsuites", { name, ...totals }, [suite]));
}

/** Fails if no single cell does. It is in every report, so that its history has no gaps. */
function wholeTest(comparison: Comparison, nameOf: NameOfCompared, cellTests: readonly TestCase[]): TestCase {
  const { outcome, notes, unfinished = [], linkLosses } = comparison;
  const message = describeOutcome(comparison, nameOf);
  const isOfNoCell =
    outcome === "regression" &&
    (linkLosses !== undefined || !cellTests.some(({ result }) => result?.kind === "failure"));
  return {
    className: "pinbench",
    name: "comparison",
    result:
      outcome === "not comparable" || isOfNoCell
        ? { kind: "failure", type: outcome, message }
        : isFailed(comparison)
          ? { kind: "error", type: outcome, message }
          : null,
    output: [message, noticeIn(comparison), ...unfinished, ...notes]
      .filter((line) => line !== null)
      .join("\n"),
    seconds: secondsOf(comparison),
  };
}

/** Whether a measurement of the candidate failed, or its data came back wrong. */
function isFailed({ outcome }: Comparison): boolean {
  return outcome === "failed" || outcome === "mismatch";
}

/** Time from the start of a check's first run to its verdict; unknown for existing results. */
function secondsOf({ command, createdAt, candidate }: Comparison): number {
  if (command === "compare") return 0;
  const milliseconds = Date.parse(createdAt) - Date.parse(candidate.startedAt);
  // The clock may have been set back.
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds / 1000) : 0;
}

function cellTest(
  cell: CellComparison,
  comparison: Comparison,
  { nameOf, failures }: { nameOf: NameOfCompared; failures: readonly Failure[] },
): TestCase {
  const pattern = failures.find(({ cells }) => cells.length > 1 && cells.includes(cell));
  const figures = `${describeFigures(cell)}${pattern === undefined ? "" : `; one of: ${pattern.text}`}`;
  return {
    className: ["pinbench", `d${cell.device}`, cell.direction, cell.memory].join("."),
    name: nameOf(cell),
    result: cellResult(cell, comparison, figures),
    output: `${cell.verdict}: ${figures}\n${cell.reason}\n${cell.id}`,
    seconds: 0,
  };
}

function cellResult(cell: CellComparison, comparison: Comparison, figures: string): Result {
  const { rule } = comparison;
  const { verdict, reason } = cell;
  switch (verdict) {
    case "slower":
    case "probably slower":
      return { kind: "failure", type: verdict, message: figures };
    case "unsteady":
    case "uneven":
      return {
        kind: isFailing(cell, rule) ? "failure" : "skipped",
        type: verdict,
        message: figures,
      };
    case "inconclusive":
      return { kind: rule.strict ? "failure" : "skipped", type: verdict, message: reason };
    case "missing":
      // Left out on purpose unless the measurement failed.
      if (isFailed(comparison)) return { kind: "error", type: verdict, message: reason };
      return { kind: rule.strict ? "failure" : "skipped", type: verdict, message: reason };
    case "not comparable":
      return { kind: "skipped", type: verdict, message: reason };
    case "not slower":
    case "faster":
    case "new":
      return null;
  }
}

/** Some readers need a time; some show a result's text in place of its message. */
function testElement({ className, name, result, output, seconds }: TestCase): XmlElement {
  const said =
    result === null
      ? element("system-out", {}, output)
      : element(result.kind, { type: result.type, message: result.message }, output);
  return element("testcase", { classname: className, name, time: seconds }, [said]);
}

function propertiesElement(comparison: Comparison): XmlElement {
  const { tool, backend, baseline, candidate, outcome } = comparison;
  const values = {
    version: tool.version,
    backend,
    notice: noticeIn(comparison),
    outcome,
    baseline: baseline.path,
    candidate: candidate.path,
    devices: candidate.deviceNames.join(", "),
  };
  return element(
    "properties",
    {},
    Object.entries(values).flatMap(([name, value]) =>
      value === null ? [] : [element("property", { name: `pinbench.${name}`, value })],
    ),
  );
}

interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string | number>>;
  /** Either elements or text. */
  content: readonly XmlElement[] | string;
}

function element(
  name: string,
  attributes: XmlElement["attributes"],
  content: XmlElement["content"] = [],
): XmlElement {
  return { name, attributes, content };
}

/** A whole document, indented by two blanks for each level; ends in a line break. */
function xmlDocument(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${serialize(root, "")}`;
}

function serialize({ name, attributes, content }: XmlElement, indent: string): string {
  const pairs = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escapeAttribute(String(value))}"`,
  );
  const tag = `${indent}<${name}${pairs.join("")}`;
  if (content.length === 0) return `${tag}/>\n`;
  return typeof content === "string"
    ? `${tag}>${escapeText(content)}</${name}>\n`
    : `${tag}>\n${content.map((child) => serialize(child, `${indent}  `)).join("")}${indent}</${name}>\n`;
}

/** Line breaks and tabs in an attribute, unless written by number, become blanks as it is read. */
function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;").replaceAll("\t", "&#9;");
}

function escapeText(text: string): string {
  return withoutForbidden(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("\r", "&#13;");
}

/** XML 1.0 has no way to write most control characters, lone surrogates and non-characters, not even by number. */
function withoutForbidden(text: string): string {
  return text.replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
