import { formatChange, formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import { type Note, note } from "../../draw/report.js";
import { capital, listed, timeText } from "../../draw/words.js";
import { groupBy } from "../../stats/group-by.js";
import type { HistoryDocument, Trend } from "../history/history-document.js";

type Checks = HistoryDocument["checks"];
type Step = Trend["steps"][number];

/** A change in per cent, rounded towards slower; for a time that is up. */
export function trendChange(change: number, { unit }: Pick<Trend, "unit">): string {
  return formatChange(change, unit === "us" ? "up" : "down");
}

/** A figure of a trend, with its unit: "52.6 GB/s". */
export function trendFigure(figure: number, { unit }: Pick<Trend, "unit">): string {
  return unit === "us" ? `${formatMicroseconds(figure)} µs` : `${formatGBps(figure)} GB/s`;
}

export function checkText(check: number, checks: Checks): string {
  return `check ${check + 1} (${timeText(checks[check]!.startedAt)})`;
}

/** A finding in one trend, in words that other trends can share. */
interface HistoryFinding {
  kind: "step" | "outage" | "newest";
  check: number;
  event: string;
  /** Machine facts that changed with it; may be empty. */
  cause: string;
  size: string;
  range: string;
  isSlower: boolean;
}

export function trendFindings(trend: Trend, checks: Checks): HistoryFinding[] {
  const { steps, outages, newest, unit } = trend;
  const isSlower = (change: number) => (unit === "us" ? change > 0 : change < 0);
  const wayOf = (change: number) => (isSlower(change) ? "slower" : "faster");
  return [
    ...steps.map((step): HistoryFinding => {
      const { change, low, high, after, earliest, latest } = step;
      const range = earliest === latest ? "" : `, or between ${earliest + 1} and ${latest + 1}`;
      const interval = `${formatChange(low, "down").replace(/ %$/, "")} to ${formatChange(high, "up")}`;
      return {
        kind: "step",
        check: after,
        event: `${wayOf(change)} since ${checkText(after, checks)}${range}`,
        cause: stepCause(step) || "no recorded fact changed",
        size: trendChange(change, trend),
        range: ` (${interval})`,
        isSlower: isSlower(change),
      };
    }),
    ...outages.map(({ change, first, last }): HistoryFinding => {
      const until = first === last ? "" : ` to ${last + 1}`;
      const word = isSlower(change) ? "outage" : "short rise";
      return {
        kind: "outage",
        check: first,
        event: `${word} in ${checkText(first, checks)}${until}`,
        cause: "",
        size: trendChange(change, trend),
        range: "",
        isSlower: isSlower(change),
      };
    }),
    ...(newest?.isFar
      ? [
          {
            kind: "newest" as const,
            check: newest.check,
            event: `the newest check is far from the median before it`,
            cause: "",
            size: trendChange(newest.change, trend),
            range: newest.figure === null ? "" : ` (${trendFigure(newest.figure, trend)})`,
            isSlower: isSlower(newest.change),
          },
        ]
      : []),
  ];
}

/** Machine facts that changed at a step: "driver 570 → 580"; may be empty. */
export function stepCause({ differences }: Pick<Step, "differences">): string {
  return listed(differences.map(({ fact, before, after }) => `${fact} ${before} → ${after}`));
}

const mostNamed = 3;

/** Order in the headline: the newest check, then lasting changes. */
const rank: Readonly<Record<HistoryFinding["kind"], number>> = { newest: 0, step: 1, outage: 2 };

/** One note for all trends with the same event: by check, or, in the brief view, most urgent first. */
export function findingNotes(
  { trends, checks }: Pick<HistoryDocument, "trends" | "checks">,
  view: "brief" | "whole",
): Note[] {
  const findings = trends.flatMap((trend) =>
    trendFindings(trend, checks).map((finding) => ({ ...finding, name: trend.name })),
  );
  const isBrief = view === "brief";
  findings.sort((a, b) => (isBrief ? rank[a.kind] - rank[b.kind] || b.check - a.check : a.check - b.check));
  const events = groupBy(findings, ({ event, cause }) => event + cause);
  return [...events.values()].map((members) => {
    const { event, cause, isSlower } = members[0]!;
    const named = isBrief && members.length > mostNamed + 1 ? members.slice(0, mostNamed) : members;
    const sizes = named.map(({ name, size, range }) => `${name} ${size}${isBrief ? "" : range}`);
    const more = named.length < members.length ? [`${members.length - named.length} more`] : [];
    const text = `${capital(event)}: ${listed([...sizes, ...more])}${cause === "" ? "" : ` (${cause})`}.`;
    return note(text, isSlower ? "warning" : "plain");
  });
}
