import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { errorCode } from "../../errors.js";
import { inheritedDescriptor } from "../../text-file.js";
import { makeFolderSync } from "./made-folder.js";
import { reportingAs, unwritable, writeToStream } from "./output-stream.js";

/**
 * Result files. FILE is only replaced as a whole: the text is written to a temporary file next to it,
 * synchronised to disk, and renamed over it. During a run, FILE.partial has the finished rounds. If FILE is a
 * symbolic link to a file, all of this happens at its target, and the link stays. Other files than regular
 * ones (a named pipe, /dev/stdout) are written directly, once, at the end. Checking and writing reject with a
 * PinbenchError that names the path as given, or its FILE.partial.
 */

const partialSuffix = ".partial";

export async function makeFolder(path: string): Promise<void> {
  await reportingAs(path === "" ? '""' : path, () => makeFolderSync(path));
}

/** Checks before measuring whether `finalize` can write; leaves nothing behind. */
export async function checkWritable(path: string): Promise<void> {
  await reportingAs(path, async () => {
    if (path === "" || path.endsWith("/"))
      throw unwritable(path === "" ? '""' : path, "it is not a file name");
    const target = await resolveTarget(path);
    if (target.existing?.isDirectory()) throw unwritable(path, "it is a folder");
    if (target.existing !== null) await access(target.path, constants.W_OK);
    if (target.isStream) return;
    // Only creating a file with the longest name needed shows that the folder allows it.
    const probe = temporaryName(target.path + partialSuffix);
    try {
      await (await open(probe, "wx")).close();
    } finally {
      await rm(probe, { force: true });
    }
  });
}

/** Replaces FILE.partial; does nothing if `path` is no regular file. */
export async function writePartial(path: string, text: string): Promise<void> {
  await reportingAs(path + partialSuffix, async () => {
    const target = await resolveTarget(path);
    if (!target.isStream) await replaceFile(target.path + partialSuffix, text, target.existing);
  });
}

/** Replaces FILE by `text`, keeping its permissions if it existed, and removes FILE.partial. */
export async function finalize(path: string, text: string): Promise<void> {
  await reportingAs(path, async () => {
    const target = await resolveTarget(path);
    if (target.isStream) return writeToStream(target.path, text);
    await replaceFile(target.path, text, target.existing);
    // A leftover FILE.partial is no failure, because FILE is written.
    await rm(target.path + partialSuffix, { force: true }).catch(() => undefined);
  });
}

/**
 * Throws an "output" error if a file that pinbench names in a user's folder is a symbolic link: anyone with write
 * access to the folder could make pinbench replace any of the user's files.
 */
export async function refuseLink(path: string): Promise<void> {
  const info = await lstat(path).catch(() => null);
  if (info?.isSymbolicLink())
    throw unwritable(path, "it is a symbolic link, and a link of this name is never followed");
}

/** finalize() for a file that pinbench names itself: refuses a link. */
export async function finalizeNamed(path: string, text: string): Promise<void> {
  await refuseLink(path);
  // If a link has appeared meanwhile, the rename replaces the link and not its target.
  await reportingAs(path, async () => replaceFile(path, text, await orNull(lstat(path), "ENOENT")));
}

async function replaceFile(path: string, text: string, existing: Stats | null): Promise<void> {
  const temporary = temporaryName(path);
  try {
    const handle = await open(temporary, "wx");
    try {
      if (existing !== null) {
        // Only root can change the owner; another user becomes the owner.
        await handle.chown(existing.uid, existing.gid).catch(() => undefined);
        await handle.chmod(existing.mode & 0o7777);
      }
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // The original failure matters more than a leftover file.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Random, so that runs with the same output never rename each other's unfinished files. */
export function temporaryName(path: string): string {
  return `${path}.${randomBytes(4).toString("hex")}.tmp`;
}

interface OutputTarget {
  /** Resolved, without symbolic links, if the file exists. */
  path: string;
  /** Null for a new file. */
  existing: Stats | null;
  /** Whether to write it directly instead of replacing it. */
  isStream: boolean;
}

/** Rejects with the file system's error. */
async function resolveTarget(path: string): Promise<OutputTarget> {
  const existing = await orNull(stat(path), "ENOENT");
  // A descriptor may lead to a regular file that others have open, so it is written directly.
  const isFile = (existing === null || existing.isFile()) && inheritedDescriptor(path) === null;
  return { path: isFile && existing !== null ? await realpath(path) : path, existing, isStream: !isFile };
}

/** Returns null if the file system fails with this code. */
export async function orNull<T>(work: Promise<T>, code: string): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (errorCode(error) === code) return null;
    throw error;
  });
}
