import { readlinkSync } from "node:fs";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, PinbenchError } from "../../errors.js";
import { readText } from "../../host/files.js";
import { readProcessStat } from "../../host/processes.js";
import { orNull, refuseLink } from "./store.js";

const retryMs = 20;
/** Many processes may come at once, and each holds the lock briefly. */
const patienceMs = 60_000;

/**
 * Calls `work` while no other process holds the lock: a file that only one process can create (O_EXCL, which NFS also
 * honours), whose text names the holder. The lock of a process of this machine that has ended is taken at once; any
 * other is waited for. Rejects like `work`, or with an "output" PinbenchError.
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
  for (;;) {
    const own = `${ownProcesses()} ${process.pid} ${readProcessStat(process.pid)?.started}`;
    const isOurs = await orNull(
      writeFile(path, own, { flag: "wx" }).then(() => true),
      "EEXIST",
    );
    if (isOurs === true) return;
    const text = await orNull(readFile(path, "utf8"), "ENOENT");
    if (text !== null && hasEnded(text)) await takeAway(path, text);
    else if (performance.now() < untilMs) await sleep(retryMs * (0.5 + Math.random()));
    else {
      throw new PinbenchError("output", `another process holds ${path} ("${text?.slice(0, 200) ?? ""}").`, {
        hint: "Remove this file if its process has ended.",
      });
    }
  }
}

/**
 * This machine since its boot, and this namespace of processes, in which process ids are unique. Hosts may share a
 * name, and containers a host's name.
 */
function ownProcesses(): string {
  return `${hostname()} ${readText("/", "proc/sys/kernel/random/boot_id")} ${readlinkSync("/proc/self/ns/pid")}`;
}

/** Whether the process that a lock names is known to have ended: its id may be another's by now. */
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

/** Removes the lock if it still has this text: another process may just have done so, and hold a new one. */
async function takeAway(path: string, text: string): Promise<void> {
  const aside = `${path}.${process.pid}.stale`;
  await orNull(rename(path, aside), "ENOENT");
  const found = await orNull(readFile(aside, "utf8"), "ENOENT");
  if (found !== null && found !== text) await orNull(link(aside, path), "EEXIST");
  await rm(aside, { force: true });
}
