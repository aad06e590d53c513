import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { readBytes, readText } from "../../host/files.js";
import { sysfsPciName } from "../../host/topology.js";

/** An error that NVIDIA's driver logged to the kernel's log. */
export interface XidError {
  pciName: string;
  /** Its number in NVIDIA's document "XID Errors". */
  xid: number;
  /** The driver's message. */
  text: string;
}

/** The files with kernel messages of system loggers, on Debian, Red Hat and similar systems. */
const logFiles = ["var/log/kern.log", "var/log/messages", "var/log/syslog"];

/** Only the end of a log file is read: older errors than that do not matter. */
const tailBytes = 256 * 1024;

/** The errors of this boot, the oldest first; null if this user can read neither the kernel's log nor a log file. */
export function readXidErrors(root: string): XidError[] | null {
  const lines = readLines(root);
  return lines === null ? null : findXidErrors(lines);
}

function readLines(root: string): string[] | null {
  const log = readKernelLog(root);
  if (log !== null) return log.split("\n");
  for (const file of logFiles) {
    const tail = readBytes(root, file, tailBytes, "last");
    if (tail !== null) return linesOfThisBoot(tail.toString("utf8").split("\n"), root);
  }
  return null;
}

/**
 * All records of this boot that the kernel still has: "6,1234,5678901,-;TEXT" (Documentation/ABI/testing/dev-kmsg).
 * Each read returns one record; without O_NONBLOCK the last would wait for the next record.
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
        // EPIPE: this record was overwritten meanwhile, and the next read returns the next existing one.
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

/** Lines after the kernel's first one of this boot, or, if that is not among them, those with a later time. */
function linesOfThisBoot(lines: readonly string[], root: string): string[] {
  const start = lines.findLastIndex((line) => /\bkernel: .*\bLinux version \d/.test(line));
  if (start >= 0) return lines.slice(start);
  const bootS = Number(/^btime (\d{1,12})$/m.exec(readText(root, "proc/stat") ?? "")?.[1] ?? Number.NaN);
  const upS = Number(/^(\d{1,10}(?:\.\d+)?)\s/.exec(readText(root, "proc/uptime") ?? "")?.[1] ?? Number.NaN);
  return lines.filter((line) => (timeOf(line, (bootS + upS) * 1e3) ?? Number.NaN) >= bootS * 1e3);
}

/**
 * The time of a line, in milliseconds since 1970. Lines begin with "2026-11-22T19:31:22.123456+00:00", or with "Nov 22
 * 19:31:22" in the last year that puts it no later than a day from now. Null for other lines.
 */
function timeOf(line: string, nowMs: number): number | null {
  const [iso] = /^\d{4}-\d\d-\d\dT\S+/.exec(line) ?? [];
  if (iso !== undefined) return Date.parse(iso);
  const [text] = /^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d/.exec(line) ?? [];
  if (text === undefined || !Number.isFinite(nowMs)) return null;
  const year = new Date(nowMs).getFullYear();
  const thisYear = Date.parse(`${text} ${year}`);
  return thisYear <= nowMs + 24 * 3600e3 ? thisYear : Date.parse(`${text} ${year - 1}`);
}

/** "NVRM: Xid (PCI:0000:c1:00): 79, pid=…, GPU has fallen off the bus." */
const xidLine =
  /NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.\d)?\): (\d{1,4}),?\s*(.*)$/i;

/** Limits the log of a machine that fails over and over. */
const mostErrors = 1000;

function findXidErrors(lines: readonly string[]): XidError[] {
  return lines
    .flatMap((line) => {
      const match = xidLine.exec(line);
      const pciName = match === null ? null : sysfsPciName(`${match[1]}.0`);
      return match === null || pciName === null
        ? []
        : [{ pciName, xid: Number(match[2]), text: match[3]!.trim() }];
    })
    .slice(-mostErrors);
}
