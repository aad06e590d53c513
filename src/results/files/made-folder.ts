import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { endingSignals, errorCode } from "../../errors.js";

/**
 * Makes a folder and those above it that are not there; returns the ones it made, outer first. Rejects with the file
 * system's error, having made none.
 */
export async function makeFolder(path: string): Promise<string[]> {
  return makeFolderSync(path);
}

/**
 * As makeFolder(), where nothing can be awaited; `mode` is of the folders made. (Node's own recursive mkdir never ends
 * where a folder cannot be made in one that is there because of ENOENT, as in /proc.)
 */
export function makeFolderSync(path: string, mode = 0o777): string[] {
  try {
    mkdirSync(path, { mode });
    return [path];
  } catch (error) {
    if (errorCode(error) === "EEXIST" && statSync(path).isDirectory()) return [];
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    const above = makeFolderSync(dirname(path), mode);
    try {
      mkdirSync(path, { mode });
    } catch (error) {
      // Another process may be making the same folders.
      if (errorCode(error) === "EEXIST" && statSync(path).isDirectory()) return above;
      removeEmptyFoldersSync(above);
      throw error;
    }
    return [...above, path];
  }
}

/** Removes what makeFolder() made, as far as it is empty: somebody else may have come to use a folder. */
export async function removeEmptyFolders(made: readonly string[]): Promise<void> {
  removeEmptyFoldersSync(made);
}

function removeEmptyFoldersSync(made: readonly string[]): void {
  try {
    for (const folder of made.toReversed()) rmdirSync(folder);
  } catch {
    // Then those above it are not empty either.
  }
}

/** How long a disk that hangs, or a lock that others hold, may hold off the end that a signal asks for. */
const patienceMs = 2000;

/** Calls of unbroken() that are under way. */
let underWay = 0;
/** What has come meanwhile; null for nothing. */
let held: NodeJS.Signals | null = null;
let patience: NodeJS.Timeout | undefined;

/**
 * Calls `work`, which has files or locks half made until it is done, and lets no SIGINT, SIGTERM or SIGHUP end the process
 * before: one that would have done so does when the work is over, or after 2 s. Where somebody else listens to signals
 * it is for them to say what becomes of one. Resolves and rejects as `work` does.
 */
export async function unbroken<T>(work: () => Promise<T>): Promise<T> {
  if (underWay++ === 0) for (const name of endingSignals) process.on(name, hold);
  try {
    return await work();
  } finally {
    // One that has come would be lost with its listener, which it reaches in the next round of the event loop: between
    // two immediates lies a whole one.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    if (--underWay === 0) letGo();
  }
}

function hold(name: NodeJS.Signals): void {
  if (process.listenerCount(name) > 1 || held !== null) return;
  held = name;
  patience = setTimeout(letGo, patienceMs);
}

function letGo(): void {
  for (const name of endingSignals) process.off(name, hold);
  clearTimeout(patience);
  const name = held;
  held = null;
  if (name !== null) process.kill(process.pid, name);
}
