import { firstSteps, type LoaderRecord } from "./loader-record.js";

/** Time of a loop after its first steps that shows which loader it spends its time on. */
const watchedNs = 2e9;
/** Number of batches that shows it for slow loops. */
const watchedBatches = 3;
/** Time of evaluating after which a loop without training is tuned: a script may evaluate first. */
const untrainedNs = 10e9;
/** Two loaders of one loop share its time: the one that the loop waits for matters. */
const sameTime = 0.9;

/**
 * The loader whose batches take most of the loop's time, among those iterated with gradients on; null while that is
 * unclear.
 */
export function chooseTarget(loaders: readonly LoaderRecord[]): LoaderRecord | null {
  const tunable = loaders.filter(({ isUnderWay, told }) => isUnderWay && !told.untouchable);
  const training = mostWaitedFor(tunable, "training");
  if (training !== null) {
    const { ns } = training.loop.training;
    return ns >= watchedNs && training.delivered >= firstSteps + watchedBatches ? training : null;
  }
  // The first steps of a training may take long.
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
