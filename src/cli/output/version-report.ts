import { existsSync } from "node:fs";
import type { BuildInfo } from "../../native/device-contract.js";
import { loadAddon } from "../../native/load.js";
import { describeFailed, neededGlibc, systemGlibc } from "../../native/load-failure.js";
import { packageCommit } from "../../package-facts.js";

interface VersionReport {
  version: string;
  /** The commit of the build and its date; null if the build did not know it. */
  commit: string | null;
  commitDate: string | null;
  node: string;
  platform: string;
  /** Null for a C library other than glibc. */
  glibc: string | null;
  /** Null if no addon loads. */
  addon:
    | ({
        path: string;
        source: string;
        neededGlibc: string | null;
        /** Null if it is missing next to the addon. */
        emulatedDriver: string | null;
      } & BuildInfo)
    | null;
  /** Preferred addons that exist but do not load; the whole error if none loads. */
  notUsed: string[];
}

export function versionReport(version: string): VersionReport {
  const system = {
    version,
    ...packageCommit(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    glibc: systemGlibc(),
  };
  try {
    const { addon, path, source, emulatedLibraryPath, passedOver } = loadAddon();
    return {
      ...system,
      addon: {
        path,
        source,
        neededGlibc: neededGlibc(path),
        emulatedDriver: existsSync(emulatedLibraryPath) ? emulatedLibraryPath : null,
        ...addon.build,
      },
      notUsed: passedOver.map(describeFailed),
    };
  } catch (error) {
    return { ...system, addon: null, notUsed: [(error as Error).message] };
  }
}
