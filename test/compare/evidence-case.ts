import { type Evidence, evidenceOf } from "../../src/compare/evidence/cell-evidence.js";
import type { OccasionNoise } from "../../src/compare/evidence/occasion-noise.js";
import { logSpeeds, type RunFigure, type Series } from "../../src/compare/series.js";
import { parseCellId } from "../../src/results/cell-id.js";
import { frozen } from "../helpers/frozen.js";

/** A series and its evidence, of figures that a test lists. */
export interface CasePart {
  memory?: string;
  unit?: "GB/s" | "us";
  device?: number;
  /** Of each run, its speed as a share of 50 GB/s or 10 µs. */
  baseline?: readonly number[];
  first?: readonly number[];
  fresh?: readonly number[];
  /** Of each run, its share of time lost to slow copies: 0 where none are listed. */
  lost?: { baseline?: readonly number[]; first?: readonly number[]; fresh?: readonly number[] };
  /** Of each run, the host's rate. */
  hostRates?: { baseline?: readonly number[]; first?: readonly number[]; fresh?: readonly number[] };
  /** Standard deviation of a run's logarithm; null if it is not known. */
  deviation?: number | null;
  occasionNoise?: OccasionNoise | null;
  usualUnevenness?: number | null;
}

const groups = ["baseline", "first", "fresh"] as const;
const atSpeedOne = (shares: readonly number[] = []) => shares.map(() => 1);

export function caseOf(part: CasePart = {}): { series: Series; evidence: Evidence } {
  const { memory = "pinned", unit = "GB/s", device = 0, deviation = 0.001, lost = {}, hostRates = {} } = part;
  const mode = unit === "us" ? "latency" : "throughput";
  const id = `d${device}/h2d/${memory}/1048576/w1/${mode}/cold`;
  const speeds = {
    baseline: part.baseline ?? atSpeedOne(lost.baseline ?? [0, 0, 0, 0, 0]),
    first: part.first ?? atSpeedOne(lost.first ?? [0, 0, 0, 0, 0]),
    fresh: part.fresh ?? atSpeedOne(lost.fresh),
  };
  const [baseline, first, fresh] = groups.map((group) =>
    speeds[group].map(
      (speed, i): RunFigure => ({
        value: unit === "us" ? 10 / speed : 50 * speed,
        lostShare: lost[group]?.[i] ?? 0,
        startedAt: `${group} ${i}`,
        occasion: 0,
        hostLogSpeed: hostRates[group] === undefined ? null : Math.log(hostRates[group][i]!),
      }),
    ),
  ) as [RunFigure[], RunFigure[], RunFigure[]];
  const cell = { ...parseCellId(id), id };
  const series: Series = { cell, moved: "h2d", unit, baseline, first, fresh, absence: null };
  const noise =
    deviation === null
      ? null
      : {
          ...{ variance: deviation ** 2, degreesOfFreedom: 100, offsetVariance: 0 },
          ...{ robustVariance: deviation ** 2, source: "these runs" as const },
        };
  const runs = {
    baseline: logSpeeds(series, baseline),
    first: logSpeeds(series, first),
    fresh: logSpeeds(series, fresh),
    explained: null,
    explainedOfFresh: null,
  };
  const evidence = evidenceOf(series, runs, noise, part.occasionNoise ?? null);
  const adjusted = evidence.overall && {
    slower: evidence.overall.pSlower,
    faster: evidence.overall.pFaster,
  };
  return frozen({
    series,
    evidence: {
      ...evidence,
      adjusted,
      baselineVariance: null,
      usualUnevenness: part.usualUnevenness ?? null,
    },
  });
}

export const times = (count: number, value: number) => Array<number>(count).fill(value);
