import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import {
  access,
  lstat,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode } from "../../errors.js";
import { inheritedDescriptor } from "../../text-file.js";
import { unbroken } from "./made-folder.js";
import { reportingAs, unwritable, writeToStream } from "./output-stream.js";

/**
 * Result files. A FILE is only replaced as a whole: the text goes to a temporary file next to it, is synchronised to
 * disk, and is renamed over it. During a run the finished rounds are in FILE.partial. If FILE is a symbolic link, all
 * of this happens next to its target, and the link stays. Other things than regular files (a fifo, /dev/stdout) are
 * written to directly, once, at the end. A signal leaves no temporary file; a SIGKILL during writing may, and the next
 * writer of FILE removes it if it is at least 10 minutes old. Every function rejects with one PinbenchError (output)
 * that names the path as given, or its FILE.partial.
 */

const partialSuffix = ".partial";

/** Checks before measuring that `finalize` will be able to write; leaves nothing behind. */
export async function checkWritable(path: string): Promise<void> {
  await reportingAs(path, async () => {
    if (path === "" || path.endsWith("/"))
      throw unwritable(path === "" ? '""' : path, "it is not a file name");
    const target = await resolveTarget(path);
    if (target.kind === "directory") throw unwritable(path, "it is a folder");
    if (target.kind === "stream") {
      await access(target.path, constants.W_OK);
      return;
    }
    if (target.existing !== null) {
      await access(target.path, constants.W_OK);
    }
    const partial = await stat(target.path + partialSuffix).catch(() => null);
    if (partial?.isDirectory()) {
      throw unwritable(path, `${path}${partialSuffix} is needed during the run, and it is a folder`);
    }
    // The folder must accept a new file with the longest name needed: only trying shows that for certain.
    const probe = temporaryName(target.path + partialSuffix);
    await unbroken(async () => {
      const handle = await open(probe, "wx");
      try {
        await handle.close();
      } finally {
        await rm(probe);
      }
    });
    await removeStrayTemporaries(target.path);
  });
}

/** Replaces FILE.partial by `text`. Does nothing if `path` is no regular file. */
export async function writePartial(path: string, text: string): Promise<void> {
  await reportingAs(path + partialSuffix, async () => {
    const target = await resolveTarget(path);
    if (target.kind === "file") {
      await unbroken(() => replaceFile(target.path + partialSuffix, text, target.existing));
    }
  });
}

/**
 * Replaces FILE by `text`, keeping its permissions if it existed, and removes FILE.partial. `confirm` is called right
 * before the replacement, when everything is written: if it rejects, FILE stays unchanged.
 */
export async function finalize(
  path: string,
  text: string | AsyncIterable<Uint8Array>,
  confirm?: () => Promise<void>,
): Promise<void> {
  await reportingAs(path, async () => {
    const target = await resolveTarget(path);
    if (target.kind !== "file") {
      if (typeof text !== "string") throw unwritable(path, "it is not a regular file");
      await writeToStream(target.path, text);
      return;
    }
    const { path: file, existing } = target;
    await unbroken(async () => {
      await replaceFile(file, text, existing, confirm);
      // If it stays that is no failure: FILE is written, and a folder of that name is not pinbench's.
      await rm(file + partialSuffix, { force: true }).catch(() => undefined);
    });
  });
}

/**
 * Throws an "output" error if a file that pinbench itself names in a user's folder is a symbolic link: anyone who may write
 * into the folder could have pinbench replace any file of the user's.
 */
export async function refuseLink(path: string): Promise<void> {
  const info = await lstat(path).catch(() => null);
  if (info?.isSymbolicLink())
    throw unwritable(path, "it is a symbolic link, and a link of this name is never followed");
}

/** finalize() for a file that pinbench itself names: a link in its place is refused. */
export async function finalizeNamed(
  path: string,
  text: string | AsyncIterable<Uint8Array>,
  confirm?: () => Promise<void>,
): Promise<void> {
  await refuseLink(path);
  await reportingAs(path, async () => {
    const existing = await orNull(lstat(path), "ENOENT");
    // The rename replaces a link that has come meanwhile, and not its target.
    await unbroken(() => replaceFile(path, text, existing, confirm));
  });
}

/**
 * Does not use write-file-atomic: if the disk has room for only a part of the text, version 7 replaces the file by that
 * part and reports success, and two containers with equal process ids write to one temporary file.
 */
async function replaceFile(
  path: string,
  text: string | AsyncIterable<Uint8Array>,
  existing: Stats | null,
  confirm: () => Promise<void> = async () => undefined,
): Promise<void> {
  const temporary = temporaryName(path);
  try {
    const handle = await open(temporary, "wx");
    try {
      if (existing !== null) {
        // Only root can change a file's owner; for other users it is already theirs.
        await handle.chown(existing.uid, existing.gid).catch(() => undefined);
        await handle.chmod(existing.mode & 0o7777);
      }
      await writeFile(handle, text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await confirm();
    await rename(temporary, path);
  } catch (error) {
    // The reason of the failure matters more than the leftover file.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes the rename itself durable. Some file systems cannot, and the data is safe without it. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY).catch(() => null);
  await handle?.sync().catch(() => undefined);
  await handle?.close().catch(() => undefined);
}

/** Random, so that two runs with the same output never rename each other's unfinished file. */
function temporaryName(path: string): string {
  return `${path}.${randomBytes(4).toString("hex")}.tmp`;
}

/** Files that are being written now are younger. */
const strayMs = 600_000;

/** Removes temporary files of `path` and its FILE.partial left by killed processes. Never rejects. */
async function removeStrayTemporaries(path: string): Promise<void> {
  const name = basename(path);
  const names = await readdir(dirname(path)).catch(() => []);
  for (const other of names) {
    if (!other.startsWith(`${name}.`) || !/^(\.partial)?\.[0-9a-f]{8}\.tmp$/.test(other.slice(name.length)))
      continue;
    const stray = join(dirname(path), other);
    const info = await stat(stray).catch(() => null);
    if (info?.isFile() && Date.now() - info.mtimeMs > strayMs) await rm(stray).catch(() => undefined);
  }
}

/** The target of an output path. */
type OutputTarget =
  | { kind: "stream"; path: string }
  | { kind: "directory"; path: string }
  /** `path` has no symbolic links; `existing` is null for a new file. */
  | { kind: "file"; path: string; existing: Stats | null };

/** As many as Linux follows in one path (path_resolution(7)). */
const mostLinks = 40;

/** Follows `path`, also through a link whose target does not exist yet. Rejects with the file system's error. */
async function resolveTarget(path: string): Promise<OutputTarget> {
  if (inheritedDescriptor(path) !== null) return { kind: "stream", path };
  const existing = await orNull(stat(path), "ENOENT");
  if (existing === null) return { kind: "file", path: await resolveMissing(path, mostLinks), existing };
  if (existing.isFile()) return { kind: "file", path: await realpath(path), existing };
  return { kind: existing.isDirectory() ? "directory" : "stream", path };
}

/** Where a file would be created if `path` were opened for writing. */
async function resolveMissing(path: string, linksLeft: number): Promise<string> {
  const folder = await realpath(dirname(resolve(path)));
  const inFolder = join(folder, basename(path));
  const link = await orNull(readlink(inFolder), "EINVAL", "ENOENT");
  if (link === null || linksLeft === 0) return inFolder;
  return resolveMissing(resolve(folder, link), linksLeft - 1);
}

/** Null if the file system fails with one of these codes. */
async function orNull<T>(work: Promise<T>, ...codes: string[]): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (codes.includes(errorCode(error) ?? "")) return null;
    throw error;
  });
}
