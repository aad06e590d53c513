import { capital } from "../../draw/words.js";
import type { LoaderSetting, Tuning } from "../../results/tuning.js";

/** A setting as DataLoader arguments; without workers there is no prefetch_factor. */
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

/** Arguments in Python: "num_workers=4", "pin_memory=True". */
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
