import type { Comparison, Difference, ResultSetSummary } from "../../compare/comparison.js";
import { formatSetting } from "../format-number.js";
import type { Fact, Note } from "../report-parts.js";
import { counted, listed } from "../wording.js";
import { comparisonNotice, freshProcesses } from "./cell-text.js";

/** What was compared with what, by which rule, and in which facts the two differ. */
export function comparisonFacts(comparison: Comparison): Fact[] {
  const { baseline, candidate, differences, confirmation } = comparison;
  return [
    { label: "Baseline", value: describeSet(baseline) },
    { label: "Candidate", value: describeSet(candidate) },
    { label: "Device", value: describeDevices(baseline, candidate) },
    { label: "Rule", value: describeRule(comparison) },
    ...(confirmation === null ? [] : [{ label: "Confirmed", value: describeConfirmation(confirmation) }]),
    ...differences.map((difference) => ({ label: "Differs", value: describeDifference(difference) })),
  ];
}

/** What must be read before any figure. */
export function comparisonAlerts(comparison: Comparison): Note[] {
  const notice = comparisonNotice(comparison);
  const overruled = comparison.differences.filter(({ isOverruled }) => isOverruled);
  return [
    ...(notice === null ? [] : [{ text: notice, tone: "warning" } as const]),
    ...(overruled.length === 0
      ? []
      : [
          {
            text: `not alike in ${listed(overruled.map(({ fact }) => fact))}, compared all the same (--allow-mismatch)`,
            tone: "warning",
          } as const,
        ]),
  ];
}

function describeSet({ path, runs, startedAt }: ResultSetSummary): string {
  return `${path ?? "measured now"}, ${counted(runs, "run")}, from ${startedAt}`;
}

function describeDevices(baseline: ResultSetSummary, candidate: ResultSetSummary): string {
  const names = ({ deviceNames }: ResultSetSummary) => listed([...new Set(deviceNames)]) || "not known";
  const [before, now] = [names(baseline), names(candidate)];
  return before === now ? now : `${before} before, ${now} now`;
}

function describeRule({ rule, cells }: Comparison): string {
  const { threshold, floorGBps, floorUs, significance, strict } = rule;
  const floors = [...(floorGBps > 0 ? [`${floorGBps} GB/s`] : []), ...(floorUs > 0 ? [`${floorUs} µs`] : [])];
  return [
    describeThresholds(threshold, cells),
    ...(floors.length === 0 ? [] : [`floor ${floors.join(" and ")}`]),
    `significance ${formatSetting(significance)} over all cells`,
    ...(strict ? ["strict"] : []),
  ].join(", ");
}

/** The usual one, and what the cells have that have another. */
function describeThresholds(usual: number, cells: Comparison["cells"]): string {
  const others = [...new Set(cells.map(({ threshold }) => threshold))].filter((one) => one !== usual);
  const usualText = `threshold ${formatSetting(usual)}`;
  if (others.length === 0) return usualText;
  const isUsed = cells.some(({ threshold }) => threshold === usual);
  const list = listed(others.sort((a, b) => a - b).map(formatSetting));
  return isUsed ? `${usualText}, of some cells ${list}` : `threshold ${list}`;
}

function describeConfirmation({ runs, suspects }: NonNullable<Comparison["confirmation"]>): string {
  return `${counted(suspects.length, "suspect")} measured again by ${freshProcesses(runs)}`;
}

function describeDifference(difference: Difference): string {
  const { fact, baseline, candidate, blocks } = difference;
  const obstacle = blocks ? " (not comparable)" : "";
  return `${fact}: ${baseline ?? "not known"} before, ${candidate ?? "not known"} now${obstacle}`;
}
