import { median } from "../stats/order-statistics.js";
import type { Evidence } from "./cell-evidence.js";
import { changeOf, type LogChange } from "./change-estimate.js";
import { betweenOccasions } from "./occasion-noise.js";
import type { RunFigure, Series } from "./series.js";

/** What the cells of one kind of memory share of their changes, and what of them is each cell's own. */

/** With fewer cells of a kind, what an occasion does to all of them is not told from what one of them does alone. */
const fewestCells = 6;

/** The variance of a median of many normal values over that of their mean. */
const medianVariance = Math.PI / 2;

/**
 * Where the noise between occasions is known, a cell that falls behind the others of its kind needs no occasion to
 * explain it: its change about theirs (their median) has only the offsets in it that are its own. The smaller of both
 * p-values counts, twice, for there were two chances; the one about the others only where most of the change is the cell's own.
 */
export function tellOwnFromShared(evidence: readonly Evidence[]): Evidence[] {
  const changes = evidence.map(({ overall }) => overall?.change ?? null);
  return evidence.map((one, i) => {
    const others = changes.filter((change, j) => change !== null && j !== i) as number[];
    if (others.length + 1 < fewestCells || one.occasionNoise === null) return one;
    const shared = median(others);
    const judge = (change: LogChange | null, runs: number) =>
      change && withOwnChange(change, aboutOthers(one, change.change - shared, runs, others.length));
    const { first, fresh } = one.runs;
    // Only the suspects were measured again: how the others changed, the first runs tell for both.
    return {
      ...one,
      overall: judge(one.overall, first.length + fresh.length),
      confirmation: judge(one.confirmation, fresh.length),
    };
  });
}

/** A cell's change about the median of so many others, which `runs` of the candidate's runs show. */
function aboutOthers(evidence: Evidence, change: number, runs: number, others: number): LogChange {
  const { variance, degreesOfFreedom } = evidence.noise!;
  const perRun = 1 / evidence.runs.baseline.length + 1 / runs;
  return changeOf(change, [
    { variance: variance * perRun * (1 + medianVariance / others), degreesOfFreedom },
    { variance: evidence.runs.explainedVariance, degreesOfFreedom },
    betweenOccasions(evidence.occasionRuns, evidence.occasionNoise!).own,
  ]);
}

function withOwnChange(whole: LogChange, own: LogChange): LogChange {
  const isOwn = Math.abs(own.change) > Math.abs(whole.change) / 2;
  const either = (p: number, pOfOwn: number) => Math.min(1, 2 * (isOwn ? Math.min(p, pOfOwn) : p));
  return {
    ...whole,
    pSlower: either(whole.pSlower, own.pSlower),
    pFaster: either(whole.pFaster, own.pFaster),
  };
}

/**
 * The host's memory is one thing: the chance that its cells did not change is that of their mean over each run, which is
 * surer than any of them. `judge` gathers the evidence on that mean; the cells keep their own changes.
 */
export function judgeTogether(
  members: readonly Series[],
  evidence: readonly Evidence[],
  judge: (whole: Series) => Evidence,
): Evidence[] {
  const [first] = members as [Series];
  const all = members.flatMap(({ baseline, first, fresh }) => [...baseline, ...first, ...fresh]);
  // Where a run lacks one of the cells, the mean over the others is no control.
  if (members.length < 2 || all.some(({ hostLogSpeed }) => hostLogSpeed === null)) return [...evidence];
  const meanOf = (figures: readonly RunFigure[]) =>
    figures.map((run) => ({ ...run, value: Math.exp(run.hostLogSpeed!) }));
  const whole = judge({
    ...first,
    baseline: meanOf(first.baseline),
    first: meanOf(first.first),
    fresh: meanOf(first.fresh),
  });
  const withChances = (own: LogChange | null, of: LogChange | null) =>
    own && of && { ...own, pSlower: of.pSlower, pFaster: of.pFaster };
  return evidence.map((one) => ({
    ...one,
    overall: withChances(one.overall, whole.overall),
    confirmation: withChances(one.confirmation, whole.confirmation),
  }));
}
