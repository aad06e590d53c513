import type { ResultDocument } from "./schema.js";

/** How a run measured its cells: what a repetition of it must share. */
export interface RepeatSettings {
  backend: ResultDocument["backend"];
  precision: number;
  budgetNs: number;
  samplesPerCell: number | null;
  staging: { chunkBytes: number; slots: number };
  verify: boolean;
  seed: number;
  /** Where it was stated; null where it was as the system says. */
  lastLevelCacheBytes: number | null;
  numa: "local" | number;
  /** Null leaves it to the memory available. */
  maxPinnedBytes: number | null;
}

/** Null for a result of another tool, which does not say how it measured. */
export function repeatSettings({ backend, plan, host }: ResultDocument): RepeatSettings | null {
  if (plan === null) return null;
  const { precision, budgetNs, samplesPerCell, staging, verify, seed } = plan;
  const isStated = host !== null && statedSources.includes(host.lastLevelCacheSource);
  return {
    backend,
    precision,
    budgetNs,
    samplesPerCell,
    staging,
    verify,
    seed,
    lastLevelCacheBytes: isStated ? host.lastLevelCacheBytes : null,
    numa: plan.numa ?? "local",
    maxPinnedBytes: null,
  };
}

const statedSources: readonly string[] = ["--llc", "configuration"];

/** For a result that does not say how it was measured; as `pinbench run` does without flags. */
export const defaultSettings: RepeatSettings = {
  backend: "cuda",
  precision: 0.01,
  budgetNs: 8e9,
  samplesPerCell: null,
  staging: { chunkBytes: 2 * 1024 ** 2, slots: 3 },
  verify: true,
  seed: 1,
  lastLevelCacheBytes: null,
  numa: "local",
  maxPinnedBytes: null,
};
