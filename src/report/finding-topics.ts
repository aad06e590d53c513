import { formatSize } from "../plan/units.js";
import type { CellResult } from "../results/schema.js";
import { describeSizes } from "./describe-sizes.js";
import {
  type Comparison,
  compare,
  fastest,
  latenciesOf,
  leanestBest,
  type Observation,
  ratesOf,
  shared,
} from "./finding-evidence.js";
import { type Pair, pairUp, ratioRange } from "./finding-pairs.js";
import { formatGBps, formatMicroseconds, formatRatio, formatWholeShare } from "./format-number.js";
import { counted, listed } from "./wording.js";

/** A topic says in one clause what the cells show in one direction; null where they do not bear on it. */
export type Topic = (cells: readonly CellResult[], direction: "h2d" | "d2h") => string | null;

/** Pinned against pageable by size, with the fewest workers that both were measured with. */
export const pinnedAgainstPageable: Topic = (cells, direction) => {
  const rates = ratesOf(cells, direction, direction);
  const pairs = pairUp(ofMemory(rates, "pinned"), ofMemory(rates, "pageable"));
  if (pairs.length === 0) {
    return null;
  }
  const allSizes = pairs.map(({ sizeBytes }) => sizeBytes);
  const where = (verdict: Comparison) => pairs.filter((pair) => pair.verdict === verdict);
  const sizes = (some: readonly Pair[]) =>
    describeSizes(
      some.map(({ sizeBytes }) => sizeBytes),
      allSizes,
    );
  const [faster, slower, equal] = [where("above"), where("below"), where("overlapping")];
  const clauses = [
    faster.length > 0 ? `pinned is ${ratioRange(faster)} pageable ${sizes(faster)}` : null,
    slower.length > 0
      ? `${faster.length > 0 ? "only" : "pinned is only"} ${ratioRange(slower)} ${faster.length > 0 ? "" : "pageable "}${sizes(slower)}`
      : null,
    equal.length > 0
      ? `${faster.length + slower.length > 0 ? "it" : "pinned"} gains nothing ${sizes(equal)}`
      : null,
  ];
  const workers =
    new Set(rates.map((rate) => rate.workers)).size > 1
      ? `, with ${counted(pairs[0]?.workers ?? 1, "worker")}`
      : "";
  return listed(clauses.filter((clause) => clause !== null)) + workers;
};

/** What staging by several workers makes of pageable memory, at the largest size. */
export const stagedAgainstPinned: Topic = (cells, direction) => {
  const rates = ratesOf(cells, direction, direction);
  const staged = ofMemory(rates, "staged");
  const sizeBytes = shared(staged.map(bySize), ofMemory(rates, "pinned").map(bySize)).at(-1);
  if (sizeBytes === undefined) {
    return null;
  }
  const atSize = rates.filter((rate) => rate.sizeBytes === sizeBytes);
  const best = leanestBest(ofMemory(atSize, "staged"));
  const pinned = fastest(ofMemory(atSize, "pinned"));
  const pageable = fastest(ofMemory(atSize, "pageable"));
  if (best === null || pinned === null) {
    return null;
  }
  const size = formatSize(sizeBytes);
  if (pageable !== null && compare(best.estimate, pageable.estimate) !== "above") {
    return `staging gains nothing over the driver's own pageable copies at ${size}`;
  }
  const workers = counted(best.workers, "staging worker");
  const verb = best.workers === 1 ? "reaches" : "reach";
  return compare(best.estimate, pinned.estimate) === "overlapping"
    ? `${workers} ${verb} the rate of pinned from pageable memory at ${size}`
    : `${workers} ${verb} ${formatWholeShare(best.estimate.median / pinned.estimate.median)} of pinned from pageable memory at ${size}`;
};

