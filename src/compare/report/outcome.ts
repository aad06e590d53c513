import { formatChange, formatWholeShare, roundUp } from "../../draw/numbers.js";
import type { Tone } from "../../draw/report.js";
import { capital, counted, listed } from "../../draw/words.js";
import { groupBy } from "../../stats/group-by.js";
import { comparedNames, groupName } from "../compared-names.js";
import {
  type Comparison,
  type ComparisonOutcome,
  factNames,
  type GroupComparison,
  isFailing,
  isOpen,
  machineFacts,
  type Verdict,
} from "../comparison.js";
import { priorOf } from "../noise.js";

export const verdictMeaning: Readonly<Record<Verdict, string>> = {
  slower: "a loss beyond the threshold and the noise",
  unsteady: "single runs or copies are much slower, more often than in the baseline",
  undecided: "slower than the threshold, but the noise is too large to tell",
  missing: "in the baseline, without a figure in the candidate",
  "not slower": "no loss beyond the threshold and the noise",
  faster: "a gain beyond the threshold and the noise",
  new: "only in the candidate",
};

export const verdictTone: Readonly<Record<Verdict, Tone>> = {
  slower: "failure",
  unsteady: "failure",
  undecided: "warning",
  missing: "warning",
  "not slower": "muted",
  faster: "plain",
  new: "plain",
};

export const outcomeTone: Readonly<Record<ComparisonOutcome, Tone>> = {
  pass: "plain",
  regression: "failure",
  failed: "failure",
  mismatch: "mismatch",
  "not comparable": "failure",
  undecided: "warning",
};

/** The outcome in at most three sentences, the most important first. */
export function headline(comparison: Comparison): string[] {
  const { outcome } = comparison;
  const obstacle = obstacleSentence(comparison);
  if (outcome === "not comparable") return [obstacle!];
  const lines = [
    obstacle,
    linkSentence(comparison),
    `${otherMachine(comparison)}${verdictSentence(comparison)}`,
    hostSentence(comparison),
    assumption(comparison),
  ];
  return lines.filter((line) => line !== null).slice(0, mostLines);
}

const mostLines = 3;

export function describeOutcome(comparison: Comparison): string {
  return headline(comparison).join(" ");
}

