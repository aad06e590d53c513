import { type FileHandle, open } from "node:fs/promises";
import { errorCode, PinbenchError } from "./errors.js";
import { shortageOf } from "./machine-shortage.js";

/** The largest of our own results is a few MiB; what is far beyond is another file. 128 MiB. */
const defaultLimitBytes = 128 * 1024 ** 2;

const chunkBytes = 64 * 1024;

const reasons: Readonly<Record<string, string>> = {
  ENOTDIR: "a part of its path is a file, not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  ELOOP: "its symbolic links lead in a circle",
  ENAMETOOLONG: "its name is too long",
};

/**
 * Why the file system refused, as a clause without a full stop; `more` has what is particular to the call. A code
 * without words is told as it is.
 */
export function fileErrorReason(cause: unknown, more: Readonly<Record<string, string>>): string {
  const code = errorCode(cause);
  return (code && (more[code] ?? reasons[code])) ?? code ?? String(cause);
}

/**
 * All of a text file as UTF-8, without a byte order mark. A fifo, /dev/stdin and what a shell's <(…) gives are read to
 * their end. Rejects with one PinbenchError that names the path as it was given (usage, or unavailable where the machine
 * lacks what reading takes); nothing above `limitBytes` is ever held in memory.
 */
export async function readTextFile(path: string, limitBytes = defaultLimitBytes): Promise<string> {
  if (path === "") throw unreadable('""', "it is no file name");
  try {
    const handle = await open(path, "r");
    try {
      const info = await handle.stat();
      if (info.isDirectory()) throw unreadable(path, "it is a folder");
      if (info.size > limitBytes) throw tooLarge(path, `it has ${describeMiB(info.size)}`, limitBytes);
      // A byte order mark is no part of the text, and JSON.parse would stumble over it.
      return new TextDecoder().decode(await readAll(handle, path, info.size, limitBytes));
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof PinbenchError) throw error;
    throw (
      shortageOf(error, `cannot read ${path}`) ??
      unreadable(path, fileErrorReason(error, { ENOENT: "there is no such file" }), error)
    );
  }
}

/**
 * The value of a JSON text. Throws a usage error with this hint for an empty text and for one that is no JSON; `name` is
 * what its message calls the text, a path as a rule.
 */
export function parseJson(text: string, name: string, hint?: string): unknown {
  if (text.trim() === "") throw new PinbenchError("usage", `${name} is empty.`, { hint });
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The engine quotes the text around the fault, line breaks included.
    const reason = (cause as SyntaxError).message.replaceAll(/\s+/g, " ");
    throw new PinbenchError("usage", `${name} is not JSON (${reason}).`, { hint, cause });
  }
}

/** In chunks: a stream tells no size, and a file may grow while it is read. */
async function readAll(
  handle: FileHandle,
  path: string,
  sizeBytes: number,
  limitBytes: number,
): Promise<Buffer> {
  // Of a file whose size is known as a whole, and a byte more, which tells its end.
  let buffer = Buffer.allocUnsafe(Math.max(chunkBytes, sizeBytes + 1));
  let total = 0;
  for (;;) {
    if (total === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    const { bytesRead } = await handle.read(buffer, total, buffer.length - total, null);
    if (bytesRead === 0) return buffer.subarray(0, total);
    total += bytesRead;
    if (total > limitBytes) throw tooLarge(path, "it is larger", limitBytes);
  }
}

function tooLarge(path: string, found: string, limitBytes: number): PinbenchError {
  return unreadable(path, `${found}, and ${describeMiB(limitBytes)} is the most that is read`);
}

function unreadable(path: string, reason: string, cause?: unknown): PinbenchError {
  const hint = "Give the path of a file that can be read.";
  return new PinbenchError("usage", `cannot read ${path}: ${reason}.`, { hint, cause });
}

/** Rounded up to tenths, so that a size just above a limit never reads like the limit; small ones in bytes. */
function describeMiB(bytes: number): string {
  return bytes < 1024 ** 2 ? `${bytes} bytes` : `${Math.ceil((bytes / 1024 ** 2) * 10) / 10} MiB`;
}
