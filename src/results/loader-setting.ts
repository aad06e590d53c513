import { capital } from "../draw/words.js";
import type { LoaderSetting, Tuning } from "./tuning.js";

/** DataLoader's default prefetch_factor with workers. */
export const defaultPrefetchFactor = 2;

/** A setting in words: "8 workers, not pinned", "1 worker, pinned, prefetch 4"; on request with ", persistent". */
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

/** A text that is equal exactly for equal settings. */
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

/** Most batches that the loader has ready or is making at any time; 1 with 0 workers. */
export function batchesInFlight({ numWorkers, prefetchFactor }: LoaderSetting): number {
  return numWorkers === 0 ? 1 : numWorkers * (prefetchFactor ?? defaultPrefetchFactor);
}

/**
 * The setting for trying this number of workers: they persist between epochs, and copies of pinned batches are not
 * waited for, because neither costs anything.
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

const mostPoints = 14;

export function spread(most: number): number[] {
  if (most < mostPoints) return Array.from({ length: most + 1 }, (_, count) => count);
  // The steps grow by a ratio with which the last one ends at `most`.
  const positions = (ratio: number) =>
    Array.from({ length: mostPoints }, (_, index) => Math.round((ratio ** index - 1) / (ratio - 1)));
  let low = 1 + 1e-9;
  let high = 4;
  for (let step = 0; step < 60; ++step) {
    const middle = (low + high) / 2;
    if ((middle ** (mostPoints - 1) - 1) / (middle - 1) > most) high = middle;
    else low = middle;
  }
  return [...new Set([...positions(low).slice(0, -1), most])];
}

export function loaderKeywords(setting: LoaderSetting): Record<string, number | boolean> {
  const { numWorkers, pinMemory, prefetchFactor, persistentWorkers } = setting;
  return {
    num_workers: numWorkers,
    pin_memory: pinMemory,
    ...(prefetchFactor === null ? {} : { prefetch_factor: prefetchFactor }),
    persistent_workers: persistentWorkers,
  };
}

/** How to copy a batch; empty for a running job, whose own copies are not visible. */
export function copyKeywords(
  { kind }: Tuning["probe"],
  { nonBlocking }: LoaderSetting,
): Record<string, boolean> {
  return kind === "live" ? {} : { non_blocking: nonBlocking };
}

export function pythonArguments(values: Readonly<Record<string, number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => {
    const text = String(value);
    return `${name}=${typeof value === "boolean" ? capital(text) : text}`;
  });
}

/** The setting in the form that the job's framework takes, or a DataLoader's arguments. */
export function toPaste(probe: Tuning["probe"], setting: LoaderSetting): string {
  const { numWorkers, pinMemory } = setting;
  const keywords = loaderKeywords(setting);
  switch (probe.framework ?? null) {
    case "transformers": {
      const names = Object.entries(keywords).map(([name, value]) => [`dataloader_${name}`, value]);
      return `TrainingArguments(${pythonArguments(Object.fromEntries(names)).join(", ")})`;
    }
    case "timm":
      return `--workers ${numWorkers}${pinMemory ? " --pin-mem" : ""}`;
    case "lightning":
      return `in train_dataloader(): DataLoader(${pythonArguments(keywords).join(", ")})`;
    default: {
      const copying = probe.device === null ? {} : copyKeywords(probe, setting);
      return pythonArguments({ ...keywords, ...copying }).join(" ");
    }
  }
}
