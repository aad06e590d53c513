import { formatWholeShare, roundUp } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { capital, listed } from "../../draw/words.js";
import { kindOf } from "../../results/variant.js";
import type { Comparison, GroupComparison } from "../comparison.js";

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
