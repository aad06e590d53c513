import type { BackendName } from "../settings/choices.js";
import { type Thresholds, thresholdOf } from "../settings/thresholds.js";
import { median } from "../stats/order-statistics.js";
import type { GroupComparison } from "./comparison.js";
import { type Change, limitOf } from "./decision.js";
import {
  type ByRun,
  bySession,
  type Group,
  logSpeedOverTime,
  relativeTo,
  relativeValues,
  valuesOf,
} from "./groups.js";
import {
  type Assumed,
  type BySession,
  besideHost,
  isCpuCopy,
  levelOf,
  medianVariance,
  noiseOf,
  priorOf,
  standardError,
} from "./noise.js";
import type { Series } from "./series.js";
import { countSlow, type SlowCount } from "./slow-runs.js";

/** What the candidate's runs (first or fresh) show of a group of cells, compared with the baseline. */
export interface Evidence {
  members: readonly Series[];
  /** As a logarithm: `limitOf()`. */
  limit: number;
  whole: Change;
  /** Change of bytes over seconds, which slow copies lower; null if unknown. */
  overTime: Change | null;
  /** Change relative to host memory; null unless the baseline shows how copies vary with it. */
  againstHost: Change | null;
  hostChange: number | null;
  slow: { baseline: SlowCount; candidate: SlowCount };
  cells: readonly CellEvidence[];
  runs: NonNullable<GroupComparison["runs"]>;
}

export interface CellEvidence {
  series: Series;
  own: number;
  againstGroup: Change;
}

export interface Terms {
  thresholds: Thresholds;
  backend: BackendName;
  hostCellsOf: (device: number) => readonly Series[];
}

export type CandidateSide = "first" | "fresh";

/** The evidence on a group; null if no cell has figures on both sides. */
export function evidenceOf(group: Group, side: CandidateSide, terms: Terms): Evidence | null {
  const members = group.members.filter(isCommon(side));
  if (members.length === 0) return null;
  const sides = sidesOf(members, side);
  const hasOneRun = sides.baseline.size === 1 || sides.candidate.size === 1;
  const { isOfCpu, limit, assumed } = measureOf(members, hasOneRun, terms);
  const { noise, sessions, ...whole } = changeOf(sides, assumed);
  const host = isHost(group) ? [] : terms.hostCellsOf(group.device).filter(isCommon(side));
  const hosts = sidesOf(host, side);
  const times = sidesOf(members, side, logSpeedOverTime);
  return {
    members,
    limit,
    whole,
    overTime: times.baseline.size > 0 && times.candidate.size > 0 ? changeOf(times, assumed) : null,
    againstHost: isOfCpu ? changeBeside(sides, hosts, sessions.baseline) : null,
    hostChange: host.length > 0 && isOfCpu ? changeOf(hosts, assumed).change : null,
    slow: {
      baseline: countSlow(sessions.baseline, limit, noise.betweenRuns),
      candidate: countSlow(sessions.candidate, limit, noise.betweenRuns),
    },
    cells: members.length < 2 ? [] : members.map((series) => cellEvidence(series, side, sides, assumed)),
    runs: {
      baseline: sides.baseline.size,
      sessions: sessions.baseline.length,
      candidate: sides.candidate.size,
    },
  };
}

export function isHost({ members }: Pick<Group, "members">): boolean {
  return members[0]?.cell.memory === "host";
}

function isCommon(side: CandidateSide): (series: Series) => boolean {
  return (series) => series.baseline.length > 0 && series[side].length > 0;
}

interface Sides {
  baseline: ByRun;
  candidate: ByRun;
}

function sidesOf(members: readonly Series[], side: CandidateSide, figure?: typeof logSpeedOverTime): Sides {
  return {
    baseline: relativeValues(members, "baseline", figure),
    candidate: relativeValues(members, side, figure),
  };
}

/**
 * The limit (a logarithm) and the assumed noise for cells of one group. A single run also has the noise of its own
 * samples: the median over its cells, from the baseline's samples.
 */
export function measureOf(
  members: readonly Series[],
  hasOneRun: boolean,
  { thresholds, backend }: Pick<Terms, "thresholds" | "backend">,
) {
  const { cell } = members[0]!;
  const isOfCpu = isCpuCopy(cell, backend);
  const variances = members.flatMap((one) => one.baseline.map(({ sampleVariance }) => sampleVariance));
  const assumed: Assumed = {
    prior: priorOf(cell, backend),
    ofSamples: hasOneRun ? median(variances) * medianVariance(members.length) : 0,
  };
  return {
    isOfCpu,
    assumed,
    limit: limitOf(thresholdOf(thresholds, cell, { isNoisy: hasOneRun || isOfCpu })),
  };
}

function changeOf({ baseline, candidate }: Sides, assumed: Assumed) {
  const sessions = { baseline: bySession(baseline.values()), candidate: bySession(candidate.values()) };
  const noise = noiseOf(sessions.baseline, assumed);
  return {
    change: levelOf(sessions.candidate) - levelOf(sessions.baseline),
    standardError: standardError(noise, sessions.baseline, sessions.candidate),
    noise,
    sessions,
  };
}

/** Minimum number of sessions to know how copies vary with host memory. */
const fewestSessions = 3;

/** The change relative to host memory; null with too few sessions, or if a run has no figure of host memory. */
function changeBeside(sides: Sides, hosts: Sides, sessions: BySession): Change | null {
  const beside = relative(sides, hosts);
  const isKnown =
    sessions.length >= fewestSessions &&
    beside.baseline.size === sides.baseline.size &&
    beside.candidate.size === sides.candidate.size;
  return isKnown ? changeOf(beside, { prior: besideHost, ofSamples: 0 }) : null;
}

function cellEvidence(series: Series, side: CandidateSide, ofGroup: Sides, assumed: Assumed): CellEvidence {
  const own = { baseline: valuesOf(series, "baseline"), candidate: valuesOf(series, side) };
  return {
    series,
    own: changeOf(own, assumed).change,
    againstGroup: changeOf(relative(own, ofGroup), assumed),
  };
}

function relative(sides: Sides, others: Sides): Sides {
  return {
    baseline: relativeTo(sides.baseline, others.baseline),
    candidate: relativeTo(sides.candidate, others.candidate),
  };
}
