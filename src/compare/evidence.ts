import { recordedSpreadOf } from "../results/recorded-spread.js";
import { holm } from "../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../stats/variance.js";
import { byOccasion, centreOf, type Evidence, evidenceOf } from "./cell-evidence.js";
import { controlForHost } from "./host-covariate.js";
import { type CellNoise, estimateNoise, fewestForCentre, outlierSpread, robustVariances } from "./noise.js";
import { estimateOccasionNoise, type OccasionCentres } from "./occasion-noise.js";
import { recordedOccasionNoise } from "./recorded-occasions.js";
import { kindOf, type Series } from "./series.js";
import { judgeTogether, tellOwnFromShared } from "./shared-changes.js";

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
    const ofKind = evidenceOfKind(members, kind, recorded?.[kind] ?? null, context);
    for (const [i, one] of members.entries()) evidence.set(one, ofKind[i]!);
  }
  adjust(inBoth.filter(({ cell }) => cell.memory !== "host").map((one) => evidence.get(one)!));
  adjust(
    inBoth.filter(({ cell }) => cell.memory === "host").map((one) => evidence.get(one)!),
    false,
  );
  return series.map((one) => evidence.get(one) ?? null);
}

/** Holm's correction over many cells; those of the host's memory are one thing, with one chance. */
function adjust(evidence: readonly Evidence[], isMany = true): void {
  const known = evidence.filter(({ overall }) => overall !== null);
  const correct = isMany ? holm : (pValues: number[]) => pValues;
  const slower = correct(known.map(({ overall }) => overall!.pSlower));
  const faster = correct(known.map(({ overall }) => overall!.pFaster));
  for (const [i, one] of known.entries()) one.adjusted = { slower: slower[i]!, faster: faster[i]! };
}

/** The evidence on the series of one kind, in their order. */
function evidenceOfKind(
  members: readonly Series[],
  kind: string,
  recorded: VarianceEstimate | null,
  context: EvidenceContext,
): Evidence[] {
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
  if (kind !== "host") return tellOwnFromShared(evidence);
  return judgeTogether(members, evidence, (whole) => evidenceOfKind([whole], kind, null, context)[0]!);
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
