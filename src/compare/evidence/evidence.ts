import { areRecorded, recordedSpread } from "../../results/claimed-interval.js";
import { kindOf } from "../../results/variant.js";
import { holm } from "../../stats/hypothesis-tests.js";
import { median } from "../../stats/order-statistics.js";
import type { VarianceEstimate } from "../../stats/variance.js";
import { type JoinedRuns, logSpeeds, type RunFigure, type Series } from "../series.js";
import { byOccasion, centresByOccasion, type Evidence, evidenceOf } from "./cell-evidence.js";
import { judgedTogether } from "./change-estimate.js";
import { controlForHost, hasControl } from "./host-covariate.js";
import { type CellNoise, estimateNoise, fewestForCentre, outlierSpread, robustVariances } from "./noise.js";
import {
  estimateOccasionNoise,
  type OccasionCentres,
  type OccasionNoise,
  startingOccasionNoise,
} from "./occasion-noise.js";
import { areJudgedTogether, judgeTogether, tellOwnFromShared } from "./shared-changes.js";
import { usualUnevenness } from "./uneven-runs.js";

/**
 * The intervals of all cells, of all groups and of the host hold simultaneously. Each family gets 1 / `chancesOf` of
 * the 5 %, together less than all of it. Groups get the most, because few occasions make their intervals wide, and
 * single slow cells show against similar cells. In simulations (bench/regress) false alarms stay below 1 % of checks.
 */
export const chancesOf = { cells: 4, groups: 1.75, host: 7 };

/** Context beyond the compared runs. */
export interface EvidenceContext {
  /** Names of the devices of the baseline. */
  deviceNames: readonly string[];
  /** Whether other programs loaded the machine during the candidate's runs, but not before. */
  isLoaded: boolean;
  /** Earlier occasions from a history: for each kind, a source for each machine. */
  history?: Readonly<Record<string, readonly OccasionCentres[]>>;
}

export interface GroupEvidence extends GroupSeries {
  /** As a series: the median over the members, run by run, of speed relative to the baseline. */
  whole: Series;
  /** Evidence on that series without the part that the host's memory explains. */
  evidence: Evidence;
  /** The same including that part; null for a group without a control. */
  withHost: Evidence | null;
}

export interface GatheredEvidence {
  /** In the order of the series; null if a side lacks the series. */
  cells: (Evidence | null)[];
  groups: GroupEvidence[];
}

/**
 * The evidence on each series of both sides, and on the groups; with `asked`, only on those of its kinds. The
 * correction still counts the others, because they are tested too.
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
    // A device has one host memory however many cells measured it, so it counts as one test.
    const onceADevice = (pValues: readonly number[]) => pValues.map((p) => Math.min(1, p * devices));
    adjust(known(host), onceADevice, chancesOf.host * devices);
  } else {
    adjust(known(host), holm, chancesOf.host * host.length);
  }
  return evidence;
}

type Joined = Pick<JoinedRuns, "series" | "hostErrorVariance">;

/** The series of both sides, with the facts on the kind of each. */
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

/** Corrects the p-values and intervals of `tests` simultaneous changes. */
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

/** Facts on a kind beyond its series. */
interface KindContext extends Pick<EvidenceContext, "isLoaded" | "deviceNames"> {
  /** Recorded noise of one run's median. */
  recorded: VarianceEstimate | null;
  /** The initial noise between occasions of a machine. */
  startingOccasions: OccasionNoise;
  /**
   * Whether three or more own occasions replace the initial noise: host memory differs so much between machines that
   * the initial value would hide changes on a quiet one.
   */
  isStartAlone: boolean;
  /** The noise between occasions, if already estimated. */
  occasions?: OccasionNoise | null | undefined;
  history: readonly OccasionCentres[];
  hostErrorVariance: number;
}

function evidenceOfGroup(group: GroupSeries, context: KindContext): GroupEvidence {
  const whole = joinedSeries(group.members);
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
      // A history's noise excludes the host's part.
      history: [],
      startingOccasions: {
        shared: { ...ofHost, variance: shared.variance + ofHost.variance },
        own,
      },
    }),
  };
}

/** The evidence on a centre of `cells` cells: the effects of an occasion on single cells average out. */
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
  // A visible load explains why the host is slower, so no unknown offset of the occasion is allowed for.
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

/** The noise if a side has so few runs that all may be outliers: at least `withOutliers`. */
function widened(
  noise: CellNoise | null,
  withOutliers: VarianceEstimate | null,
  recorded: VarianceEstimate | null,
): CellNoise | null {
  if (noise === null || withOutliers === null) return null;
  if (withOutliers.variance <= noise.variance) return noise;
  return { ...noise, ...withOutliers, source: withOutliers === recorded ? "recorded" : "these runs" };
}

/** The cells of one kind, device and direction. A change of all of them is more certain than that of one. */
interface GroupSeries {
  /** The kind that shares its noise: `kindOf()`. */
  kind: string;
  device: number;
  moved: Series["moved"];
  members: Series[];
}

/** Fewest cells that are judged together. */
const fewestMembers = 3;

/** The groups of these series, in the order of their first appearance, with the cells that every run measured. */
function groupsOf(series: readonly Series[]): GroupSeries[] {
  const groups = new Map<string, GroupSeries>();
  for (const one of series) {
    const { moved, cell } = one;
    const kind = kindOf(one);
    const key = `${kind} ${cell.device} ${moved}`;
    if (!groups.has(key)) groups.set(key, { kind, device: cell.device, moved, members: [] });
    groups.get(key)!.members.push(one);
  }
  return [...groups.values()]
    .map((group) => ({ ...group, members: measuredInEveryRun(group.members) }))
    .filter(({ members }) => members.length >= fewestMembers);
}

/** Other cells have no value in each run. */
function measuredInEveryRun(series: readonly Series[]): Series[] {
  const [baseline, first] = (["baseline", "first"] as const).map((side) =>
    Math.max(...series.map((one) => one[side].length)),
  );
  return series.filter((one) => one.baseline.length === baseline && one.first.length === first);
}

/**
 * One series for all members. A run's value is the median of its members' speeds, each relative to the median of that
 * member's baseline. Fresh runs count only if they measured all members.
 */
export function joinedSeries(members: readonly Series[]): Series {
  const [first] = members as [Series];
  const levels = members.map((one) => median(logSpeeds(one, one.baseline)));
  const together = (side: "baseline" | "first" | "fresh"): RunFigure[] => {
    if (members.some((one) => one[side].length !== first[side].length)) return [];
    const logs = members.map((one, i) => logSpeeds(one, one[side]).map((log) => log - levels[i]!));
    return first[side].map((figure, run) => ({
      ...figure,
      value: Math.exp(median(logs.map((ofMember) => ofMember[run]!))),
    }));
  };
  return {
    ...first,
    unit: "GB/s",
    baseline: together("baseline"),
    first: together("first"),
    fresh: together("fresh"),
  };
}
