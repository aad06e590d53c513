import { areRecorded, recordedSpread } from "../results/recorded-spread.js";
import { holm } from "../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../stats/variance.js";
import { byOccasion, centresByOccasion, type Evidence, evidenceOf } from "./cell-evidence.js";
import { controlForHost } from "./host-covariate.js";
import { type CellNoise, estimateNoise, fewestForCentre, outlierSpread, robustVariances } from "./noise.js";
import { estimateOccasionNoise, type OccasionCentres, type OccasionNoise } from "./occasion-noise.js";
import { recordedOccasionNoise } from "./recorded-occasions.js";
import { type JoinedRuns, kindOf, type Series } from "./series.js";
import { areJudgedTogether, judgeTogether, tellOwnFromShared } from "./shared-changes.js";

/** What is known beyond the runs that are compared. */
export interface EvidenceContext {
  /** Of the devices that the baseline was measured on. */
  deviceNames: readonly string[];
  /** Whether other programs of the machine were busy while the candidate was measured, and not before. */
  isLoaded: boolean;
  /** Earlier occasions from a history, by kind. */
  history?: Readonly<Record<string, OccasionCentres>>;
}

/**
 * The evidence on each series, in their order; null for one that either side lacks. What was recorded stands in for
 * what too few runs or occasions cannot tell, but only on the GPUs that were recorded.
 */
export function gatherEvidence(
  { series, hostErrorVariance }: Pick<JoinedRuns, "series" | "hostErrorVariance">,
  context: EvidenceContext,
): (Evidence | null)[] {
  const isRecorded = areRecorded(context.deviceNames);
  const inBoth = series.filter(({ baseline, first }) => baseline.length > 0 && first.length > 0);
  const [host, others] = [true, false].map((isHost) =>
    inBoth.filter(({ cell }) => (cell.memory === "host") === isHost),
  ) as [Series[], Series[]];
  const evidence = new Map<Series, Evidence>();
  for (const kind of new Set(inBoth.map(kindOf))) {
    const members = inBoth.filter((one) => kindOf(one) === kind);
    const ofKind = evidenceOfKind(members, {
      recorded: (isRecorded && recordedSpread[kind]) || null,
      recordedOccasions: (isRecorded && recordedOccasionNoise[kind]) || null,
      history: context.history?.[kind] ?? [],
      hostErrorVariance,
      isLoaded: context.isLoaded,
    });
    for (const [i, one] of members.entries()) evidence.set(one, ofKind[i]!);
  }
  adjust(
    others.map((one) => evidence.get(one)!),
    holm,
  );
  adjust(
    host.map((one) => evidence.get(one)!),
    areJudgedTogether(host) ? (pValues) => onceADevice(pValues, host) : holm,
  );
  return series.map((one) => evidence.get(one) ?? null);
}

/** The host's memory is one thing for each device, however many cells measured it: so many chances of a false alarm. */
function onceADevice(pValues: readonly number[], host: readonly Series[]): number[] {
  const devices = new Set(host.map(({ cell }) => cell.device)).size;
  return pValues.map((pValue) => Math.min(1, pValue * devices));
}

function adjust(evidence: readonly Evidence[], correct: (pValues: number[]) => number[]): void {
  const known = evidence.filter(({ overall }) => overall !== null);
  const slower = correct(known.map(({ overall }) => overall!.pSlower));
  const faster = correct(known.map(({ overall }) => overall!.pFaster));
  for (const [i, one] of known.entries()) one.adjusted = { slower: slower[i]!, faster: faster[i]! };
}

/** What is known of a kind beyond its series. */
interface KindContext extends Pick<EvidenceContext, "isLoaded"> {
  /** Recorded noise of one run's median. */
  recorded: VarianceEstimate | null;
  recordedOccasions: OccasionNoise | null;
  history: OccasionCentres;
  hostErrorVariance: number;
}

/** The evidence on the series of one kind, in their order. */
function evidenceOfKind(members: readonly Series[], context: KindContext): Evidence[] {
  const { recorded, recordedOccasions, history, hostErrorVariance, isLoaded } = context;
  const kind = kindOf(members[0]!);
  const isHost = kind === "host";
  const runs = controlForHost(members, kind, hostErrorVariance);
  const ofBaseline = byOccasion(
    members,
    runs.map(({ baseline }) => baseline),
  );
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
  const centres = centresByOccasion(ofBaseline, noise);
  // A load that can be seen is the reason why the host is slower: no unknown offset of an occasion has to be allowed for.
  const occasionNoise =
    isHost && isLoaded ? null : estimateOccasionNoise([centres, history], recordedOccasions);
  const robust = robustVariances(ofBaseline, recorded);
  const evidence = members.map((one, i) => ({
    ...evidenceOf(one, runs[i]!, noise[i]!, occasionNoise),
    baselineVariance: robust[i]?.variance ?? null,
  }));
  if (!isHost) return tellOwnFromShared(evidence);
  return judgeTogether(members, evidence, (whole) => evidenceOfKind([whole], context)[0]!);
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
