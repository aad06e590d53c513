import type { LoaderRecord } from "./loader-record.js";

/** A process whose loop runs for so long has shown which loader it spends its time on; the first steps are slow ones. */
const watchedNs = 2e9;
/** A loop with few batches a second has shown it as well. */
const watchedBatches = 3;
/** A script may evaluate before it trains; one that only evaluates is tuned after so long. */
const untrainedNs = 10e9;
/** Two loaders of one loop share its time: the one that is waited for matters. */
const sameTime = 0.9;

/**
 * The loader whose batches the loop of a process spends its time on, among those that it iterates with gradients on; null
 * while that is not clear. `nowNs` and `firstBatchNs` are of one clock.
 */
export function chooseTarget(
  loaders: readonly LoaderRecord[],
  { nowNs, firstBatchNs }: { nowNs: number; firstBatchNs: number },
): LoaderRecord | null {
  const tunable = loaders.filter(({ batch, told }) => batch !== null && !told.untouchable);
  const training = mostWaitedFor(tunable, "training");
  if (training !== null) {
    const { ns } = training.loop.training;
    return ns >= watchedNs && training.delivered >= watchedBatches ? training : null;
  }
  return nowNs - firstBatchNs >= untrainedNs ? mostWaitedFor(tunable, "other") : null;
}

function mostWaitedFor(
  loaders: readonly LoaderRecord[],
  kind: keyof LoaderRecord["loop"],
): LoaderRecord | null {
  const most = Math.max(0, ...loaders.map(({ loop }) => loop[kind].ns));
  return loaders
    .filter(({ loop }) => loop[kind].ns > 0 && loop[kind].ns >= sameTime * most)
    .reduce<LoaderRecord | null>(
      (best, one) => (best === null || one.loop[kind].waitNs > best.loop[kind].waitNs ? one : best),
      null,
    );
}
