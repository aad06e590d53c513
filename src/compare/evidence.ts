import { recordedSpreadOf } from "../results/recorded-spread.js";
import { holm } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import { mean, type VarianceEstimate, winsorizedMoments } from "../stats/variance.js";
import { changeOf, estimateChange, type LogChange } from "./change-estimate.js";
import { type ControlledSeries, controlForHost } from "./host-covariate.js";
import { type CellNoise, estimateNoise, fewestForCentre, outlierSpread, robustVariances } from "./noise.js";
import { estimateOccasionNoise, type OccasionCentres, type OccasionNoise } from "./occasion-noise.js";
import { recordedOccasionNoise } from "./recorded-occasions.js";
import { kindOf, type RunFigure, type Series } from "./series.js";

/**
 * What the runs say of one series, without what the host's memory explains. All figures are logarithms of speed: of
 * throughput, or of the inverse of latency.
 */
export interface Evidence {
  /** A figure for each run. */
  runs: ControlledSeries;
  /** Robust mean of the baseline's runs. */
  baseline: number;
  /** Robust mean of all of the candidate's runs. */
  candidate: number;
  /** Robust mean of the confirming runs alone; null where there are none. */
  fresh: number | null;
  /** Null where the noise between runs is not known. */
  noise: CellNoise | null;
  /**
   * The robust variance of one of the baseline's runs, by which slow runs of the candidate are told; null where that side
   * does not tell.
   */
  baselineVariance: number | null;
  /** Null where the noise between occasions is not known. */
  occasionNoise: OccasionNoise | null;
  /** The change that all of the candidate's runs show; null without noise. */
  overall: LogChange | null;
  /** The p-values of `overall` after Holm's correction over all series; null without noise. */
  adjusted: { slower: number; faster: number } | null;
  /** The change that the confirming runs alone show; null without noise or without such runs. */
  confirmation: LogChange | null;
}

/** What is known beyond the runs that are compared. */
export interface EvidenceContext {
  isGpu: boolean;
  /** Of the devices that the baseline was measured on. */
  deviceNames: readonly string[];
  /** Earlier occasions from a history, by kind. */
  history?: Readonly<Record<string, OccasionCentres>>;
}

/**
 * The evidence on each series, in their order; null for one that either side lacks. What was recorded stands in for
 * what too few runs or occasions cannot tell, but only for a GPU: nothing is recorded of an emulated device.
 */
export function gatherEvidence(series: readonly Series[], context: EvidenceContext): (Evidence | null)[] {
  const recorded = context.isGpu ? recordedSpreadOf(context.deviceNames) : null;
  const inBoth = series.filter(({ baseline, first }) => baseline.length > 0 && first.length > 0);
  const evidence = new Map<Series, Evidence>();
  for (const kind of new Set(inBoth.map(kindOf))) {
    const members = inBoth.filter((one) => kindOf(one) === kind);
    for (const [one, found] of evidenceOfKind(members, kind, recorded?.[kind] ?? null, context))
      evidence.set(one, found);
  }
  const withNoise = inBoth.map((one) => evidence.get(one)!).filter(({ overall }) => overall !== null);
  const slower = holm(withNoise.map(({ overall }) => overall!.pSlower));
  const faster = holm(withNoise.map(({ overall }) => overall!.pFaster));
  for (const [i, one] of withNoise.entries()) one.adjusted = { slower: slower[i]!, faster: faster[i]! };
  return series.map((one) => evidence.get(one) ?? null);
}

