import { formatWholeShare, roundUp } from "../../draw/numbers.js";
import { groupBy, type Tone } from "../../draw/report.js";
import { capital, counted, listed } from "../../draw/words.js";
import { kindOf } from "../../results/variant.js";
import {
  type CellComparison,
  type Comparison,
  type ComparisonOutcome,
  factNames,
  type GroupComparison,
  machineFacts,
  type Verdict,
} from "../comparison.js";
import { comparedNames, type NameOfCompared } from "./cell-text.js";
import { failuresOf } from "./failures.js";

/** The words for verdicts and outcomes in all outputs. */

/** The meaning of each verdict, most urgent first. */
export const verdictMeaning: Readonly<Record<Verdict, string>> = {
  slower: "shown to be slower, by the cell's threshold or more",
  "probably slower": "likely to be slower, by the cell's threshold or more, but not certain",
  unsteady: "single runs far slower, and not less often than in the baseline",
  uneven: "slow copies take more of the time than in the baseline",
  missing: "in the baseline, without a figure in the candidate",
  inconclusive: "a loss of the cell's threshold could be neither shown nor ruled out",
  "not comparable": "measured under conditions that differ",
  "not slower": "a loss of the cell's threshold is ruled out",
  faster: "shown to be faster, by the cell's threshold or more",
  new: "only in the candidate",
};

const verdictOrder = Object.keys(verdictMeaning) as Verdict[];

export const verdictTone: Readonly<Record<Verdict, Tone>> = {
  slower: "failure",
  "probably slower": "failure",
  unsteady: "warning",
  uneven: "warning",
  missing: "warning",
  inconclusive: "warning",
  "not comparable": "warning",
  "not slower": "muted",
  faster: "plain",
  new: "plain",
};

const outcomeTones: Readonly<Record<ComparisonOutcome, Tone>> = {
  pass: "plain",
  regression: "failure",
  failed: "failure",
  mismatch: "mismatch",
  "not comparable": "failure",
  inconclusive: "warning",
};

/** Tone of an outcome. A pass that decides nothing is a warning. */
export function outcomeTone(comparison: Comparison): Tone {
  return decidesNothing(comparison) ? "warning" : outcomeTones[comparison.outcome];
}

/** Whether it passes although no baseline cell was decided. */
export function decidesNothing({ outcome, cells }: Pick<Comparison, "outcome" | "cells">): boolean {
  return outcome === "pass" && cells.length > 0 && !cells.some(isDecided);
}

function isDecided({ verdict }: CellComparison): boolean {
  return verdict === "not slower" || verdict === "faster";
}

/** A verdict and its meaning: "new: only in the candidate". */
export function describeVerdict(verdict: Verdict): string {
  return `${verdict}: ${verdictMeaning[verdict]}`;
}

/** The verdicts that at least one cell has. */
export function presentVerdicts({ cells }: Comparison): Verdict[] {
  return verdictOrder.filter((verdict) => cells.some((cell) => cell.verdict === verdict));
}

/** The outcome in a few sentences with figures. */
export function describeOutcome(comparison: Comparison, nameOf = comparedNames(comparison)): string {
  switch (comparison.outcome) {
    case "pass":
    case "regression":
      return [...linkSentences(comparison), describeCells(comparison, nameOf)].join(" ");
    case "failed":
    case "mismatch":
      return [
        failureSentences[comparison.outcome],
        ...linkSentences(comparison),
        describeCells(comparison, nameOf),
      ].join(" ");
    case "inconclusive":
      return `Undecided, and --strict fails undecided cells. ${describeCells(comparison, nameOf)}`;
    case "not comparable":
      return `Not comparable: ${describeObstacle(comparison)}.`;
  }
}

const failureSentences = {
  failed: "A measurement failed.",
  mismatch: "Data came back wrong: take the machine out of use.",
} as const;

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

