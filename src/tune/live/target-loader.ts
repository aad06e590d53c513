import { firstSteps, type LoaderRecord } from "./loader-record.js";

/** A process whose loop runs for so long after its first steps has shown which loader it spends its time on. */
const watchedNs = 2e9;
/** A loop with few batches a second has shown it as well. */
const watchedBatches = 3;
/** A script may evaluate before it trains; one that only evaluates is tuned when it has done so for this long. */
const untrainedNs = 10e9;
/** Two loaders of one loop share its time: the one that is waited for matters. */
const sameTime = 0.9;

/**
 * The loader whose batches the loop of a process spends its time on, among those that it iterates with gradients on; null
 * while that is not clear.
 */
export function chooseTarget(loaders: readonly LoaderRecord[]): LoaderRecord | null {
  const tunable = loaders.filter(({ isUnderWay, told }) => isUnderWay && !told.untouchable);
  const training = mostWaitedFor(tunable, "training");
  if (training !== null) {
    const { ns } = training.loop.training;
    return ns >= watchedNs && training.delivered >= firstSteps + watchedBatches ? training : null;
  }
  // Whoever has begun to train may take long for the first steps of it.
  if (loaders.some(({ hasTrained }) => hasTrained)) return null;
  const other = mostWaitedFor(tunable, "other");
  return other !== null && other.loop.other.ns >= untrainedNs ? other : null;
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
