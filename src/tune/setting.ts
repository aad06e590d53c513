import {
  defaultPrefetchFactor,
  describeSetting,
  type LoaderSetting,
  settingKey,
} from "../results/loader-setting.js";

export { defaultPrefetchFactor, describeSetting, type LoaderSetting, settingKey };

/** What a training script gets that says nothing. */
export const torchDefault: LoaderSetting = {
  numWorkers: 0,
  pinMemory: false,
  prefetchFactor: null,
  persistentWorkers: false,
  nonBlocking: false,
};

/** Batches that may be ready or in the making at once; one with 0 workers. */
export function batchesInFlight({ numWorkers, prefetchFactor }: LoaderSetting): number {
  return numWorkers === 0 ? 1 : numWorkers * (prefetchFactor ?? defaultPrefetchFactor);
}

/**
 * What a trial of so many workers looks like: workers that stay from one epoch to the next, and copies of pinned
 * batches that nobody waits for, as both cost nothing.
 */
export function usualSetting(
  numWorkers: number,
  pinMemory: boolean,
  prefetchFactor: number = defaultPrefetchFactor,
): LoaderSetting {
  return {
    numWorkers,
    pinMemory,
    prefetchFactor: numWorkers === 0 ? null : prefetchFactor,
    persistentWorkers: numWorkers > 0,
    nonBlocking: pinMemory,
  };
}
