import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { PinbenchError } from "../errors.js";
import { formatSizeRounded } from "../settings/units.js";
import { fileErrorReason } from "../text-file.js";

/** File systems in memory, by their number in statfs(2): tmpfs, ramfs, hugetlbfs. */
const memoryFileSystems: readonly number[] = [0x01021994, 0x858458f6, 0x958458f6];

/** The folder for files that pinbench makes; null means the temporary folder. */
export function fileFolder(requested: string | null): string {
  return requested ?? tmpdir();
}

export function isInMemory(path: string): boolean {
  return memoryFileSystems.includes(statfsSync(path).type);
}

/**
 * Throws a usage error if files of this many bytes cannot be made there. A file system in memory has no page cache of a
 * disk, so it is accepted only on request, and never if files must be read from storage.
 */
export function checkFileFolder(requested: string | null, bytes: number, needsStorage = false): void {
  const folder = fileFolder(requested);
  const refuse = (reason: string): never => {
    throw new PinbenchError("usage", `No files can be made in ${folder}: ${reason}.`, {
      hint: "Name a folder on a disk with --file-folder.",
    });
  };
  try {
    accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    refuse(fileErrorReason(error, { ENOENT: "there is no such folder", ENOTDIR: "it is no folder" }));
  }
  if ((requested === null || needsStorage) && isInMemory(folder)) refuse("it is in memory");
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < bytes) refuse(`less than ${formatSizeRounded(bytes)} are free`);
}
