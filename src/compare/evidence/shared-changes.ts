import { median } from "../../stats/order-statistics.js";
import type { RunFigure, Series } from "../series.js";
import type { Evidence } from "./cell-evidence.js";
import { changeOf, judgedTogether, type LogChange } from "./change-estimate.js";
import { type HostPart, hasHostSpeeds } from "./host-covariate.js";
import { betweenOccasions } from "./occasion-noise.js";

/** Separates the shared change of the cells of one kind of memory from each cell's own. */

/** Fewest cells of a kind that separate an occasion's shared effect from a single cell's change. */
const fewestCells = 6;

/** The variance of a median of many normal values over that of their mean. */
const medianVariance = Math.PI / 2;

/**
 * If the noise between occasions is known, a cell that falls behind the others of its kind needs no occasion to explain
 * it: only its own offset affects its change relative to the others' median. The smaller of both p-values counts,
 * doubled for two tests. The one relative to the others counts only if most of the change is the cell's own. The
 * interval belongs to the p-value that counts.
 */
export function tellOwnFromShared(evidence: readonly Evidence[]): Evidence[] {
  const changes = evidence.map(({ overall }) => overall?.change ?? null);
  return evidence.map((one, i) => {
    const others = changes.filter((change, j) => change !== null && j !== i) as number[];
    if (others.length + 1 < fewestCells || one.occasionNoise === null) return one;
    const shared = median(others);
    const judge = (change: LogChange | null, explained: HostPart | null, runs: number) =>
      change &&
      withOwnChange(
        change,
        aboutOthers(one, change.change - shared, { explained, runs, others: others.length }),
      );
    const { first, fresh, explained, explainedOfFresh } = one.runs;
    // Only the suspects were measured again, so the first runs give the others' change for both.
    return {
      ...one,
      overall: judge(one.overall, explained, first.length + fresh.length),
      confirmation: judge(one.confirmation, explainedOfFresh, fresh.length),
    };
  });
}

/** A cell's change relative to the median of `others` others, over `runs` of the candidate's runs. */
function aboutOthers(
  evidence: Evidence,
  change: number,
  { explained, runs, others }: { explained: HostPart | null; runs: number; others: number },
): LogChange {
  const { variance, degreesOfFreedom } = evidence.noise!;
  const perRun = 1 / evidence.runs.baseline.length + 1 / runs;
  const scale = 1 + medianVariance / others;
  const { own } = betweenOccasions(evidence.occasionRuns, evidence.occasionNoise!);
  return changeOf(
    change,
    [
      { variance: variance * perRun * scale, degreesOfFreedom },
      { variance: explained?.variance ?? 0, degreesOfFreedom },
      { ...own, variance: own.variance * scale },
    ],
    (variance * scale) / runs,
  );
}

function withOwnChange(whole: LogChange, own: LogChange): LogChange {
  const isOwn = Math.abs(own.change) > Math.abs(whole.change) / 2;
  const counting = isOwn && own.error < whole.error ? { ...own, change: whole.change } : whole;
  const either = (p: number, pOfOwn: number) => Math.min(1, 2 * (isOwn ? Math.min(p, pOfOwn) : p));
  const halfWidth = (counting.high - counting.low) / 2;
  return {
    ...counting,
    low: whole.change - halfWidth,
    high: whole.change + halfWidth,
    chances: 2,
    pSlower: either(whole.pSlower, own.pSlower),
    pFaster: either(whole.pFaster, own.pFaster),
  };
}

/** Whether `judgeTogether()` has a mean for the `host` cells. */
export function areJudgedTogether(host: readonly Series[]): boolean {
  return host.every(hasHostSpeeds);
}

/**
 * Judges a device's `host` cells by their mean over each run, because they measure the same memory and the mean is more
 * certain than any of them. `judge` gathers the evidence on that mean of `cells` cells. The cells keep their own
 * changes with the mean's error, and each interval covers the mean's.
 */
export function judgeTogether(
  members: readonly Series[],
  evidence: readonly Evidence[],
  judge: (whole: Series, cells: number) => Evidence,
): Evidence[] {
  // Without a cell that every run measured, the means are not comparable.
  if (!areJudgedTogether(members)) return [...evidence];
  const meanOf = (figures: readonly RunFigure[]) =>
    figures.map((run) => ({ ...run, value: Math.exp(run.hostLogSpeed!) }));
  const wholes = new Map<number, Evidence>();
  for (const device of new Set(members.map(({ cell }) => cell.device))) {
    const ofDevice = members.filter(({ cell }) => cell.device === device);
    const [first] = ofDevice as [Series];
    if (ofDevice.length < 2) continue;
    const whole = {
      ...first,
      baseline: meanOf(first.baseline),
      first: meanOf(first.first),
      fresh: meanOf(first.fresh),
    };
    wholes.set(device, judge(whole, ofDevice.length));
  }
  return evidence.map((one, i) => {
    const whole = wholes.get(members[i]!.cell.device);
    return whole === undefined
      ? one
      : {
          ...one,
          overall: withErrorOf(one.overall, whole.overall),
          confirmation: withErrorOf(one.confirmation, whole.confirmation),
        };
  });
}

function withErrorOf(own: LogChange | null, whole: LogChange | null): LogChange | null {
  if (own === null || whole === null) return null;
  return judgedTogether({ ...whole, change: own.change, ofWhole: whole.change }, 1);
}
