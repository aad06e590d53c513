import type { LoaderSetting } from "./tuning.js";

/** The prefetch_factor that a DataLoader with workers has where none is given. */
export const defaultPrefetchFactor = 2;

/** A setting in words: "8 workers, not pinned", "1 worker, pinned, prefetch 4"; and where that is of interest ", persistent". */
export function describeSetting(
  { numWorkers, pinMemory, prefetchFactor, persistentWorkers }: LoaderSetting,
  tellsPersistence = false,
): string {
  const workers = `${numWorkers} worker${numWorkers === 1 ? "" : "s"}`;
  const prefetch =
    prefetchFactor === null || prefetchFactor === defaultPrefetchFactor ? "" : `, prefetch ${prefetchFactor}`;
  const persistence = tellsPersistence && persistentWorkers ? ", persistent" : "";
  return `${workers}, ${pinMemory ? "pinned" : "not pinned"}${prefetch}${persistence}`;
}

/** A text that is the same for settings that are alike, and for these alone. */
export function settingKey(setting: LoaderSetting): string {
  const { numWorkers, pinMemory, prefetchFactor, persistentWorkers, nonBlocking } = setting;
  return [numWorkers, pinMemory, prefetchFactor, persistentWorkers, nonBlocking].join();
}

/** The setting of a DataLoader that is made without any of these arguments. */
export const torchDefault: LoaderSetting = {
  numWorkers: 0,
  pinMemory: false,
  prefetchFactor: null,
  persistentWorkers: false,
  nonBlocking: false,
};

/** Batches that the loader may have ready or in the making at any time; 1 with 0 workers. */
export function batchesInFlight({ numWorkers, prefetchFactor }: LoaderSetting): number {
  return numWorkers === 0 ? 1 : numWorkers * (prefetchFactor ?? defaultPrefetchFactor);
}

/**
 * The setting under which so many workers are tried: they persist from one epoch to the next, and the copies of pinned
 * batches are not waited for, since neither costs anything.
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
