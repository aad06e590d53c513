import type { CellComparison, Comparison } from "../../compare/comparison.js";
import { isFailing } from "../../compare/verdict.js";
import { noticeIn } from "../wording.js";
import { describeFigures, lastingName } from "./cell-text.js";
import { describeOutcome } from "./outcome.js";

/** Why a test did not pass; null where it did. */
type Result = { kind: "failure" | "error" | "skipped"; type: string; message: string } | null;

interface Test {
  className: string;
  name: string;
  result: Result;
  output: string;
}

/**
 * The comparison as JUnit's XML, as the schema of Jenkins' xunit plugin has it: a test for each cell, and one for the
 * comparison as a whole. Some test fails where the exit code is not 0, and only there.
 */
export function junitReport(comparison: Comparison): string {
  const tests = [wholeTest(comparison), ...comparison.cells.map((cell) => cellTest(cell, comparison))];
  const count = (kind: NonNullable<Result>["kind"]) =>
    tests.filter(({ result }) => result?.kind === kind).length;
  const totals = { tests: tests.length, failures: count("failure"), errors: count("error"), time: 0 };
  const name = `pinbench ${comparison.command}`;
  const suite = element(
    "testsuite",
    { name, ...totals, skipped: count("skipped"), timestamp: comparison.createdAt },
    [propertiesElement(comparison), ...tests.map(testElement)],
  );
  return xmlDocument(element("testsuites", { name, ...totals }, [suite]));
}

/** Fails where no single cell is to blame. It stands in every report, so that its history has no gaps. */
function wholeTest(comparison: Comparison): Test {
  const { outcome, notes, unfinished = [], linkLosses } = comparison;
  const message = describeOutcome(comparison);
  const isOfLink = outcome === "regression" && linkLosses !== undefined;
  return {
    className: "pinbench",
    name: "comparison",
    result:
      outcome === "not comparable" || isOfLink
        ? { kind: "failure", type: outcome, message }
        : outcome === "failed"
          ? { kind: "error", type: outcome, message }
          : null,
    output: [message, noticeIn(comparison), ...unfinished, ...notes]
      .filter((line) => line !== null)
      .join("\n"),
  };
}

function cellTest(cell: CellComparison, comparison: Comparison): Test {
  return {
    className: ["pinbench", `d${cell.device}`, cell.direction, cell.memory].join("."),
    name: lastingName(cell),
    result: cellResult(cell, comparison),
    output: `${cell.verdict}: ${describeFigures(cell)}\n${cell.reason}`,
  };
}

function cellResult(cell: CellComparison, { outcome, rule }: Comparison): Result {
  const { verdict, reason } = cell;
  switch (verdict) {
    case "slower":
    case "probably slower":
      return { kind: "failure", type: verdict, message: describeFigures(cell) };
    case "unsteady":
    case "uneven":
      return {
        kind: isFailing(cell, rule) ? "failure" : "skipped",
        type: verdict,
        message: describeFigures(cell),
      };
    case "cannot be told":
      return { kind: rule.strict ? "failure" : "skipped", type: verdict, message: reason };
    case "missing":
      // Left out of the candidate on purpose unless the measurement failed.
      if (outcome === "failed") return { kind: "error", type: verdict, message: reason };
      return { kind: rule.strict ? "failure" : "skipped", type: verdict, message: reason };
    case "not comparable":
      return { kind: "skipped", type: verdict, message: reason };
    case "not slower":
    case "faster":
    case "new":
      return null;
  }
}

/** Some readers cannot do without a time, though none is known; some show a result's text in place of its message. */
function testElement({ className, name, result, output }: Test): XmlElement {
  const said =
    result === null
      ? element("system-out", {}, output)
      : element(result.kind, { type: result.type, message: result.message }, output);
  return element("testcase", { classname: className, name, time: 0 }, [said]);
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
