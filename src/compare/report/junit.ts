import { groupName } from "../compared-names.js";
import { type Comparison, type GroupComparison, isFailing, isOpen, outcomeExitCodes } from "../comparison.js";
import { describeOutcome } from "./outcome.js";

type Result = { kind: "failure" | "error" | "skipped"; type: string; message: string } | null;

interface TestCase {
  className: string;
  name: string;
  result: Result;
  output: string;
  seconds: number;
}

/**
 * The comparison as JUnit XML for the schema of Jenkins' xunit plugin: a test for each group of cells, and one for the
 * whole comparison, which has all of the time. If and only if the exit code is not 0, a test fails.
 */
export function junitReport(comparison: Comparison): string {
  const tests = [wholeTest(comparison), ...comparison.groups.map((group) => groupTest(group, comparison))];
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
  return `<?xml version="1.0" encoding="UTF-8"?>\n${serialize(element("testsuites", { name, ...totals }, [suite]), "")}`;
}

/** The test of the whole comparison. It is in every report, so that its history has no gaps. */
function wholeTest(comparison: Comparison): TestCase {
  const { outcome, notes, notice, unfinished = [] } = comparison;
  const message = describeOutcome(comparison);
  const isError = outcome === "failed" || outcome === "mismatch";
  return {
    className: "pinbench",
    name: "comparison",
    result:
      outcomeExitCodes[outcome] === 0
        ? null
        : { kind: isError ? "error" : "failure", type: outcome, message },
    output: [message, notice, ...unfinished, ...notes].filter((line) => line !== null).join("\n"),
    seconds: secondsOf(comparison),
  };
}

/** Time from a check's first run to its verdict in seconds; 0 (unknown) for existing results. */
function secondsOf({ command, createdAt, candidate }: Comparison): number {
  if (command === "compare") return 0;
  const milliseconds = Date.parse(createdAt) - Date.parse(candidate.startedAt);
  // The clock may have been set back.
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds / 1000) : 0;
}

function groupTest(group: GroupComparison, { groups, rule }: Comparison): TestCase {
  const { device, direction, kind, verdict, reason, ids } = group;
  const isFailed = isFailing(group) || isOpen(group, rule);
  const isSkipped = verdict === "missing" || verdict === null;
  return {
    className: ["pinbench", `d${device}`, direction, kind].join("."),
    name: groupName(group, groups),
    result:
      isFailed || isSkipped
        ? { kind: isFailed ? "failure" : "skipped", type: verdict ?? "control", message: reason }
        : null,
    output: `${verdict ?? "control"}: ${reason}\n${ids.join("\n")}`,
    seconds: 0,
  };
}

/** Some readers require a time; some show the element's text instead of its message. */
function testElement({ className, name, result, output, seconds }: TestCase): XmlElement {
  const content =
    result === null
      ? element("system-out", {}, output)
      : element(result.kind, { type: result.type, message: result.message }, output);
  return element("testcase", { classname: className, name, time: seconds }, [content]);
}

function propertiesElement(comparison: Comparison): XmlElement {
  const { tool, backend, notice, baseline, candidate, outcome } = comparison;
  const values = {
    version: tool.version,
    backend,
    notice,
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

/** Readers turn line breaks and tabs in attributes into blanks unless they are written as numbers. */
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

/** XML 1.0 cannot contain most control characters, lone surrogates and non-characters, not even as numbers. */
function withoutForbidden(text: string): string {
  return text.replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}
