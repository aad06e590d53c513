import { statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { packageRoot, packageVersion } from "../package-facts.js";

/** The compiled module's file name, wherever it lies. */
export const addonName = "pinbench.node";

/** The file name of the driver that plays a GPU in host memory; it lies beside the compiled module. */
export const emulatedLibraryName = "libpinbench_emulated.so";

/** Where a build in the package's own folder puts both files. */
export const localBuildFolder = join(packageRoot, "build", "Release");

/** Where a compiled module comes from, as messages and `--version --json` call it. */
export type AddonSource = "PINBENCH_ADDON" | "local build" | "build of this user" | "prebuilt";

/** A place where a compiled module may be. */
export interface Candidate {
  source: AddonSource;
  /** Of the compiled module. */
  path: string;
  /** Of the emulated driver that was built with it. */
  emulatedLibraryPath: string;
}

/**
 * Where compiled modules are looked for, in order: what was built here comes before what the package brings. One that
 * PINBENCH_ADDON names is the only candidate.
 */
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

function inFolder(source: AddonSource, folder: string): Candidate {
  return {
    source,
    path: join(folder, addonName),
    emulatedLibraryPath: join(folder, emulatedLibraryName),
  };
}

/** Where `pinbench build` builds if the package's folder cannot be written; null where there is no such place. */
export function userBuildFolder(environment: NodeJS.ProcessEnv): string | null {
  const cache = cacheFolder(environment);
  return cache === null ? null : join(cache, `build-${packageVersion()}`);
}

/**
 * pinbench's folder for files that can be made anew, by the XDG rules; null where the environment names none, or where
 * it belongs to another user, as under sudo: modules that lie there are not to be trusted, and files written there
 * would be in that user's way.
 */
export function cacheFolder({ XDG_CACHE_HOME: named, HOME: home }: NodeJS.ProcessEnv): string | null {
  if (named && isAbsolute(named)) {
    return isOurs(named, { absent: true }) ? oursOrNull(join(named, "pinbench")) : null;
  }
  if (!home || !isAbsolute(home) || !isOurs(home, { absent: false })) return null;
  return oursOrNull(join(home, ".cache", "pinbench"));
}

function oursOrNull(folder: string): string | null {
  return isOurs(folder, { absent: true }) ? folder : null;
}

/** Whether a folder belongs to this user; `absent` is the answer for one that is not there. */
function isOurs(folder: string, { absent }: { absent: boolean }): boolean {
  try {
    return statSync(folder).uid === process.geteuid?.();
  } catch (error) {
    return absent && (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
