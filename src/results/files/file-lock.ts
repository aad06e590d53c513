import { readlinkSync } from "node:fs";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, PinbenchError } from "../../errors.js";
import { readText } from "../../host/files.js";
import { readProcessStat } from "../../host/processes.js";
import { orNull, refuseLink, temporaryName } from "./store.js";

const retryMs = 20;
/** Long, because many processes may queue; each holds the lock briefly. */
const patienceMs = 60_000;

/**
 * Calls `work` while no other process holds the lock. The lock is a file that only one process can create (O_EXCL,
 * which NFS supports); its text names the holder. A lock of an ended process on this machine is taken at once; others
 * are waited for. Rejects like `work`, or with an "output" PinbenchError.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await refuseLink(path);
  await acquire(path);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function acquire(path: string): Promise<void> {
  const untilMs = performance.now() + patienceMs;
  const own = `${ownProcesses()} ${process.pid} ${readProcessStat(process.pid)?.started}`;
  for (;;) {
    const text = await orNull(readFile(path, "utf8"), "ENOENT");
    if (text === null) {
      if (await isCreated(path, own)) return;
    } else if (hasEnded(text)) await withFileLock(`${path}.stale`, () => removeEnded(path));
    else if (performance.now() < untilMs) await sleep(retryMs * (0.5 + Math.random()));
    else {
      throw new PinbenchError("output", `another process holds ${path} ("${text.slice(0, 200)}").`, {
        hint: "Remove this file if its process has ended.",
      });
    }
  }
}

/** False if another process holds the lock. As a link it appears with its text, even if this process is killed next. */
async function isCreated(path: string, text: string): Promise<boolean> {
  const whole = temporaryName(path);
  try {
    await writeFile(whole, text, { flag: "wx" });
    const created = link(whole, path).catch((error) => {
      if (errorCode(error) === "EEXIST") throw error;
      // FAT and mounted buckets have no hard links.
      return writeFile(path, text, { flag: "wx" });
    });
    return (await orNull(created, "EEXIST")) !== null;
  } finally {
    await rm(whole, { force: true });
  }
}

/**
 * Identifies this machine since its boot and this process namespace, in which process ids are unique. Host names are
 * not enough: hosts may share one, and containers may have their host's.
 */
function ownProcesses(): string {
  return `${hostname()} ${readText("/", "proc/sys/kernel/random/boot_id")} ${readlinkSync("/proc/self/ns/pid")}`;
}

/** Whether the lock's holder has certainly ended. Its id may belong to another process by now. */
function hasEnded(text: string): boolean {
  const [, processes, pid, started] = /^(.*) (\d+) (\d+)$/.exec(text) ?? [];
  if (processes !== ownProcesses()) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return true;
  }
  const stat = readProcessStat(Number(pid));
  return stat !== null && (stat.hasEnded || stat.started !== started);
}

/** Call it under a lock of its own: nobody else then takes the lock's place between reading and removing it. */
async function removeEnded(path: string): Promise<void> {
  const text = await orNull(readFile(path, "utf8"), "ENOENT");
  if (text !== null && hasEnded(text)) await rm(path, { force: true });
}