function evidenceOfKind(
  members: readonly Series[],
  kind: string,
  recorded: VarianceEstimate | null,
  context: EvidenceContext,
): Map<Series, Evidence> {
  const { isGpu, history } = context;
  const runs = controlForHost(members, members[0]!.cell.memory);
  const ofBaseline = members.map((one, i) => byOccasion(one, runs[i]!.baseline));
  const cells = members.map((_, i) => ({
    kind,
    groups: [...ofBaseline[i]!, runs[i]!.first, runs[i]!.fresh],
  }));
  const own = estimateNoise(cells, recorded === null ? null : { [kind]: recorded });
  const withOutliers = outlierSpread(
    cells.map(({ groups }) => groups),
    recorded,
  );
  const noise = members.map((one, i) =>
    hasFewRuns(one) ? widened(own[i]!, withOutliers, recorded) : own[i]!,
  );
  const centres = ofBaseline.map((groups, i) =>
    groups.filter(({ length }) => length > 0).map((group) => centreOf(group, noise[i]!)),
  );
  const occasionNoise = estimateOccasionNoise(
    [centres, ...(history?.[kind] === undefined ? [] : [history[kind]])],
    isGpu ? (recordedOccasionNoise[kind] ?? null) : null,
  );
  const robust = robustVariances(ofBaseline, recorded);
  const evidence = members.map((one, i) => ({
    ...evidenceOf(one, runs[i]!, noise[i]!, occasionNoise),
    baselineVariance: robust[i]?.variance ?? null,
  }));
  if (occasionNoise !== null) addOwnChanges(members, evidence, occasionNoise);
  if (kind === "host" && members.length > 1) shareChange(members, evidence, context);
  return new Map(members.map((one, i) => [one, evidence[i]!]));
}

/**
 * The host's memory is one thing, and its cells are judged together: the chance that nothing changed is that of their mean
 * over each run, which is surer than any of them.
 */
function shareChange(
  members: readonly Series[],
  evidence: readonly Evidence[],
  context: EvidenceContext,
): void {
  const [first] = members as [Series];
  if (
    members.some(
      (one) => one.baseline.length !== first.baseline.length || one.first.length !== first.first.length,
    )
  )
    return;
  const meanOf = (figures: readonly RunFigure[]) =>
    figures.map((run) => ({ ...run, value: Math.exp(run.hostLogSpeed ?? Number.NaN) }));
  const whole = {
    ...first,
    baseline: meanOf(first.baseline),
    first: meanOf(first.first),
    fresh: meanOf(first.fresh),
  };
  if ([...whole.baseline, ...whole.first, ...whole.fresh].some(({ value }) => Number.isNaN(value))) return;
  const together = evidenceOfKind([whole], "host", null, context).get(whole)!;
  for (const one of evidence) {
    for (const part of ["overall", "confirmation"] as const) {
      if (one[part] === null || together[part] === null) continue;
      const { pSlower, pFaster } = together[part];
      one[part] = { ...one[part], pSlower, pFaster };
    }
  }
}

/** The figures of a series' baseline, by the occasion on which they were measured. */
function byOccasion({ baseline }: Series, figures: readonly number[]): number[][] {
  const occasions = Math.max(...baseline.map(({ occasion }) => occasion + 1));
  return Array.from({ length: occasions }, (_, i) =>
    figures.filter((_figure, run) => baseline[run]!.occasion === i),
  );
}

function hasFewRuns({ baseline, first, fresh }: Series): boolean {
  return Math.min(baseline.length, first.length + fresh.length) < fewestForCentre;
}

/** The noise where a side has so few runs that they may all be outliers: no less than `withOutliers`. */
function widened(
  noise: CellNoise | null,
  withOutliers: VarianceEstimate | null,
  recorded: VarianceEstimate | null,
): CellNoise | null {
  if (noise === null || withOutliers === null) return null;
  if (withOutliers.variance <= noise.variance) return noise;
  return { ...noise, ...withOutliers, source: withOutliers === recorded ? "recorded" : "these runs" };
}

/** The centre of some runs' logarithms of speed: a winsorized mean, or their median where the noise is not known. */
export function centreOf(logs: readonly number[], noise: Pick<CellNoise, "robustVariance"> | null): number {
  return winsorizedMoments(logs, noise?.robustVariance ?? 0).mean;
}

