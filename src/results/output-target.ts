import type { Stats } from "node:fs";
import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode } from "../errors.js";
import { inheritedDescriptor } from "./stream-target.js";

/** What an output path leads to. */
export type OutputTarget =
  | { kind: "stream"; path: string }
  | { kind: "directory"; path: string }
  /** `path` is free of symbolic links; `existing` is null where the file is not there yet. */
  | { kind: "file"; path: string; existing: Stats | null };

const mostLinks = 40;

/** Follows `path`, also through a link whose target does not exist yet. Rejects with the file system's error. */
export async function resolveTarget(path: string): Promise<OutputTarget> {
  if (inheritedDescriptor(path) !== null) {
    return { kind: "stream", path };
  }
  const existing = await orNullIfMissing(stat(path));
  if (existing === null) {
    return { kind: "file", path: await resolveMissing(path, mostLinks), existing };
  }
  if (existing.isFile()) {
    return { kind: "file", path: await realpath(path), existing };
  }
  return { kind: existing.isDirectory() ? "directory" : "stream", path };
}

/** Where a file would come to be if `path` were opened for writing. */
async function resolveMissing(path: string, linksLeft: number): Promise<string> {
  const folder = await realpath(dirname(resolve(path)));
  const inFolder = join(folder, basename(path));
  const link = await readlink(inFolder).catch((error: unknown) => {
    if (errorCode(error) === "EINVAL" || errorCode(error) === "ENOENT") {
      return null;
    }
    throw error;
  });
  if (link === null || linksLeft === 0) {
    return inFolder;
  }
  return resolveMissing(resolve(folder, link), linksLeft - 1);
}

async function orNullIfMissing<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (errorCode(error) === "ENOENT") {
      return null;
    }
    throw error;
  }
}
