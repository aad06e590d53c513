import type { CellComparison, Comparison, ComparisonOutcome, Verdict } from "../../compare/comparison.js";
import { machineFacts } from "../../compare/differences.js";
import { formatChange } from "../format-number.js";
import type { Tone } from "../report-parts.js";
import { counted, listed } from "../wording.js";
import { comparedNames, describeChange, failingCells, type NameOfCompared } from "./cell-text.js";

/** The terms in which every output speaks of verdicts and of the outcome. */

/** What each verdict says of a cell; in the order in which verdicts are named, what needs attention first. */
export const verdictMeaning: Readonly<Record<Verdict, string>> = {
  slower: "shown to be slower, by the cell's threshold or more",
  "probably slower": "likely to be slower, by the cell's threshold or more, and not settled",
  unsteady: "single runs far slower, and not less often than in the baseline",
  uneven: "slow copies take more of the time than in the baseline",
  missing: "in the baseline, without a figure in the candidate",
  "cannot be told": "a loss of the cell's threshold could be neither shown nor ruled out",
  "not comparable": "measured under conditions that differ",
  "not slower": "a loss of the cell's threshold is ruled out",
  faster: "shown to be faster, by the cell's threshold or more",
  new: "in the candidate alone",
};

const verdictOrder = Object.keys(verdictMeaning) as Verdict[];

/** How strongly a verdict is shown. */
export const verdictTone: Readonly<Record<Verdict, Tone>> = {
  slower: "failure",
  "probably slower": "failure",
  unsteady: "warning",
  uneven: "warning",
  missing: "warning",
  "cannot be told": "warning",
  "not comparable": "warning",
  "not slower": "muted",
  faster: "plain",
  new: "plain",
};

/** How strongly an outcome is shown. */
export const outcomeTone: Readonly<Record<ComparisonOutcome, Tone>> = {
  pass: "plain",
  regression: "failure",
  failed: "failure",
  "not comparable": "failure",
  inconclusive: "warning",
};

/** A verdict and what it says: "new: in the candidate alone". */
export function describeVerdict(verdict: Verdict): string {
  return `${verdict}: ${verdictMeaning[verdict]}`;
}

/** The verdicts that at least one cell has. */
export function presentVerdicts({ cells }: Comparison): Verdict[] {
  return verdictOrder.filter((verdict) => cells.some((cell) => cell.verdict === verdict));
}

/** The outcome in one sentence with its numbers, without a full stop. */
export function describeOutcome(comparison: Comparison, nameOf = comparedNames(comparison)): string {
  switch (comparison.outcome) {
    case "pass":
      return describeCells(comparison, nameOf);
    case "regression":
      return [
        ...describeLinkLosses(comparison),
        `${describeOtherMachine(comparison)}${describeCells(comparison, nameOf)}`,
      ].join("; ");
    case "failed":
      return [
        "a measurement failed",
        ...describeLinkLosses(comparison),
        describeCells(comparison, nameOf),
      ].join("; ");
    case "inconclusive":
      return `not decided, as --strict demands; ${describeCells(comparison, nameOf)}`;
    case "not comparable":
      return `not comparable: ${describeObstacle(comparison)}`;
  }
}

/** "the link of GPU 0 runs at x8, the baseline's at x16". */
export function describeLinkLosses({ linkLosses = [] }: Pick<Comparison, "linkLosses">): string[] {
  return linkLosses.map(({ device, baseline, candidate, runs, of }) => {
    const differ = (["generation", "width"] as const).filter((key) => candidate[key] !== baseline[key]);
    const text = (link: typeof baseline) =>
      differ.map((key) => (key === "width" ? `x${link.width}` : `gen${link.generation}`)).join(" ");
    const share = runs === of ? "" : ` in ${runs} of ${of} runs`;
    return `the link of GPU ${device} runs at ${text(candidate)}${share}, the baseline's at ${text(baseline)}`;
  });
}

