import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, type PinbenchError } from "../../errors.js";
import { unbroken } from "./made-folder.js";
import { unwritable } from "./output-stream.js";

/**
 * Mutual exclusion between processes by a file that only one of them can create (O_EXCL, which NFS also honours). Its
 * text names the holder. The lock of a living process on this machine is never taken, however long it is held; that of
 * an ended process is taken at once. Whether a process on another machine lives is unknown: it refreshes its lock, and
 * one that is not refreshed for 20 s is taken. So every holder confirms its lock right before it replaces or removes
 * something, and starts again if it has lost it. One case remains: a process on another machine that stops for 20 s
 * between confirming and the following rename.
 */

/** Identifies this process if /proc cannot. */
const ownRandomness = randomBytes(8).toString("hex");

const retryMs = 20;
const refreshMs = 2000;
/** A lock of another machine that is not refreshed for this long counts as abandoned. */
const staleMs = 20_000;
/** Many processes may come at once, and each holds the lock briefly. */
const patienceMs = 60_000;
const mostLosses = 10;
/** Most bytes of a lock's text that are read, because another program's file may have its name. */
const mostBytes = 1024;

/** A held lock, as far as is known. */
export interface FileLock {
  /** Rejects if another process has taken the lock: `work` is then called again, as soon as the lock is held again. */
  confirm: () => Promise<void>;
}

/**
 * Calls `work` while no other process holds the lock, and again if the lock was lost before `confirm()`: everything
 * before that must be harmless to repeat. Rejects like `work`, or with an "output" PinbenchError.
 */
export async function withFileLock<T>(path: string, work: (lock: FileLock) => Promise<T>): Promise<T> {
  return unbroken(async () => {
    for (let losses = 1; ; ++losses) {
      const token = ownToken();
      const handle = await acquire(path, token);
      const refresh = setInterval(() => void touch(handle), refreshMs).unref();
      const acquiredMs = performance.now();
      const isHeld = async () => (await stateOf(path))?.text === token;
      let lost: PinbenchError | null = null;
      const confirm = async () => {
        if (await isHeld()) return;
        lost = unwritable(path, "other processes took this lock away again and again");
        throw lost;
      };
      try {
        return await work({ confirm });
      } catch (error) {
        if (error !== lost || losses === mostLosses) throw error;
      } finally {
        clearInterval(refresh);
        await handle.close().catch(() => undefined);
        // If it cannot be read, it is still ours while it is fresh. If it stays, its process will have ended, and the
        // work under it is done.
        const isOurs = await isHeld().catch(() => performance.now() - acquiredMs < staleMs);
        if (isOurs) await rm(path, { force: true }).catch(() => undefined);
      }
    }
  });
}

/** Through the open file, because the path may belong to a new lock of another process. */
async function touch(handle: FileHandle): Promise<void> {
  const now = new Date();
  await handle.utimes(now, now).catch(() => undefined);
}

/**
 * This machine since its boot, and this namespace of processes, in which process ids are unique. Hosts may share a
 * name, and containers a host's name.
 */
function ownPlace(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${hostname()} ${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Without /proc nobody can see whether a process lives, so its locks are like those of another machine.
    return `unknown-${ownRandomness}`;
  }
}

function ownToken(): string {
  const startTime = processState(process.pid)?.startTime ?? "unknown";
  return `${ownPlace()} ${process.pid} ${startTime} ${randomBytes(8).toString("hex")}`;
}

/**
 * The start time distinguishes a process from a later one with the same id; null if it cannot be read. See
 * proc_pid_stat(5).
 */
function processState(pid: number): { startTime: string; isEnded: boolean } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name before it may have blanks and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { startTime: fields[19]!, isEnded: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return null;
  }
}

type Holder = "ended" | "alive" | "unknown";

/** The known state of the process that a lock names. */
function holderOf(text: string): { holder: Holder; pid: number } {
  const [, place, id, startTime] = /^(.*) (\d+) (\w+) \w+$/.exec(text) ?? [];
  const pid = Number(id);
  if (place !== ownPlace()) return { holder: "unknown", pid };
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return { holder: "ended", pid };
  }
  const state = processState(pid);
  const isAnother = state !== null && (state.isEnded || state.startTime !== startTime);
  return { holder: isAnother ? "ended" : "alive", pid };
}

/** Resolves with the open lock file when it has been created. */
async function acquire(path: string, token: string): Promise<FileHandle> {
  const startedMs = performance.now();
  let seen = { text: null as string | null, mtimeMs: 0, sinceMs: startedMs };
  for (;;) {
    const handle = await create(path, token);
    if (handle !== null) return handle;
    const nowMs = performance.now();
    const { text, mtimeMs } = (await stateOf(path)) ?? { text: null, mtimeMs: 0 };
    if (text !== seen.text || mtimeMs !== seen.mtimeMs) seen = { text, mtimeMs, sinceMs: nowMs };
    const { holder, pid } = holderOf(text ?? "");
    const isStale = holder === "unknown" && nowMs - seen.sinceMs > staleMs;
    if (text !== null && (holder === "ended" || isStale)) await takeAway(path, text);
    else if (nowMs - startedMs < patienceMs) await sleep(retryMs * (0.5 + Math.random()));
    else if (holder === "alive" && nowMs - seen.sinceMs > patienceMs / 2)
      throw unwritable(path, `the running process ${pid} holds this lock`);
    else throw unwritable(path, "other processes always hold this lock");
  }
}

/** Null if the lock exists already. */
async function create(path: string, token: string): Promise<FileHandle | null> {
  const handle = await open(path, "wx").catch((error: unknown) => {
    if (errorCode(error) === "EEXIST") return null;
    throw error;
  });
  if (handle === null) return null;
  try {
    await handle.writeFile(token);
    return handle;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** A lock's text, and when it was refreshed; null without a lock. */
async function stateOf(path: string): Promise<{ text: string; mtimeMs: number } | null> {
  try {
    // Opening a named pipe would never end, and a link may lead to one, or nowhere.
    if (!(await lstat(path)).isFile()) throw unwritable(path, "it is not a regular file");
    // Opened each time, because NFS asks the server then.
    const handle = await open(path, "r");
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(mostBytes), 0, mostBytes, 0);
      const text = buffer.toString("utf8", 0, bytesRead);
      return { text, mtimeMs: (await handle.stat()).mtimeMs };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Removes the lock if it still has this text: another process may just have done so, and hold a new one. */
async function takeAway(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString("hex")}.stale`;
  await rename(path, aside).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  const found = await stateOf(aside);
  if (found !== null && found.text !== text) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}
