import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";

/**
 * The trimmed text of `path` below `root`; null if it cannot be read. In /proc and /sys that means that the kernel or
 * the container hides it.
 */
export function readText(root: string, path: string): string | null {
  try {
    return readFileSync(join(root, path), "utf8").trim();
  } catch {
    return null;
  }
}

/** The first `maxBytes` of a file, because the kernel computes some files slowly; null if it cannot be read. */
export function readStart(root: string, path: string, maxBytes: number): string | null {
  return readBytes(root, path, maxBytes)?.toString("utf8") ?? null;
}

/** The first bytes of a file; fewer if the kernel limits what a user may read. Null if it cannot be read. */
export function readBytes(root: string, path: string, maxBytes: number): Buffer | null {
  try {
    const file = openSync(join(root, path), "r");
    try {
      const buffer = Buffer.alloc(maxBytes);
      return buffer.subarray(0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

/**
 * The whole number from 0 up in a text. Null for other texts and for inexact numbers, such as the 9223372036854771712
 * bytes that mean "no limit" in cgroups of version 1.
 */
export function countIn(text: string | undefined | null): number | null {
  const value = text != null && /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : null;
}

/** `countIn()` of a file; also null if it cannot be read. */
export function readCount(root: string, path: string): number | null {
  return countIn(readText(root, path));
}

/** The value after `key:` in lines like those of /proc/meminfo; null without it. */
export function fieldOf(text: string | null, key: string): string | null {
  const line = text?.split("\n").find((candidate) => candidate.split(":", 1)[0]?.trim() === key);
  return line === undefined ? null : line.slice(line.indexOf(":") + 1).trim();
}

export function exists(root: string, path: string): boolean {
  return existsSync(join(root, path));
}

export function listNames(root: string, path: string): string[] {
  try {
    return readdirSync(join(root, path));
  } catch {
    return [];
  }
}
