import type { BackendName } from "../settings/choices.js";
import { fillRunSettings, type RunSettings } from "../settings/settings.js";
import type { ResultDocument } from "./schema.js";

/** A run's settings with what it came to measure with: the backend, and as much time as the preset gave. */
export type MeasuredSettings = RunSettings & { backend: BackendName; budgetNs: number };

/**
 * How a result's cells were measured, for a repetition; null for a result of another tool, which does not say. Results
 * of pinbench 0.1.0 have no settings: what their plan says stands in.
 */
export function settingsOfResult({ backend, plan, host }: ResultDocument): MeasuredSettings | null {
  if (plan === null) return null;
  const measured = { backend, budgetNs: plan.budgetNs };
  if (plan.settings) return { ...plan.settings, backend, budgetNs: plan.settings.budgetNs ?? plan.budgetNs };
  const { precision, samplesPerCell, staging, verify, seed } = plan;
  const filled = fillRunSettings({
    origin: "flag",
    given: {
      ...measured,
      precision,
      samplesPerCell,
      stagingChunkBytes: staging.chunkBytes,
      stagingSlots: staging.slots,
      verify,
      seed,
      numa: plan.numa ?? "local",
    },
  });
  const settings = { ...filled, ...measured };
  const { lastLevelCacheBytes = 0, lastLevelCacheSource } = host ?? {};
  const origin = lastLevelCacheSource === "--llc" ? "flag" : lastLevelCacheSource;
  if (origin !== "flag" && origin !== "configuration") return settings;
  return { ...settings, lastLevelCacheBytes, origins: { ...settings.origins, lastLevelCacheBytes: origin } };
}