/** Whether more workers make pageable copies faster, at the largest size. */
export const workersOnPageable: Topic = (cells, direction) => {
  const pageable = ofMemory(ratesOf(cells, direction, direction), "pageable");
  const sizeBytes = [...new Set(pageable.map(bySize))]
    .filter((size) => pageable.filter((rate) => rate.sizeBytes === size).length > 1)
    .sort((a, b) => a - b)
    .at(-1);
  const [fewest, ...more] = pageable
    .filter((rate) => rate.sizeBytes === sizeBytes)
    .sort((a, b) => a.workers - b.workers);
  const best = leanestBest(more);
  if (fewest === undefined || best === null || sizeBytes === undefined) {
    return null;
  }
  const size = formatSize(sizeBytes);
  const ratio = formatRatio(best.estimate.median / fewest.estimate.median);
  switch (compare(best.estimate, fewest.estimate)) {
    case "above":
      return `${counted(best.workers, "worker")} make pageable ${ratio} as fast as ${fewest.workers} at ${size}`;
    case "overlapping":
      return `pageable does not get faster with workers at ${size}`;
    case "below":
      return `pageable gets slower with workers at ${size}: ${ratio} with ${best.workers}`;
  }
};

/** The other kinds of page-locked memory against pinned, at the largest size that each shares with it. */
export const otherKindsAgainstPinned: Topic = (cells, direction) => {
  const rates = ratesOf(cells, direction, direction);
  const clauses = (["registered", "write-combined", "mapped"] as const).flatMap((memory) => {
    const pair = pairUp(ofMemory(rates, memory), ofMemory(rates, "pinned")).at(-1);
    if (pair === undefined) {
      return [];
    }
    const size = formatSize(pair.sizeBytes);
    return pair.verdict === "overlapping"
      ? [`${memory} is as fast as pinned at ${size}`]
      : [`${memory} reaches ${formatWholeShare(pair.ratio)} of pinned at ${size}`];
  });
  return clauses.length === 0 ? null : listed(clauses);
};

/** Small copies, one at a time: pinned against pageable at the smallest size. */
export const latencyByMemory: Topic = (cells, direction) => {
  const latencies = latenciesOf(cells, direction);
  const [pair] = pairUp(ofMemory(latencies, "pinned"), ofMemory(latencies, "pageable"));
  if (pair === undefined) {
    return null;
  }
  const size = formatSize(pair.sizeBytes);
  const [pinned, pageable] = [pair.one, pair.other].map(({ median }) => `${formatMicroseconds(median)} µs`);
  return pair.verdict === "overlapping"
    ? `a copy of ${size} takes as long from pinned as from pageable memory`
    : `a copy of ${size} takes ${pinned} with pinned memory and ${pageable} with pageable`;
};

/** Both directions at once against each alone; it speaks of both, so it takes no direction. */
export function bothDirections(cells: readonly CellResult[]): string | null {
  const alone = (["h2d", "d2h"] as const).map((direction) => ratesOf(cells, direction, direction));
  const together = fastest(ratesOf(cells, "bidir", "sum"));
  if (together === null) {
    return null;
  }
  const same = alone.map((rates) =>
    rates.find(
      ({ memory, sizeBytes, workers }) =>
        memory === together.memory && sizeBytes === together.sizeBytes && workers === together.workers,
    ),
  );
  const [h2d, d2h] = same;
  if (h2d === undefined || d2h === undefined) {
    return null;
  }
  const apart = {
    median: h2d.estimate.median + d2h.estimate.median,
    low: h2d.estimate.low + d2h.estimate.low,
    high: h2d.estimate.high + d2h.estimate.high,
  };
  const { median } = together.estimate;
  const measure =
    compare(together.estimate, apart) === "overlapping"
      ? "as much as"
      : `${formatWholeShare(median / apart.median)} of`;
  return (
    `both directions at once move ${formatGBps(median)} GB/s, ${measure} H2D and D2H alone together ` +
    `(${together.memory}, ${formatSize(together.sizeBytes)}, ${counted(together.workers, "worker")})`
  );
}

function ofMemory(observations: readonly Observation[], memory: Observation["memory"]): Observation[] {
  return observations.filter((observation) => observation.memory === memory);
}

const bySize = ({ sizeBytes }: Observation): number => sizeBytes;
