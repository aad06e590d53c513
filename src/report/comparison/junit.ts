import type { CellComparison, Comparison } from "../../compare/comparison.js";
import { cellName, comparisonNotice, describeFigures } from "./cell-text.js";
import { describeOutcome } from "./outcome.js";
import { element, type XmlElement, xmlDocument } from "./xml.js";

/** What became of a test; null for one that passed. */
type Result = { kind: "failure" | "error" | "skipped"; type: string; message: string } | null;

interface Test {
  className: string;
  name: string;
  result: Result;
  output: string;
}

/**
 * The comparison as JUnit's XML, as the schema of Jenkins' xunit plugin has it: a test a cell, and one for the
 * comparison as a whole. Tests fail where the exit code says so, and only there.
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

/** Fails for what no single cell can be blamed for. It is there in every report, so that its history has no gaps. */
function wholeTest(comparison: Comparison): Test {
  const { outcome, notes } = comparison;
  const message = describeOutcome(comparison);
  return {
    className: "pinbench",
    name: "comparison",
    result:
      outcome === "not comparable"
        ? { kind: "failure", type: outcome, message }
        : outcome === "failed"
          ? { kind: "error", type: outcome, message }
          : null,
    output: [message, comparisonNotice(comparison), ...notes].filter((line) => line !== null).join("\n"),
  };
}

function cellTest(cell: CellComparison, comparison: Comparison): Test {
  return {
    className: ["pinbench", `d${cell.device}`, cell.direction, cell.memory].join("."),
    name: cellName(cell),
    result: cellResult(cell, comparison),
    output: `${cell.verdict}: ${describeFigures(cell)}\n${cell.reason}`,
  };
}

function cellResult(cell: CellComparison, { outcome, rule }: Comparison): Result {
  const { verdict, reason } = cell;
  switch (verdict) {
    case "slower":
      return { kind: "failure", type: verdict, message: describeFigures(cell) };
    case "inconclusive":
      return { kind: rule.strict ? "failure" : "skipped", type: verdict, message: reason };
    case "missing":
      // Left out of the candidate on purpose unless the measurement failed.
      if (outcome === "failed") return { kind: "error", type: verdict, message: reason };
      return { kind: rule.strict ? "failure" : "skipped", type: verdict, message: reason };
    case "not comparable":
      return { kind: "skipped", type: verdict, message: reason };
    case "same":
    case "faster":
    case "new":
      return null;
  }
}

/** Nothing is timed here, but some readers cannot do without a time; some show a result's text, not its message. */
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
    notice: comparisonNotice(comparison),
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
