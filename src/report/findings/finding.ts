import { formatRatio, roundUp } from "../../draw/numbers.js";
import { detail, type Figure, figure, type Grid, type Tone, wordColumn } from "../../draw/report.js";
import type { IntervalEstimate } from "../../results/figure-interval.js";
import { type IntervalOrder, ratioInterval } from "../../results/figure-interval.js";
import type { ResultDocument } from "../../results/schema.js";
import { mostRuns } from "../../settings/table.js";
import { groupBy } from "../../stats/group-by.js";

/** A finding about one thing: a row of a table, and perhaps a sentence of the headline. */
export interface Finding {
  /** A cell's name, as `cellNames()` has it, or another thing's. */
  subject: string;
  /** What is compared or was found: "rate", "latency", "fastest way". */
  figure: string;
  value: string;
  /** The 95 % interval of the value; "" without one. */
  interval: string;
  against: string;
  verdict: "" | "faster" | "slower" | "same" | "undecided" | "unstable";
  /** What to do; "" for nothing. */
  hint: string;
}

const verdictOf: Readonly<Record<IntervalOrder, Finding["verdict"]>> = {
  above: "faster",
  below: "slower",
  equal: "same",
  open: "undecided",
};

/** More runs may decide it: twice the result's, at least five, at most `mostRuns`. */
export function hintIfUndecided({ runs }: Pick<ResultDocument["run"], "runs">): string {
  return `Use --runs ${Math.min(mostRuns, Math.max(5, 2 * (runs?.length ?? 1)))}.`;
}

export function ratioFinding(
  { subject, figure, against }: Pick<Finding, "subject" | "figure" | "against">,
  [one, other]: readonly [IntervalEstimate, IntervalEstimate],
  order: IntervalOrder,
): Finding {
  const { median, low, high } = ratioInterval(one, other);
  return {
    subject,
    figure,
    value: formatRatio(median),
    interval: `${formatRatio(low)} to ${formatRatio(high, roundUp)}`,
    against,
    verdict: verdictOf[order],
    hint: "",
  };
}

/** A finding as a sentence, "H2D pinned 64 MiB together: 0.52× as fast as alone." */
export function sentenceOf({ subject, figure, value, against, verdict, hint }: Finding): string {
  const advice = hint === "" ? "" : ` ${hint}`;
  if (verdict === "undecided") return `${subject}: undecided, too noisy.${advice}`;
  const relation = against === "" ? "" : ` as fast as ${against}`;
  const name = against === "" && figure !== "" ? `${figure} ` : "";
  return `${subject}: ${name}${value}${relation}.${advice}`;
}

const toneOf: Readonly<Record<Finding["verdict"], Tone>> = {
  "": "plain",
  faster: "plain",
  slower: "warning",
  same: "plain",
  undecided: "muted",
  unstable: "warning",
};

export function findingGrid(findings: readonly Finding[], scope: string): Grid & { caption: string } {
  const alike = groupBy(findings, ({ subject: _, ...rest }) => JSON.stringify(rest));
  const rows = [...alike.values()].map((some): Figure[] => {
    const { subject, figure: name, value, interval, against, verdict } = some[0]!;
    return [
      figure(some.length === 1 ? subject : `${subject} and ${some.length - 1} more`),
      figure(name),
      figure(value),
      figure(interval),
      figure(against),
      figure(verdict, "", toneOf[verdict]),
    ];
  });
  const figures = new Set(findings.map((one) => one.figure));
  const [only] = figures;
  const heads = ["", "figure", "value", "95 % interval", "against", "verdict"];
  const columns = heads.map((head, i) => (i === 3 ? detail(wordColumn(head, scope)) : wordColumn(head)));
  const used = heads.map((_, i) => (i !== 1 || figures.size > 1) && rows.some((row) => row[i]!.text !== ""));
  const hints = findings.flatMap(({ verdict, hint }) =>
    hint === "" ? [] : [verdict === "undecided" || verdict === "unstable" ? `${verdict}: ${hint}` : hint],
  );
  return {
    caption: figures.size === 1 && only !== "" ? `Compared by ${only}` : "Findings",
    columns: columns.filter((_, i) => used[i]),
    rows: rows.map((row) => row.filter((_, i) => used[i])),
    keepsRepeats: true,
    ...(hints.length === 0 ? {} : { footnote: [...new Set(hints)].join(" ") }),
  };
}

/** Fewest runs with an interval between runs. */
const leastRuns = 3;

/** What the intervals of a result cover: "of this run", or "between 5 runs". */
export function scopeOf(runs: readonly unknown[] | null | undefined): string {
  const count = runs?.length ?? 1;
  return count >= leastRuns ? `between ${count} runs` : "of this run";
}
