import { fieldOf, listNames, readText } from "./files.js";

/** Threads that Node starts for itself. Without room for all of them it is aborted, or hangs, before it can say why. */
const threadsOfNode = 12;

/** Capabilities that the limit does not hold for (capabilities(7)): CAP_SYS_ADMIN and CAP_SYS_RESOURCE. */
const exempting = (1n << 21n) | (1n << 24n);

/**
 * Whether this user may start this many more processes of Node: what RLIMIT_NPROC leaves, which counts the threads of all
 * of a user's processes. True where there is no such limit, or /proc does not tell.
 */
export function hasRoomForProcesses(count: number, root = "/"): boolean {
  const limit = /^Max processes +(\d+)/m.exec(readText(root, "proc/self/limits") ?? "")?.[1];
  const own = readText(root, "proc/self/status");
  const user = userOf(own);
  if (limit === undefined || user === null || user === "0") return true;
  if ((BigInt(`0x${fieldOf(own, "CapEff") ?? "0"}`) & exempting) !== 0n) return true;
  return threadsOfUser(user, root) + count * threadsOfNode <= Number(limit);
}

/** What the system itself would refuse them with, for shortageOf() to say in words. */
export function noRoomForProcesses(): Error {
  return Object.assign(new Error("no room for another process"), { code: "EAGAIN" });
}

function threadsOfUser(user: string, root: string): number {
  let threads = 0;
  for (const name of listNames(root, "proc")) {
    if (!/^\d+$/.test(name)) continue;
    const status = readText(root, `proc/${name}/status`);
    if (userOf(status) === user) threads += Number(fieldOf(status, "Threads") ?? 0);
  }
  return threads;
}

/** The real user's id in a text of /proc/PID/status. */
function userOf(status: string | null): string | null {
  return fieldOf(status, "Uid")?.split(/\s+/, 1)[0] ?? null;
}
