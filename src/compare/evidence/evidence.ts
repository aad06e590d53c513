import { areRecorded, recordedSpread } from "../../results/recorded-spread.js";
import { holm } from "../../stats/hypothesis-tests.js";
import type { VarianceEstimate } from "../../stats/variance.js";
import { type GroupSeries, groupsOf, wholeOf } from "../groups.js";
import { type JoinedRuns, kindOf, type Series } from "../series.js";
import { byOccasion, centresByOccasion, type Evidence, evidenceOf } from "./cell-evidence.js";
import { judgedTogether } from "./change-estimate.js";
import { controlForHost, hasControl } from "./host-covariate.js";
import { type CellNoise, estimateNoise, fewestForCentre, outlierSpread, robustVariances } from "./noise.js";
import { estimateOccasionNoise, type OccasionCentres, type OccasionNoise } from "./occasion-noise.js";
import { startingOccasionNoise } from "./recorded-occasions.js";
import { areJudgedTogether, judgeTogether, tellOwnFromShared } from "./shared-changes.js";
import { usualUnevenness } from "./uneven-runs.js";

/**
 * The intervals of all cells, of all groups and of the host hold at once: each family has a part of the 5 % by which one
 * may not, 1 / `chancesOf`, together less than all of it. Groups have the most, as few occasions make their intervals wide;
 * cells that fall alone are told by their like. By simulation (bench/regress) alarms without a change stay below 1 % of checks.
 */
export const chancesOf = { cells: 4, groups: 1.75, host: 7 };

/** What is known beyond the runs that are compared. */
export interface EvidenceContext {
  /** Of the devices that the baseline was measured on. */
  deviceNames: readonly string[];
  /** Whether other programs of the machine were busy while the candidate was measured, and not before. */
  isLoaded: boolean;
  /** Earlier occasions from a history: for each kind a source for each machine. */
  history?: Readonly<Record<string, readonly OccasionCentres[]>>;
}

/** What the cells of one kind and direction did together. */
export interface GroupEvidence extends GroupSeries {
  /** The median of the members' speeds about their baselines, run by run, as a series. */
  whole: Series;
  /** On that median, without what the host's memory explains. */
  evidence: Evidence;
  /** The same with what the host's memory explains; null for a group that has no control. */
  withHost: Evidence | null;
}

/** The evidence on all series of a comparison. */
export interface GatheredEvidence {
  /** In the order of the series; null for one that either side lacks. */
  cells: (Evidence | null)[];
  groups: GroupEvidence[];
}

/**
 * The evidence on each series that both sides have, and on what those of one kind and direction did together; only on those
 * of the kinds of `asked`, if that is given. What is not asked counts in the correction as the chance of an alarm that it is.
 */
export function gatherEvidence(
  joined: Joined,
  context: EvidenceContext,
  asked: ReadonlySet<Series> | null = null,
): GatheredEvidence {
  const { others, contextOf } = taken(joined, context);
  const evidence = evidenceOnCells(joined, context, asked);
  const all = groupsOf(others);
  const groups = all
    .filter(({ members }) => members.every((one) => evidence.has(one)))
    .map((group) => {
      const [first] = group.members as [Series];
      return evidenceOfGroup(group, { ...contextOf(first), occasions: evidence.get(first)!.occasionNoise });
    });
  const judged = groups.flatMap((group) => [
    group.evidence,
    ...(group.withHost === null ? [] : [group.withHost]),
  ]);
  const tests = all.length + all.filter(({ members }) => hasControl(members[0]!)).length;
  adjust(judged, holm, chancesOf.groups * tests);
  return { cells: joined.series.map((one) => evidence.get(one) ?? null), groups };
}

function evidenceOnCells(
  joined: Joined,
  context: EvidenceContext,
  asked: ReadonlySet<Series> | null,
): Map<Series, Evidence> {
  const { inBoth, host, others, contextOf } = taken(joined, context);
  const evidence = new Map<Series, Evidence>();
  for (const kind of new Set(inBoth.filter((one) => asked?.has(one) ?? true).map(kindOf))) {
    const members = inBoth.filter((one) => kindOf(one) === kind);
    const ofKind = evidenceOfKind(members, contextOf(members[0]!));
    for (const [i, one] of members.entries()) evidence.set(one, ofKind[i]!);
  }
  const known = (some: readonly Series[]) => some.flatMap((one) => evidence.get(one) ?? []);
  adjust(known(others), holm, chancesOf.cells * others.length);
  const devices = new Set(host.map(({ cell }) => cell.device)).size;
  if (areJudgedTogether(host)) {
    // The host's memory is one thing for each device, however many cells measured it: that is how many chances of a false alarm.
    const onceADevice = (pValues: readonly number[]) => pValues.map((p) => Math.min(1, p * devices));
    adjust(known(host), onceADevice, chancesOf.host * devices);
  } else {
    adjust(known(host), holm, chancesOf.host * host.length);
  }
  return evidence;
}

