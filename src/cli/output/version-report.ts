import { existsSync } from "node:fs";
import type { BuildInfo } from "../../native/device-contract.js";
import { loadAddon } from "../../native/load.js";
import { describeFailed, neededGlibc, systemGlibc } from "../../native/load-failure.js";
import { packageCommit } from "../../package-facts.js";

/** `pinbench --version --json`: what a report of a fault has to say about the program and where it runs. */
export interface VersionReport {
  version: string;
  /** What it was built from, and when that was committed; null where the build knew no commit. */
  commit: string | null;
  commitDate: string | null;
  node: string;
  platform: string;
  /** Null where the C library is another one. */
  glibc: string | null;
  /** Null where none loads. */
  addon:
    | ({
        path: string;
        source: string;
        neededGlibc: string | null;
        /** Null where it does not lie beside the addon. */
        emulatedDriver: string | null;
      } & BuildInfo)
    | null;
  /** Modules that come first, are there and do not load; where none does, the whole error. */
  notUsed: string[];
}

/** What this program is and where it runs; opens no driver. Never throws. */
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