function evidenceOf(
  series: Series,
  runs: ControlledSeries,
  noise: CellNoise | null,
  occasionNoise: OccasionNoise | null,
): Omit<Evidence, "baselineVariance"> {
  const occasions = byOccasion(series, runs.baseline).filter(({ length }) => length > 0);
  // Each occasion has its own centre: an outlier of one is not told by the runs of another.
  const baseline = mean(occasions.flatMap((group) => group.map(() => centreOf(group, noise))));
  const all = [...runs.first, ...runs.fresh];
  const changeTo = (logs: readonly number[]) =>
    noise === null || logs.length === 0
      ? null
      : estimateChange(
          { baseline, candidate: centreOf(logs, noise) },
          { baseline: runs.baseline.length, candidate: logs.length },
          noise,
          [
            { variance: runs.explainedVariance, degreesOfFreedom: noise.degreesOfFreedom },
            ...betweenOccasions(occasions, occasionNoise),
          ],
        );
  return {
    runs,
    baseline,
    candidate: centreOf(all, noise),
    fresh: runs.fresh.length === 0 ? null : centreOf(runs.fresh, noise),
    noise,
    occasionNoise,
    overall: changeTo(all),
    adjusted: null,
    confirmation: changeTo(runs.fresh),
  };
}

/** What the offsets of the baseline's occasions and of the candidate's add to the variance of a change. */
function betweenOccasions(
  occasions: readonly (readonly number[])[],
  noise: OccasionNoise | null,
): VarianceEstimate[] {
  if (noise === null) return [];
  const times = 1 + occasionShare(occasions);
  return [noise.shared, noise.own].map(({ variance, degreesOfFreedom }) => ({
    variance: variance * times,
    degreesOfFreedom,
  }));
}

/** The variance of the mean of offsets of 1, each weighted by the runs of its occasion: 1/3 for three alike. */
function occasionShare(occasions: readonly (readonly number[])[]): number {
  const runs = occasions.reduce((sum, { length }) => sum + length, 0);
  return occasions.reduce((sum, { length }) => sum + (length / runs) ** 2, 0);
}

/** With fewer cells of a kind, what an occasion does to all of them is not told from what one of them does alone. */
const fewestForShared = 6;

/**
 * Where the noise between occasions is known, a cell that falls behind the others of its kind needs no occasion to
 * explain it: the change about their median has only the cell's own offsets in it. The smaller p-value of the two
 * counts, twice, for there were two chances; that about the others only where more than half of the change is the cell's own.
 */
function addOwnChanges(
  series: readonly Series[],
  evidence: readonly Evidence[],
  occasionNoise: OccasionNoise,
): void {
  const known = evidence.filter(({ overall }) => overall !== null);
  if (known.length < fewestForShared) return;
  const combined = evidence.map(({ overall, confirmation, noise, runs }, i) => {
    const { baseline } = series[i]!;
    const occasions = byOccasion(series[i]!, runs.baseline);
    const within = (logs: number) => (noise?.variance ?? 0) * (1 / baseline.length + 1 / logs);
    const apart = (own: LogChange | null, changes: readonly number[], logs: number) => {
      if (own === null || changes.length < fewestForShared) return own;
      const shared = median(changes);
      const error = within(logs) * (1 + medianVariance / changes.length);
      const about = changeOf(own.change - shared, [
        { variance: error, degreesOfFreedom: noise!.degreesOfFreedom },
        {
          variance: occasionNoise.own.variance * (1 + occasionShare(occasions)),
          degreesOfFreedom: occasionNoise.own.degreesOfFreedom,
        },
      ]);
      const isOwn = Math.abs(about.change) > Math.abs(own.change) / 2;
      const smaller = (whole: number, part: number) => Math.min(1, 2 * Math.min(whole, isOwn ? part : 1));
      return {
        ...own,
        pSlower: smaller(own.pSlower, about.pSlower),
        pFaster: smaller(own.pFaster, about.pFaster),
      };
    };
    const others = (which: "overall" | "confirmation") =>
      evidence.flatMap((one, j) => (j === i || one[which] === null ? [] : [one[which].change]));
    return {
      overall: apart(overall, others("overall"), runs.first.length + runs.fresh.length),
      // Only the suspects were measured again: how the others changed, the first runs say.
      confirmation: apart(confirmation, others("overall"), runs.fresh.length),
    };
  });
  for (const [i, one] of evidence.entries()) Object.assign(one, combined[i]);
}

/** The variance of a median of normal samples over that of their mean. */
const medianVariance = Math.PI / 2;
