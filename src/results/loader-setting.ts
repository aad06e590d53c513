import { capital } from "../draw/words.js";
import type { LoaderSetting, Tuning } from "./tuning.js";

/** DataLoader's default prefetch_factor if it has workers. */
export const defaultPrefetchFactor = 2;

/** A setting in words: "8 workers, not pinned", "1 worker, pinned, prefetch 4"; if requested also ", persistent". */
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

/** A text that is equal for equal settings only. */
export function settingKey(setting: LoaderSetting): string {
  const { numWorkers, pinMemory, prefetchFactor, persistentWorkers, nonBlocking } = setting;
  return [numWorkers, pinMemory, prefetchFactor, persistentWorkers, nonBlocking].join();
}

export const torchDefault: LoaderSetting = {
  numWorkers: 0,
  pinMemory: false,
  prefetchFactor: null,
  persistentWorkers: false,
  nonBlocking: false,
};

/** Most batches that are ready or in progress at any time; 1 with 0 workers. */
export function batchesInFlight({ numWorkers, prefetchFactor }: LoaderSetting): number {
  return numWorkers === 0 ? 1 : numWorkers * (prefetchFactor ?? defaultPrefetchFactor);
}

/**
 * The setting for trying this number of workers. Workers persist between epochs, and the loop does not wait for copies
 * of pinned batches, because neither has a cost.
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

/** DataLoader's arguments; without pin_memory if pinning could not be tried. */
export function loaderKeywords(
  { pinningOff }: Tuning["probe"],
  setting: LoaderSetting,
): Record<string, number | boolean> {
  const { numWorkers, pinMemory, prefetchFactor, persistentWorkers } = setting;
  return {
    num_workers: numWorkers,
    ...(pinningOff === null ? { pin_memory: pinMemory } : {}),
    ...(prefetchFactor === null ? {} : { prefetch_factor: prefetchFactor }),
    persistent_workers: persistentWorkers,
  };
}

/** Arguments for a copy; empty if pinning is not possible, or for a running job, whose copies are hidden. */
export function copyKeywords(
  { kind, pinningOff }: Tuning["probe"],
  { nonBlocking }: LoaderSetting,
): Record<string, boolean> {
  return kind === "live" || pinningOff !== null ? {} : { non_blocking: nonBlocking };
}

export function pythonArguments(values: Readonly<Record<string, number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => {
    const text = String(value);
    return `${name}=${typeof value === "boolean" ? capital(text) : text}`;
  });
}

/** The setting as arguments for the job's framework or for DataLoader. */
export function toPaste(probe: Tuning["probe"], setting: LoaderSetting): string {
  const { numWorkers, pinMemory } = setting;
  const keywords = loaderKeywords(probe, setting);
  switch (probe.framework ?? null) {
    case "transformers": {
      const names = Object.entries(keywords).map(([name, value]) => [`dataloader_${name}`, value]);
      return `TrainingArguments(${pythonArguments(Object.fromEntries(names)).join(", ")})`;
    }
    case "timm":
      return `--workers ${numWorkers}${pinMemory ? " --pin-mem" : ""}`;
    case "lightning":
      return `in train_dataloader(): DataLoader(${pythonArguments(keywords).join(", ")})`;
    default:
      return pythonArguments({ ...keywords, ...copyKeywords(probe, setting) }).join(" ");
  }
}
