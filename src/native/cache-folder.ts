import { statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/**
 * The folder for what can be made anew, by the XDG rules; null where the environment names none, or where it is another
 * user's, as under sudo: what lies there is not to be trusted, and what is written there would be in that user's way.
 */
export function cacheFolder(environment: NodeJS.ProcessEnv): string | null {
  const { XDG_CACHE_HOME: named, HOME: home } = environment;
  if (named && isAbsolute(named))
    return isOurs(named, { absent: true }) ? own(join(named, "pinbench")) : null;
  if (!home || !isAbsolute(home) || !isOurs(home, { absent: false })) return null;
  return own(join(home, ".cache", "pinbench"));
}

function own(folder: string): string | null {
  return isOurs(folder, { absent: true }) ? folder : null;
}

function isOurs(folder: string, { absent }: { absent: boolean }): boolean {
  try {
    return statSync(folder).uid === process.geteuid?.();
  } catch (error) {
    return absent && (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
