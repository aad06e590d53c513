import { kindOf } from "../../results/variant.js";
import { thresholdOf } from "../../settings/thresholds.js";
import { studentQuantile } from "../../stats/hypothesis-tests.js";
import { numberAlike } from "../match-devices.js";
import { deviceNames, type Rule, type RunFigures } from "../result-set.js";
import { joinRuns } from "../series.js";
import { byOccasion, centresByOccasion } from "./cell-evidence.js";
import { detectableLoss, sumOfVariances, tailOfOne } from "./change-estimate.js";
import { chancesOf } from "./evidence.js";
import { controlForHost } from "./host-covariate.js";
import { type CellNoise, estimateNoise } from "./noise.js";
import { betweenOccasions, estimateOccasionNoise, startingOccasionNoise } from "./occasion-noise.js";

/** The sensitivity of a baseline: the noise between its runs, and the drops that a check against it detects. */
export interface Sensitivity {
  /** One entry for each kind of memory (latency separately), in the order of first appearance. */
  kinds: {
    name: string;
    cells: number;
    /** Relative standard deviation of a run's figure: of the median cell, and of the noisiest. */
    typicalDeviation: number;
    largestDeviation: number;
    /** The relative drop that a check detects 19 times out of 20: in the median cell, and in the noisiest. */
    typicalDrop: number;
    largestDrop: number;
  }[];
}

/**
 * The sensitivity of a baseline of these runs, for a check of `checkRuns` runs and as many to confirm. In logarithms, a
 * cell's drop fails a check if its estimate, of standard error e, passes the threshold T and its interval excludes
 * zero. So the smallest detectable drop is d = max(e t_a, T) + e t_b. t_a is the quantile of Student's t for the
 * interval's tail, t_b that for the chance of missing the drop. e includes the noise between occasions, but not the
 * part of pageable and staged copies that the host's memory explains. Null if fewer than two runs leave the noise
 * unknown.
 */
export function sensitivityOf(
  runs: readonly RunFigures[],
  checkRuns: number,
  { thresholds }: Pick<Rule, "thresholds">,
): Sensitivity | null {
  const baseline = numberAlike(runs);
  const names = baseline[0] === undefined ? [] : deviceNames(baseline[0]);
  const { series, hostErrorVariance } = joinRuns({ baseline, first: [], fresh: [] });
  const kinds = series.map(kindOf);
  const controlled = new Map(
    [...new Set(kinds)].flatMap((kind) => {
      const members = series.filter((_, i) => kinds[i] === kind);
      const found = controlForHost(members, kind, hostErrorVariance);
      return members.map((one, i) => [one, found[i]!.baseline] as const);
    }),
  );
  const groups = byOccasion(
    series,
    series.map((one) => controlled.get(one)!),
  );
  const noise = estimateNoise(
    series.map((_, i) => ({ kind: kinds[i]!, groups: groups[i]! })),
    null,
  );
  if (noise.includes(null) || noise.length === 0) return null;
  const occasionNoise = new Map(
    [...new Set(kinds)].map((kind) => {
      const members = [...kinds.keys()].filter((i) => kinds[i] === kind);
      const centres = centresByOccasion(
        members.map((i) => groups[i]!),
        members.map((i) => noise[i]!),
      );
      return [
        kind,
        estimateOccasionNoise([centres], startingOccasionNoise(series[members[0]!]!, names), {
          isStartAlone: kind === "host",
        }),
      ];
    }),
  );
  const uncertaintyOf = (i: number) => {
    const { variance, offsetVariance, degreesOfFreedom } = noise[i] as CellNoise;
    const perRun = 1 / series[i]!.baseline.length + 1 / (2 * checkRuns);
    const between = occasionNoise.get(kinds[i]!)!;
    const offsets = betweenOccasions(
      groups[i]!.map(({ length }) => length),
      between,
    );
    return sumOfVariances([
      { variance: (variance + offsetVariance) * perRun, degreesOfFreedom },
      offsets.shared,
      offsets.own,
    ]);
  };
  // The host's cells are judged together, separately from the others.
  const others = series.filter(({ cell }) => cell.memory !== "host").length;
  const dropOf = (i: number) => {
    const { variance, degreesOfFreedom } = uncertaintyOf(i);
    const error = Math.sqrt(variance);
    const chances = series[i]!.cell.memory === "host" ? chancesOf.host : chancesOf.cells * others;
    const significant = error * studentQuantile(tailOfOne(chances), degreesOfFreedom);
    const threshold = -Math.log1p(-thresholdOf(thresholds, series[i]!.cell));
    return detectableLoss(Math.max(significant, threshold), { error, degreesOfFreedom });
  };
  return {
    kinds: [...new Set(kinds)].map((name) => {
      const members = [...kinds.keys()].filter((i) => kinds[i] === name);
      const deviations = members.map((i) => Math.sqrt(noise[i]!.variance)).sort((a, b) => a - b);
      const drops = members.map(dropOf).sort((a, b) => a - b);
      return {
        name,
        cells: members.length,
        typicalDeviation: middle(deviations),
        largestDeviation: deviations.at(-1)!,
        typicalDrop: middle(drops),
        largestDrop: drops.at(-1)!,
      };
    }),
  };
}

function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)]!;
}
