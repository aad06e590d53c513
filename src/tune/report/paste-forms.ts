import { capital } from "../../draw/words.js";
import type { LoaderSetting, Tuning } from "../../results/tuning.js";

/** A setting by the names that a DataLoader's arguments have; prefetch_factor is none of one without workers. */
export function loaderKeywords(setting: LoaderSetting): Record<string, number | boolean> {
  const { numWorkers, pinMemory, prefetchFactor, persistentWorkers } = setting;
  return {
    num_workers: numWorkers,
    pin_memory: pinMemory,
    ...(prefetchFactor === null ? {} : { prefetch_factor: prefetchFactor }),
    persistent_workers: persistentWorkers,
  };
}

/** How a batch is to be copied; nothing in a running job, whose script copies as it does: that is not seen. */
export function copyKeywords(
  { kind }: Tuning["probe"],
  { nonBlocking }: LoaderSetting,
): Record<string, boolean> {
  return kind === "live" ? {} : { non_blocking: nonBlocking };
}

/** Arguments as Python has them: "num_workers=4", "pin_memory=True". */
export function pythonArguments(values: Readonly<Record<string, number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => {
    const text = String(value);
    return `${name}=${typeof value === "boolean" ? capital(text) : text}`;
  });
}

/** The setting as it is written where the job's loader is made: by the framework that the job was seen to use, if any. */
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
