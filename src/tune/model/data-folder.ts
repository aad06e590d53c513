import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PinbenchError } from "../../errors.js";
import { sumOf } from "../../stats/variance.js";

/** Files to read samples from, one per sample, sorted. */
export interface DataFolder {
  path: string;
  files: string[];
  totalBytes: number;
  meanBytes: number;
}

/** Number of files whose sizes are read at once: network file systems answer slowly. */
const atOnce = 64;

/**
 * The regular files in a folder and its subfolders. Skips hidden files and folders, and links, which may lead anywhere.
 * Throws a usage error if there are no files, or some are unreadable.
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

/** Returns a handler that throws a usage error for a system error on a path. */
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
