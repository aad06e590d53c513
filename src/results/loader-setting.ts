/** The keyword arguments of a DataLoader that pinbench chooses, and how its batches are copied. */
export interface LoaderSetting {
  numWorkers: number;
  pinMemory: boolean;
  /** Batches that each worker makes ahead; null with 0 workers, where DataLoader takes none. */
  prefetchFactor: number | null;
  persistentWorkers: boolean;
  /** `batch.to(device, non_blocking=True)`: of effect for pinned batches alone. */
  nonBlocking: boolean;
}

/** DataLoader's own prefetch_factor. */
export const defaultPrefetchFactor = 2;

/** A setting in words: "8 workers, not pinned", "1 worker, pinned, prefetch 4". */
export function describeSetting({ numWorkers, pinMemory, prefetchFactor }: LoaderSetting): string {
  const workers = `${numWorkers} worker${numWorkers === 1 ? "" : "s"}`;
  const prefetch =
    prefetchFactor === null || prefetchFactor === defaultPrefetchFactor ? "" : `, prefetch ${prefetchFactor}`;
  return `${workers}, ${pinMemory ? "pinned" : "not pinned"}${prefetch}`;
}

/** The same for settings that are alike. */
export function settingKey(setting: LoaderSetting): string {
  const { numWorkers, pinMemory, prefetchFactor, persistentWorkers, nonBlocking } = setting;
  return [numWorkers, pinMemory, prefetchFactor, persistentWorkers, nonBlocking].join();
}
