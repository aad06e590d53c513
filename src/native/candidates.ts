import { dirname, join, resolve } from "node:path";
import { packageRoot, packageVersion } from "../package-facts.js";
import { cacheFolder } from "./cache-folder.js";

export const addonName = "pinbench.node";
export const emulatedLibraryName = "libpinbench_emulated.so";

export const localBuildFolder = join(packageRoot, "build", "Release");

export type AddonSource = "PINBENCH_ADDON" | "local build" | "build of this user" | "prebuilt";

/** A compiled module that may be there. */
export interface Candidate {
  source: AddonSource;
  path: string;
  /** The emulated driver that belongs to it lies beside it. */
  emulatedLibraryPath: string;
}

/** Where compiled modules are looked for, in order. One that PINBENCH_ADDON names is never replaced by another. */
export function candidates(environment: NodeJS.ProcessEnv): Candidate[] {
  const named = environment.PINBENCH_ADDON;
  if (named) {
    const path = resolve(named);
    return [
      { source: "PINBENCH_ADDON", path, emulatedLibraryPath: join(dirname(path), emulatedLibraryName) },
    ];
  }
  const ofUser = userBuildFolder(environment);
  return [
    inFolder("local build", localBuildFolder),
    ...(ofUser === null ? [] : [inFolder("build of this user", ofUser)]),
    inFolder("prebuilt", join(packageRoot, "prebuilds", `linux-${process.arch}`)),
  ];
}

/** Where `pinbench build` builds if the package's folder cannot be written; null where there is no such place. */
export function userBuildFolder(environment: NodeJS.ProcessEnv): string | null {
  const cache = cacheFolder(environment);
  if (cache === null) return null;
  return join(cache, `build-${packageVersion()}`);
}

function inFolder(source: AddonSource, folder: string): Candidate {
  return {
    source,
    path: join(folder, addonName),
    emulatedLibraryPath: join(folder, emulatedLibraryName),
  };
}
