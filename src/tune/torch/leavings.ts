import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PinbenchError } from "../../errors.js";

/** For a probe's files; throws a usage error where none can be made. */
export function temporaryFolder(): string {
  const parent = tmpdir();
  try {
    return mkdtempSync(join(parent, "pinbench-"));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new PinbenchError("usage", `No folder can be made in ${parent} (${code}).`, {
      hint: "TMPDIR names another place for temporary files.",
      cause: error,
    });
  }
}

/** Whether a process of the group runs. Those that have ended count for the kernel until they are waited for, which in a container may be never. */
export function hasLivingMember(group: number): boolean {
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      // "PID (NAME) STATE PARENT GROUP ...", where the name may hold anything.
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const [state, , its] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(its) === group && state !== "Z" && state !== "X") return true;
    } catch {
      // It has gone.
    }
  }
  return false;
}

/** multiprocessing's, which have names where workers are not forked (serve.py). */
export function removeSemaphores(prefix: string): void {
  try {
    for (const name of readdirSync("/dev/shm")) {
      if (name.startsWith(`sem.${prefix}-`)) rmSync(join("/dev/shm", name), { force: true });
    }
  } catch {
    // There is no such folder.
  }
}
