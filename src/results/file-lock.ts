import { randomBytes } from "node:crypto";
import { readlinkSync } from "node:fs";
import { link, open, readFile, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../errors.js";
import { unwritable } from "./output-stream.js";
import { unbroken } from "./unbroken.js";

/**
 * Mutual exclusion between processes by a file that only one of them can create (O_EXCL, which NFS keeps too). Its text
 * names the holder, and what is done under it takes milliseconds: a lock of a process of this machine that is gone, and
 * one that stayed the same for 10 s, was left behind by a process that was killed, and is taken away.
 */

/** Makes a place that is not known one that no other process has. */
const ownRandomness = randomBytes(8).toString("hex");

const retryMs = 20;
const staleMs = 10_000;
/** Many may come at once, and each holds it for a moment. */
const patienceMs = 60_000;

/** Calls `work` while no other process holds the lock. Rejects as `work` does, or with an "output" PinbenchError. */
export async function withFileLock<T>(path: string, work: (lock: FileLock) => Promise<T>): Promise<T> {
  const token = ownToken();
  const isHeld = async () => (await textOf(path)) === token;
  return unbroken(async () => {
    await acquire(path, token);
    const acquiredMs = performance.now();
    try {
      return await work({ isHeld });
    } finally {
      // Where it cannot be read: nobody takes one away that is young. And one that stays is known to be left behind, so
      // that what was done under it is no less done.
      const isOurs = await isHeld().catch(() => performance.now() - acquiredMs < staleMs);
      if (isOurs) await rm(path, { force: true }).catch(() => undefined);
    }
  });
}

/** A lock that is held, as far as one can tell. */
export interface FileLock {
  /** False where another process took it for one that was left behind, as after this one was stopped for long. */
  isHeld: () => Promise<boolean>;
}

/** Process ids mean something within one host and one namespace of processes alone. */
function ownPlace(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Without /proc nobody can tell: then a lock is left behind only where it stays the same for long.
    return `unknown-${ownRandomness}`;
  }
}

function ownToken(): string {
  return `${ownPlace()} ${process.pid} ${randomBytes(8).toString("hex")}`;
}

async function acquire(path: string, token: string): Promise<void> {
  const startedMs = performance.now();
  let seen = { text: null as string | null, sinceMs: startedMs };
  while (!(await create(path, token))) {
    const nowMs = performance.now();
    const text = await textOf(path);
    if (text !== seen.text) seen = { text, sinceMs: nowMs };
    if (text !== null && (isGone(text) || nowMs - seen.sinceMs > staleMs)) await takeAway(path, text);
    else if (nowMs - startedMs > patienceMs)
      throw unwritable(path, "other processes hold this lock all the time");
    else await sleep(retryMs * (0.5 + Math.random()));
  }
}

/** False where there is a lock already. */
async function create(path: string, token: string): Promise<boolean> {
  const handle = await open(path, "wx").catch((error: unknown) => {
    if (errorCode(error) === "EEXIST") return null;
    throw error;
  });
  if (handle === null) return false;
  try {
    try {
      await handle.writeFile(token);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function textOf(path: string): Promise<string | null> {
  try {
    // Opening a named pipe would wait without end.
    if (!(await stat(path)).isFile()) throw unwritable(path, "it is no regular file");
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Whether the process that this lock names was one of here, and has ended. */
function isGone(text: string): boolean {
  const [, place, pid] = /^(.*) (\d+) \w+$/.exec(text) ?? [];
  if (place !== ownPlace()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return errorCode(error) === "ESRCH";
  }
}

/** Removes the lock if it still has this text: another process may have done so just now, and hold a new one. */
async function takeAway(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString("hex")}.stale`;
  await rename(path, aside).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  const found = await textOf(aside);
  if (found !== null && found !== text) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}
