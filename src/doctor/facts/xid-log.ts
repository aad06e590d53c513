import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { sysfsPciName } from "../../host/topology.js";

/**
 * Errors that NVIDIA's driver logged since boot, oldest first: device, number in NVIDIA's document "XID Errors", and
 * message. Null if this user may not read the kernel log.
 */
export function readXidErrors(root: string) {
  const log = readKernelLog(root);
  return log === null ? null : findXidErrors(log.split("\n"));
}

/**
 * The kernel's log records of this boot: "6,1234,5678901,-;TEXT" (Documentation/ABI/testing/dev-kmsg). Each read
 * returns one record; with O_NONBLOCK it does not wait for new ones.
 */
function readKernelLog(root: string): string | null {
  let file: number;
  try {
    file = openSync(join(root, "dev/kmsg"), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const record = Buffer.alloc(8 * 1024);
    const records: string[] = [];
    // The kernel's buffer has at most some MiB.
    for (let tries = 0; tries < 65_536; ++tries) {
      try {
        const bytes = readSync(file, record, 0, record.length, null);
        if (bytes === 0) break;
        records.push(record.toString("utf8", 0, bytes));
      } catch (error) {
        // EPIPE: the record was overwritten, and the next read returns the next existing one.
        if ((error as NodeJS.ErrnoException).code === "EPIPE") continue;
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") break;
        return null;
      }
    }
    return records.join("");
  } finally {
    closeSync(file);
  }
}

/** "NVRM: Xid (PCI:0000:c1:00): 79, pid=…, GPU has fallen off the bus." */
const xidLine =
  /NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.\d)?\): (\d{1,4}),?\s*(.*)$/i;

function findXidErrors(lines: readonly string[]) {
  return lines.flatMap((line) => {
    const match = xidLine.exec(line);
    const pciName = match === null ? null : sysfsPciName(`${match[1]}.0`);
    return match === null || pciName === null
      ? []
      : [{ pciName, xid: Number(match[2]), text: match[3]!.trim() }];
  });
}
