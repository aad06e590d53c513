import { existsSync } from "node:fs";
import { basename } from "node:path";
import { type AddonSource, type Candidate, candidates } from "./candidates.js";
import type { NativeAddon } from "./contract.js";
import { explainFailure, type Failure } from "./explain-failure.js";
import { inspectBinary } from "./inspect-binary.js";
import { type FailedCandidate, nothingLoads } from "./load-error.js";
import { type ProbeOutcome, probe } from "./probe.js";
import { ProbeCache, probeKey } from "./probe-cache.js";
import { systemFacts } from "./system-facts.js";

export interface LoadedAddon {
  addon: NativeAddon;
  path: string;
  source: AddonSource;
  /** The emulated driver that belongs to this build: it lies beside the addon. */
  emulatedLibraryPath: string;
  /** Modules that come first, are there and do not load. */
  passedOver: FailedCandidate[];
}

/**
 * Loads the compiled module: the one that PINBENCH_ADDON names, else the first that loads of the local build, this
 * user's and the prebuilt one. What has not loaded on this machine before is tried in another process first, which a
 * bad one may crash. Throws an "unavailable" PinbenchError that says what was tried.
 */
export function loadAddon(environment: NodeJS.ProcessEnv = process.env): LoadedAddon {
  const cache = new ProbeCache(environment);
  const failed: FailedCandidate[] = [];
  for (const candidate of candidates(environment)) {
    const result = tryCandidate(candidate, cache);
    if ("addon" in result) {
      const passedOver = failed.filter(({ failure }) => failure.kind !== "missing");
      return { ...candidate, addon: result.addon, passedOver };
    }
    failed.push({ ...candidate, failure: result });
  }
  throw nothingLoads(failed, systemFacts().glibc);
}

function tryCandidate(candidate: Candidate, cache: ProbeCache): { addon: NativeAddon } | Failure {
  const { path, emulatedLibraryPath } = candidate;
  // Without it the module still serves a GPU.
  const withEmulated = existsSync(emulatedLibraryPath);
  const defect = inspectBinary(path) ?? (withEmulated ? defectOfEmulated(emulatedLibraryPath) : null);
  if (defect !== null) return defect;
  const key = probeKey(candidate);
  const isKnown = cache.has(key);
  if (!isKnown) {
    const outcome = probe(candidate, withEmulated);
    if (outcome.kind === "loads") cache.add(key);
    else if (outcome.kind !== "untried") return explainFailure(outcome, systemFacts());
  }
  const opened = openAddon(path);
  return "addon" in opened ? opened : explainFailure(opened, systemFacts());
}

function defectOfEmulated(path: string): Failure | null {
  const defect = inspectBinary(path);
  return defect && { ...defect, reason: `of ${basename(path)} beside it: ${defect.reason}` };
}

/** Not by `require`, which runs a file as JavaScript whose name does not end in ".node". */
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