type Joined = Pick<JoinedRuns, "series" | "hostErrorVariance">;

/** The series that both sides have, with what is known of the kind of each. */
function taken({ series, hostErrorVariance }: Joined, context: EvidenceContext) {
  const inBoth = series.filter(({ baseline, first }) => baseline.length > 0 && first.length > 0);
  const isRecorded = areRecorded(context.deviceNames);
  const contextOf = (one: Series): KindContext => ({
    recorded: (isRecorded && recordedSpread[kindOf(one)]) || null,
    startingOccasions: startingOccasionNoise(one, context.deviceNames),
    isStartAlone: one.cell.memory === "host",
    deviceNames: context.deviceNames,
    history: context.history?.[kindOf(one)] ?? [],
    hostErrorVariance,
    isLoaded: context.isLoaded,
  });
  const isHost = ({ cell }: Series) => cell.memory === "host";
  return { inBoth, host: inBoth.filter(isHost), others: inBoth.filter((one) => !isHost(one)), contextOf };
}

/** Corrects the p-values of `tests` changes that are judged together, and makes their intervals hold together. */
function adjust(
  evidence: readonly Evidence[],
  correct: (pValues: number[]) => number[],
  tests: number,
): void {
  const known = evidence.filter(({ overall }) => overall !== null);
  const slower = correct(known.map(({ overall }) => overall!.pSlower));
  const faster = correct(known.map(({ overall }) => overall!.pFaster));
  for (const [i, one] of known.entries()) {
    one.adjusted = { slower: slower[i]!, faster: faster[i]! };
    one.overall = judgedTogether(one.overall!, tests);
  }
}

/** What is known of a kind beyond its series. */
interface KindContext extends Pick<EvidenceContext, "isLoaded" | "deviceNames"> {
  /** Recorded noise of one run's median. */
  recorded: VarianceEstimate | null;
  /** The noise between occasions that a machine starts from. */
  startingOccasions: OccasionNoise;
  /**
   * Whether three occasions and more of its own are all that counts: the host's memory differs so much from machine to
   * machine that a start would hide what is seen on a quiet one.
   */
  isStartAlone: boolean;
  /** The noise between occasions, if it has been estimated already. */
  occasions?: OccasionNoise | null | undefined;
  history: readonly OccasionCentres[];
  hostErrorVariance: number;
}

function evidenceOfGroup(group: GroupSeries, context: KindContext): GroupEvidence {
  const whole = wholeOf(group.members);
  const evidence = evidenceOfWhole(whole, group.members.length, context);
  if (evidence.runs.explained === null) return { ...group, whole, evidence, withHost: null };
  const uncontrolled = ({ baseline, first, fresh }: Series) => {
    const without = (figures: Series["first"]) =>
      figures.map((figure) => ({ ...figure, hostLogSpeed: null }));
    return { ...whole, baseline: without(baseline), first: without(first), fresh: without(fresh) };
  };
  const { shared, own } = context.occasions ?? context.startingOccasions;
  const { cell } = whole;
  const ofHost = startingOccasionNoise(
    { ...whole, cell: { ...cell, memory: "host" } },
    context.deviceNames,
  ).shared;
  return {
    ...group,
    whole,
    evidence,
    withHost: evidenceOfWhole(uncontrolled(whole), group.members.length, {
      ...context,
      occasions: undefined,
      // What a history knows is without the host's part.
      history: [],
      startingOccasions: {
        shared: { ...ofHost, variance: shared.variance + ofHost.variance },
        own,
      },
    }),
  };
}

/** The evidence on a centre of `cells` cells: what an occasion does to each of them alone averages out. */
function evidenceOfWhole(whole: Series, cells: number, context: KindContext): Evidence {
  const ofCentre = ({ shared, own }: OccasionNoise) => ({
    shared,
    own: { ...own, variance: own.variance / cells },
  });
  const { startingOccasions, occasions } = context;
  return evidenceOfKind([whole], {
    ...context,
    startingOccasions: ofCentre(startingOccasions),
    occasions: occasions && ofCentre(occasions),
  })[0]!;
}

/** The evidence on the series of one kind, in their order. */
function evidenceOfKind(members: readonly Series[], context: KindContext): Evidence[] {
  const { recorded, startingOccasions, isStartAlone, history, hostErrorVariance, isLoaded } = context;
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
    isHost && isLoaded
      ? null
      : (context.occasions ??
        estimateOccasionNoise([centres, ...history], startingOccasions, { isStartAlone }));
  const robust = robustVariances(ofBaseline, recorded);
  const unevenness = usualUnevenness(members);
  const evidence = members.map((one, i) => ({
    ...evidenceOf(one, runs[i]!, noise[i]!, occasionNoise),
    baselineVariance: robust[i]?.variance ?? null,
    usualUnevenness: unevenness,
  }));
  if (!isHost) return tellOwnFromShared(evidence);
  return judgeTogether(members, evidence, (whole, count) =>
    evidenceOfWhole(whole, count, { ...context, occasions: occasionNoise }),
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
