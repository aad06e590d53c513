import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PinbenchError } from "../../errors.js";
import { sumOf } from "../../stats/variance.js";

/** The files that samples are read from, one a sample. */
export interface DataFolder {
  path: string;
  /** Sorted, whatever the file system's order. */
  files: string[];
  totalBytes: number;
  meanBytes: number;
}

/** Number of files whose sizes are requested at once, because network file systems are slow for each. */
const atOnce = 64;

/**
 * The regular files in and below a folder, except names that begin with a dot and links, which may lead anywhere.
 * Throws a usage error if there is nothing to read, or some of it is unreadable.
 */
export async function listDataFolder(path: string): Promise<DataFolder> {
  const files: string[] = [];
  const folders = [path];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(unreadable(folder));
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const entryPath = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(entryPath);
      else if (entry.isFile()) files.push(entryPath);
    }
  }
  if (files.length === 0) {
    throw new PinbenchError("usage", `There is no file to read in ${path}.`, {
      hint: "Links, and files whose names begin with a dot, do not count.",
    });
  }
  files.sort();
  const sizes = await sizesOf(files);
  const totalBytes = sumOf(sizes);
  if (totalBytes === 0) throw new PinbenchError("usage", `All files in ${path} are empty.`);
  return { path, files, totalBytes, meanBytes: totalBytes / files.length };
}

async function sizesOf(files: readonly string[]): Promise<number[]> {
  const sizes: number[] = [];
  for (let first = 0; first < files.length; first += atOnce) {
    const some = files.slice(first, first + atOnce).map((file) => lstat(file).catch(unreadable(file)));
    sizes.push(...(await Promise.all(some)).map(({ size }) => size));
  }
  return sizes;
}

/** Rejects with a usage error for a system error on a path. */
function unreadable(path: string): (error: NodeJS.ErrnoException) => never {
  const reasons: Record<string, string> = {
    ENOENT: `There is no folder ${path}.`,
    ENOTDIR: `${path} is not a folder.`,
    EACCES: `${path} cannot be read: permission denied.`,
  };
  return (error) => {
    const message = reasons[error.code ?? ""] ?? `${path} cannot be read: ${error.message}.`;
    throw new PinbenchError("usage", message, { cause: error });
  };
}
