import type { BackendName } from "../settings/choices.js";
import { defaultsOf } from "../settings/settings.js";
import { type RunSettings, runSettings } from "../settings/table.js";
import type { ResultDocument } from "./schema.js";

/** A run's settings with what it came to measure with: the backend, and as much time as the preset gave. */
export type MeasuredSettings = RunSettings & { backend: BackendName; budgetNs: number };

/**
 * How a result's cells were measured, for a repetition; null for a result of another tool, which does not say. Results
 * of pinbench 0.1.0 have no settings: what their plan says stands in.
 */
export function settingsOfResult({ backend, plan, host }: ResultDocument): MeasuredSettings | null {
  if (plan === null) return null;
  if (plan.settings) return { ...plan.settings, backend, budgetNs: plan.settings.budgetNs ?? plan.budgetNs };
  const { precision, samplesPerCell, staging, verify, seed } = plan;
  // Unchecked: what a result says it was measured with, it was.
  const settings: MeasuredSettings = {
    ...defaultsOf(runSettings),
    backend,
    budgetNs: plan.budgetNs,
    precision,
    samplesPerCell,
    stagingChunkBytes: staging.chunkBytes,
    stagingSlots: staging.slots,
    verify,
    seed,
    numa: plan.numa ?? "local",
    origins: {},
  };
  const { lastLevelCacheBytes = 0, lastLevelCacheSource } = host ?? {};
  const origin = lastLevelCacheSource === "--llc" ? "flag" : lastLevelCacheSource;
  if (origin !== "flag" && origin !== "configuration") return settings;
  return { ...settings, lastLevelCacheBytes, origins: { lastLevelCacheBytes: origin } };
}