function linkSentences(comparison: Comparison): string[] {
  return describeLinkLosses(comparison).map((text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}

/** Another machine comes first, because it explains most: "On another machine (host a → b, another GPU …): ". */
function describeOtherMachine({ differences }: Comparison): string {
  if (!differences.some(({ isOtherMachine }) => isOtherMachine)) return "";
  const find = (name: string | undefined) => differences.find(({ fact }) => fact === name);
  const host = find(machineFacts.hostName);
  const gpu = `another GPU${find(factNames.gpu) === undefined ? " of the same model" : ""}`;
  if (host === undefined) return `On ${gpu}: `;
  const isOtherGpu = find(machineFacts.gpuUuids) !== undefined;
  return `On another machine (host ${host.baseline} → ${host.candidate}${isOtherGpu ? `, ${gpu}` : ""}): `;
}

/** Most failures that are named; the rest is counted. */
const mostFailures = 3;

function describeCells(comparison: Comparison, nameOf: NameOfCompared): string {
  if (comparison.cells.length === 0) return "No cell was compared.";
  return `${describeOtherMachine(comparison)}${describeVerdicts(comparison, nameOf)}`;
}

function describeVerdicts(comparison: Comparison, nameOf: NameOfCompared): string {
  const failures = failuresOf(comparison, nameOf);
  if (failures.length === 0) return describeWell(comparison);
  const more = failures.length - mostFailures;
  const sentences = [
    ...failures.slice(0, mostFailures).map(({ text }) => text),
    ...(more > 0 ? [`${more} more like ${more === 1 ? "it" : "these"} below`] : []),
  ];
  return sentences.map((sentence) => `${sentence}.`).join(" ");
}

/** If nothing fails: the detectable losses, and the number of cells with other verdicts. */
function describeWell(comparison: Comparison): string {
  const { cells, outcome } = comparison;
  const unprotected =
    outcome === "pass" ? " Exit code 0 is no pass here: --strict fails undecided cells." : "";
  const first = cells.some(isDecided)
    ? "Nothing is slower."
    : `Nothing could be decided: a loss of the threshold could be neither shown nor ruled out in any cell.${unprotected}`;
  const seen = whatWouldShow(comparison);
  const isPlain = cells.every(({ verdict }) => verdict === "not slower");
  return [
    first,
    ...(seen === null ? [] : [`${seen}.`]),
    ...(isPlain ? [] : [`${counted(cells.length, "cell")}: ${tally(comparison)}.`]),
  ].join(" ");
}

function describeObstacle(comparison: Comparison): string {
  const facts = comparison.differences.filter(({ blocks }) => blocks).map(({ fact }) => fact);
  if (facts.length > 0) return `${listed(facts)} ${facts.length === 1 ? "differs" : "differ"}`;
  return comparison.cells.length === 0 ? "no cell was compared" : tally(comparison);
}

/** The number of cells by verdict: "3 inconclusive, 57 not slower". */
function tally({ counts }: Comparison): string {
  return verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${verdict}`)
    .join(", ");
}

/** One sentence on the losses that a comparison could have detected. */

/** Largest multiple of the threshold at which a detectable loss still serves the threshold. */
const blindFactor = 2;

/** The detectable loss of the cells of one kind. */
interface KindSight {
  kind: string;
  /** The largest over its directions and devices; null if one of them has no known spread. */
  loss: number | null;
  /** Whether a loss near the threshold would go undetected. */
  isBlind: boolean;
}

/**
 * For each kind of memory, the detectable loss: "Pinned: a loss of 3.4 % would show; pageable and staged: a loss below
 * 15 % would not (…)". Null if there is none to report.
 */
export function whatWouldShow(comparison: Comparison): string | null {
  const kinds = kindsOf(comparison);
  if (kinds.length === 0) return null;
  const parts = [...groupBy(kinds, textOf)].map(
    ([text, members]) => `${listed(members.map(({ kind }) => kind))}: ${text}`,
  );
  const isBlind = kinds.some((kind) => kind.isBlind);
  return capital(`${parts.join("; ")}${isBlind ? ` (${advice(comparison)})` : ""}`);
}

/**
 * For each kind its groups, and the cells without one; those with detectable losses first. The host's are a control.
 */
function kindsOf({ cells, groups }: Comparison): KindSight[] {
  const isInGroup = new Set(groups.flatMap(({ ids, moved }) => ids.map((id) => `${id} ${moved}`)));
  const thresholdOf = ({ ids }: GroupComparison) =>
    Math.max(...cells.filter(({ id }) => ids.includes(id)).map(({ threshold }) => threshold));
  const sights = [
    ...groups.map((group) => ({
      kind: group.kind,
      loss: group.wouldShow,
      threshold: thresholdOf(group),
    })),
    ...cells
      .filter(
        (cell) =>
          cell.memory !== "host" &&
          cell.baseline !== null &&
          cell.candidate !== null &&
          !isInGroup.has(`${cell.id} ${cell.moved}`),
      )
      .map((cell) => ({
        kind: kindOf({ cell, unit: cell.unit }),
        loss: cell.wouldShow,
        threshold: cell.threshold,
      })),
  ];
  const kinds = [...groupBy(sights, ({ kind }) => kind)].map(([kind, members]): KindSight => {
    const losses = members.flatMap(({ loss }) => (loss !== null && Number.isFinite(loss) ? [loss] : []));
    const isUnknown = losses.length < members.length;
    return {
      kind,
      loss: isUnknown ? null : Math.max(...losses),
      isBlind: isUnknown || members.some(({ loss, threshold }) => loss! > blindFactor * threshold),
    };
  });
  return [...kinds.filter(({ isBlind }) => !isBlind), ...kinds.filter(({ isBlind }) => isBlind)];
}

/** Largest detectable loss that is reported as one. */
const largestLoss = 0.95;

function textOf({ loss, isBlind }: KindSight): string {
  if (loss === null || loss > largestLoss) return "no loss would show";
  const percent = formatWholeShare(loss, roundUp);
  return isBlind ? `a loss below ${percent} would not show` : `a loss of ${percent} would show`;
}

/** Advice for detecting smaller losses: more sessions of the baseline for a check, more runs for two results. */
function advice({ command, baseline }: Comparison): string {
  const { path } = baseline;
  if (command === "compare" || path === null)
    return "more runs on each side, on several occasions, show more";
  return path.endsWith(".json")
    ? "make a baseline of several sessions: `pinbench baseline FOLDER --sessions 4`"
    : `add sessions: \`pinbench baseline ${quoted(path)} --append\``;
}

/** Quoted for a shell. */
function quoted(path: string): string {
  return /^[\w./~+@%:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
