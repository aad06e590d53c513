import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and its missing parents with this mode; an existing folder is no error. Throws the file system's
 * error. Node's recursive mkdir never ends in folders that allow no subfolders, such as /proc.
 */
export function makeFolderSync(path: string, mode = 0o777): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (statSync(parent, { throwIfNoEntry: false }) === undefined && parent !== path)
    makeFolderSync(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have made it.
    if (!isFolder(path)) throw error;
  }
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
