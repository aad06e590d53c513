import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { NativeAddon } from "./contract.js";
import {
  explainFailure,
  type FailedCandidate,
  inspectBinary,
  type LoadFailure,
  nothingLoads,
  systemGlibc,
} from "./load-failure.js";
import { type AddonCandidate, type AddonSource, candidates, type ProbeOutcome, probe } from "./probe.js";

export interface LoadedAddon {
  addon: NativeAddon;
  path: string;
  source: AddonSource;
  /** The emulated driver of this build, next to the addon. */
  emulatedLibraryPath: string;
  /** Preferred modules that exist but do not load. */
  passedOver: FailedCandidate[];
}

/**
 * Loads the compiled module in PINBENCH_ADDON, or else the first of the local build and the prebuilt module that loads.
 * One that has not loaded on this machine yet is first tried in another process, because it may crash. Throws an
 * "unavailable" PinbenchError that lists the attempts.
 */
export function loadAddon(environment: NodeJS.ProcessEnv = process.env): LoadedAddon {
  const failed: FailedCandidate[] = [];
  for (const candidate of candidates(environment)) {
    const result = tryCandidate(candidate, environment);
    if ("addon" in result) {
      const passedOver = failed.filter(({ failure }) => failure.kind !== "missing");
      // A process with an IPC channel works for a parent; while stopped, it could not see that channel close.
      if (process.connected !== undefined) result.addon.wakeAsParentEnds();
      return { ...candidate, addon: result.addon, passedOver };
    }
    failed.push({ ...candidate, failure: result });
  }
  throw nothingLoads(failed, systemGlibc());
}

function tryCandidate(
  candidate: AddonCandidate,
  environment: NodeJS.ProcessEnv,
): { addon: NativeAddon } | LoadFailure {
  const { path, emulatedLibraryPath } = candidate;
  // Without the emulated driver, the module still works with a GPU.
  const withEmulated = existsSync(emulatedLibraryPath);
  const defect = inspectBinary(path) ?? (withEmulated ? defectOfEmulated(emulatedLibraryPath) : null);
  if (defect !== null) return defect;
  const outcome = probe(candidate, withEmulated, environment);
  if (outcome.kind !== "loads" && outcome.kind !== "untried") return explainFailure(outcome, systemGlibc());
  const opened = openAddon(path);
  return "addon" in opened ? opened : explainFailure(opened, systemGlibc());
}

function defectOfEmulated(path: string): LoadFailure | null {
  const defect = inspectBinary(path);
  return defect && { ...defect, reason: `of ${basename(path)} beside it: ${defect.reason}` };
}

/** Uses dlopen, because `require` would run a file that does not end in ".node" as JavaScript. */
function openAddon(
  path: string,
): { addon: NativeAddon } | Extract<ProbeOutcome, { kind: "refused" | "foreign" }> {
  const loaded: { exports: Partial<NativeAddon> } = { exports: {} };
  try {
    process.dlopen(loaded, path);
  } catch (error) {
    return { kind: "refused", message: error instanceof Error ? error.message : String(error) };
  }
  if (typeof loaded.exports.openDriver !== "function") return { kind: "foreign" };
  return { addon: loaded.exports as NativeAddon };
}