function obstacleSentence({ outcome, differences }: Comparison): string | null {
  if (outcome === "failed") return "Measuring failed or did not finish.";
  if (outcome === "mismatch") return "Data came back wrong: take the machine out of use.";
  if (outcome !== "not comparable") return null;
  const facts = differences.filter(({ blocks }) => blocks).map(({ fact }) => fact);
  return `Not comparable: ${listed(facts)} ${facts.length === 1 ? "differs" : "differ"}.`;
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

function linkSentence(comparison: Comparison): string | null {
  const losses = describeLinkLosses(comparison);
  return losses.length === 0 ? null : `Slower link: ${losses.join("; ")}.`;
}

/** "Another machine (host a → b, another GPU …). ", which precedes the verdict because it explains most. */
function otherMachine({ differences }: Comparison): string {
  if (!differences.some(({ isOtherMachine }) => isOtherMachine)) return "";
  const find = (name: string | undefined) => differences.find(({ fact }) => fact === name);
  const host = find(machineFacts.hostName);
  const gpu = `another GPU${find(factNames.gpu) === undefined ? " of the same model" : ""}`;
  if (host === undefined) return `${capital(gpu)}. `;
  const isOtherGpu = find(machineFacts.gpuUuids) !== undefined;
  return `Another machine (host ${host.baseline} → ${host.candidate}${isOtherGpu ? `, ${gpu}` : ""}). `;
}

const mostNamed = 3;

function verdictSentence(comparison: Comparison): string {
  const { groups, cells, rule, linkLosses } = comparison;
  const of = (verdict: Verdict) => byLoss(groups.filter((group) => group.verdict === verdict));
  const failing = (["slower", "unsteady"] as const).flatMap((verdict) => {
    const members = of(verdict);
    return members.length === 0 ? [] : [`${verdict}: ${namedGroups(members, comparison)}`];
  });
  if (failing.length > 0) return `${capital(failing.join("; "))}.`;
  const compared = groups.filter(({ verdict, runs }) => verdict !== null && runs !== null);
  if (compared.length === 0) {
    const hasHost = groups.some(({ runs }) => runs !== null);
    return `Undecided: ${hasHost ? "host memory alone is not judged" : "nothing was measured on both sides"}.`;
  }
  const open = byLoss(groups.filter((group) => isOpen(group, rule)));
  if (open.length > 0) {
    const isNoisy = open.some(({ verdict }) => verdict === "undecided");
    return `Undecided: ${namedGroups(open, comparison)}.${isNoisy ? ` ${advice(comparison)}` : ""}`;
  }
  const unmatched = cells.filter(
    ({ memory, baseline, candidate }) => memory !== "host" && (baseline === null || candidate === null),
  );
  const { size } = new Set(unmatched.map(({ id }) => id));
  const left = size === 0 ? "" : ` (not compared: ${counted(size, "cell")} on one side only)`;
  return `${linkLosses === undefined ? "Nothing is" : "Copies are not"} slower${left}. ${wouldShow(compared)}`;
}

function byLoss(groups: readonly GroupComparison[]): GroupComparison[] {
  return [...groups].sort((a, b) => (a.change ?? 0) - (b.change ?? 0));
}

function namedGroups(members: readonly GroupComparison[], comparison: Comparison): string {
  const named = members.slice(0, mostNamed).map((group) => describeGroup(group, comparison));
  const more = members.length - named.length;
  return listed([...named, ...(more > 0 ? [`${more} more`] : [])]);
}

/** "H2D pinned −9.8 %", or another finding: slow runs, slow copies, single cells, no figures. */
function describeGroup(group: GroupComparison, comparison: Comparison): string {
  const { change, changeOverTime, slowRuns, basis, verdict, ids, missing } = group;
  const name = groupName(group, comparison.groups);
  if (change === null) return `${name} (no figures)`;
  if (basis === "single cells") return describeCells(group, comparison);
  if (basis === "slow runs" && slowRuns !== null) {
    const { baseline, candidate } = slowRuns;
    return `${name} (${candidate.slow} of ${candidate.runs} runs much slower, baseline ${baseline.slow} of ${baseline.runs})`;
  }
  if (basis === "slow copies" && changeOverTime !== null) {
    return `${name} ${formatChange(changeOverTime, "down")} over time by slow copies`;
  }
  const isLacking = missing.length > 0 && !isFailing(group) && verdict !== "undecided";
  if (isLacking) return `${name} (no figures of ${missing.length} in ${counted(ids.length, "cell")})`;
  return `${name} ${formatChange(change, "down")}`;
}

/** Cells that are slower than their group: "H2D pinned 64 MiB −9.8 % (of 6 cells)". */
function describeCells({ ids, moved, slowerAlone }: GroupComparison, comparison: Comparison): string {
  const nameOf = comparedNames(comparison);
  const cells = comparison.cells.filter((cell) => cell.moved === moved && slowerAlone.includes(cell.id));
  const named = cells.slice(0, mostNamed).map((cell) => {
    const { change, unit } = cell;
    return `${nameOf(cell)}${change === null ? "" : ` ${formatChange(change, unit === "us" ? "up" : "down")}`}`;
  });
  const more = cells.length > named.length ? [`${cells.length - named.length} more`] : [];
  return `${listed([...named, ...more])} (of ${counted(ids.length, "cell")})`;
}

/** Host memory explains a loss if its own loss is at least this share of it (as logarithms). */
const explainingShare = 0.75;

/** The change of host memory; null unless the CPU copies the slowest group and no link is slower. */
function hostSentence({ groups, linkLosses }: Comparison): string | null {
  const [first] = byLoss(groups.filter(({ verdict }) => verdict === "slower"));
  if (first?.basis !== "change" || first.hostChange === null || linkLosses !== undefined) return null;
  const isWholeStory = groups.filter(isFailing).every(isOfHostMemory);
  const host = `Host memory ${formatChange(first.hostChange, "down")}`;
  return `${host} ${isWholeStory ? "too: the machine's memory, not the link" : "at the same time"}.`;
}

function isOfHostMemory({ basis, change, hostChange }: GroupComparison): boolean {
  if (basis !== "change" || change === null || hostChange === null) return false;
  return Math.log1p(hostChange) <= explainingShare * Math.log1p(change);
}

/** "A loss of 3.4 % would show in pinned, of 28 % in pageable and staged." */
function wouldShow(groups: readonly Pick<GroupComparison, "kind" | "wouldShow">[]): string {
  const kinds = [...groupBy(groups, ({ kind }) => kind)].map(([kind, members]) => ({
    kind,
    loss: formatWholeShare(Math.max(...members.map((group) => group.wouldShow ?? 1)), roundUp),
  }));
  const parts = [...groupBy(kinds, ({ loss }) => loss)].map(
    ([loss, members], i) =>
      `${i === 0 ? `A loss of ${loss} would show` : `of ${loss}`} in ${listed(members.map(({ kind }) => kind))}`,
  );
  return `${parts.join(", ")}.`;
}

/** A note that noise between sessions is assumed, because the baseline has only one. */
function assumption({ backend, groups, cells }: Comparison): string | null {
  const judged = groups.filter(({ runs, verdict }) => runs?.sessions === 1 && verdict !== null);
  const priors = cells
    .filter(({ id }) => judged.some(({ ids }) => ids.includes(id)))
    .map((cell) => priorOf(cell, backend));
  if (priors.length === 0) return null;
  const differ = [...new Set(priors)].map(
    ({ name, betweenSessions }) => `${formatWholeShare(betweenSessions)} (${name})`,
  );
  return `The baseline has one session. It is assumed that sessions differ by no more than ${listed(differ)}.`;
}

/** Advice for a decision: more sessions for a baseline, more runs for two results. */
function advice({ command, baseline, groups }: Comparison): string {
  const { path } = baseline;
  if (command === "compare" || path === null) {
    const runs = groups.flatMap((group) => (group.runs === null ? [] : Object.values(group.runs)));
    return `Use ${2 * Math.max(...runs)} runs on each side, in several sessions.`;
  }
  return path.endsWith(".json")
    ? "Make a baseline of several sessions: `pinbench baseline FOLDER --sessions 4`."
    : `While the machine is healthy, add sessions: \`pinbench baseline ${quoted(path)} --append\`.`;
}

function quoted(path: string): string {
  return /^[\w./~+@%:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
