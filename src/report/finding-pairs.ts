import { type Comparison, compare, type Estimate, type Observation, shared } from "./finding-evidence.js";
import { formatRatio } from "./format-number.js";

/** Two memory kinds at one size, with equally many workers. */
export interface Pair {
  sizeBytes: number;
  workers: number;
  one: Estimate;
  other: Estimate;
  ratio: number;
  verdict: Comparison;
}

/** Both at each size that they share, ascending, with the fewest workers that they share over all sizes. */
export function pairUp(
  ones: readonly Observation[],
  others: readonly Observation[],
  equalWidth: number,
): Pair[] {
  const [workers] = shared(workersOf(ones), workersOf(others));
  return shared(sizesOf(ones), sizesOf(others)).flatMap((sizeBytes) => {
    const [one, other] = [ones, others].map((list) =>
      list.find((rate) => rate.sizeBytes === sizeBytes && rate.workers === workers),
    );
    if (one === undefined || other === undefined || other.estimate.median === 0) {
      return [];
    }
    const ratio = one.estimate.median / other.estimate.median;
    return [
      {
        sizeBytes,
        workers: one.workers,
        one: one.estimate,
        other: other.estimate,
        ratio,
        verdict: compare(one.estimate, other.estimate, equalWidth),
      },
    ];
  });
}

/** The ratios' span, once where its ends look the same. */
export function ratioRange(pairs: readonly Pair[]): string {
  const ratios = pairs.map(({ ratio }) => ratio);
  const [least, most] = [formatRatio(Math.min(...ratios)), formatRatio(Math.max(...ratios))];
  return least === most ? least : `${least} to ${most}`;
}

function sizesOf(observations: readonly Observation[]): number[] {
  return observations.map(({ sizeBytes }) => sizeBytes);
}

function workersOf(observations: readonly Observation[]): number[] {
  return observations.map(({ workers }) => workers);
}