/** Another machine explains most, and comes first: "on another machine (host a → b, another GPU): ". */
function describeOtherMachine({ differences }: Comparison): string {
  if (!differences.some(({ isOtherMachine }) => isOtherMachine)) return "";
  const find = (name: string) => differences.find(({ fact }) => fact === name);
  const host = find(machineFacts.hostName);
  const isOtherGpu = find(machineFacts.gpuUuids) !== undefined;
  if (host === undefined) return "on another GPU: ";
  return `on another machine (host ${host.baseline} → ${host.candidate}${isOtherGpu ? ", another GPU" : ""}): `;
}

function describeCells(comparison: Comparison, nameOf: NameOfCompared): string {
  const { cells } = comparison;
  if (cells.length === 0) return "no cell was compared";
  const failing = failingCells(comparison);
  const [host, others] = [true, false].map((isHost) =>
    failing.filter((cell) => isHostSlower(cell) === isHost),
  ) as [CellComparison[], CellComparison[]];
  const sentences = [
    ...(host.length === 0 ? [] : [describeHostMemory(host, comparison)]),
    ...describeFailing(others, comparison, nameOf),
  ];
  return sentences.length === 0 ? `${describeWell(cells)}: ${tally(comparison)}` : sentences.join("; ");
}

/** What may be said where no cell fails: nothing of those that were not decided. */
function describeWell(cells: readonly CellComparison[]): string {
  const isDecided = ({ verdict }: CellComparison) => wellVerdicts.includes(verdict);
  const asked = cells.filter(({ verdict }) => verdict !== "new");
  if (asked.every(isDecided)) return "no cell is slower";
  return asked.some(isDecided) ? "no cell was shown to be slower" : "whether a cell is slower cannot be told";
}

/** Whether a cell says that the host's memory as a whole is slower, which one sentence tells for all of them. */
export function isHostSlower({ memory, verdict }: Pick<CellComparison, "memory" | "verdict">): boolean {
  return memory === "host" && verdict === "slower";
}

/** A cell that could not be decided does not show that the link is as it was. */
const wellVerdicts: readonly Verdict[] = ["not slower", "faster"];

/** The host's memory is one thing, however many cells measured it: one alarm, and what it means for the others. */
function describeHostMemory(host: readonly CellComparison[], { cells }: Comparison): string {
  const changes = host.map((cell) => cell.candidate?.change ?? 0);
  const change = changes.reduce((sum, one) => sum + one, 0) / changes.length;
  const others = cells.filter(({ memory }) => memory !== "host");
  const [ofHost, ofLink] = [true, false].map((isOfHost) =>
    others.filter(({ memory }) => (memory === "pageable" || memory === "staged") === isOfHost),
  ) as [CellComparison[], CellComparison[]];
  const kinds = listed([...new Set(ofHost.map(({ memory }) => memory))]);
  const suffers = ofHost.length > 0 ? `: ${kinds} copies suffer from it` : "";
  const isLinkWell = ofLink.length > 0 && ofLink.every(({ verdict }) => wellVerdicts.includes(verdict));
  const percent = formatChange(change, "down").replace(/^−/, "");
  return `host memory is ${percent} slower than in the baseline${suffers}${isLinkWell ? ", the link does not" : ""}`;
}

/** What fails beside the host's memory, the worst cell by name. */
function describeFailing(
  failing: readonly CellComparison[],
  { cells }: Comparison,
  nameOf: NameOfCompared,
): string[] {
  return (["slower", "probably slower", "unsteady", "uneven"] as const).flatMap((verdict) => {
    const members = failing.filter((cell) => cell.verdict === verdict);
    const [worst] = members;
    if (worst === undefined) return [];
    const share = `${members.length} of ${counted(cells.length, "cell")}`;
    const verb = members.length === 1 ? `is ${verdict}:` : `are ${verdict}, most of all`;
    return [`${share} ${verb} ${nameOf(worst)} ${describeChange(worst)}`];
  });
}

function describeObstacle(comparison: Comparison): string {
  const facts = comparison.differences.filter(({ blocks }) => blocks).map(({ fact }) => fact);
  if (facts.length > 0) return `${listed(facts)} ${facts.length === 1 ? "differs" : "differ"}`;
  return comparison.cells.length === 0 ? "no cell was compared" : tally(comparison);
}

/** The number of cells by verdict: "3 inconclusive, 57 same". */
function tally({ counts }: Comparison): string {
  return verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${verdict}`)
    .join(", ");
}
