import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { endingSignals, errorCode } from "../../errors.js";

/**
 * Makes a folder and its missing parents; returns the new ones, outer first. Rejects with the file system's error,
 * without leaving any.
 */
export async function makeFolder(path: string): Promise<string[]> {
  return makeFolderSync(path);
}

/**
 * Like makeFolder(), synchronously; `mode` is for the new folders. (Node's own recursive mkdir never ends if a folder
 * cannot be made in an existing one because of ENOENT, as in /proc.)
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

/** Removes the folders from makeFolder() that are empty: others may already use one. */
export async function removeEmptyFolders(made: readonly string[]): Promise<void> {
  removeEmptyFoldersSync(made);
}

function removeEmptyFoldersSync(made: readonly string[]): void {
  try {
    for (const folder of made.toReversed()) rmdirSync(folder);
  } catch {
    // Then its parents are not empty either.
  }
}

/** How long a hanging disk, or a lock of others, may delay the end after a signal. */
const patienceMs = 2000;

/** Calls of unbroken() in progress. */
let underWay = 0;
/** The signal that has come meanwhile; null for none. */
let held: NodeJS.Signals | null = null;
let patience: NodeJS.Timeout | undefined;

/**
 * Calls `work`, which has half-made files or locks until it is done, and delays SIGINT, SIGTERM and SIGHUP until then,
 * or for 2 s. If anyone else listens to signals, it decides instead. Resolves and rejects like `work`.
 */
export async function unbroken<T>(work: () => Promise<T>): Promise<T> {
  if (underWay++ === 0) for (const name of endingSignals) process.on(name, hold);
  try {
    return await work();
  } finally {
    // A signal reaches its listener in the next round of the event loop, and would be lost without one: two immediates
    // span a whole round.
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
