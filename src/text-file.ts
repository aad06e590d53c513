import { constants, fstat, read, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { z } from "zod";
import { errorCode, PinbenchError } from "./errors.js";
import { shortageOf } from "./machine-shortage.js";

/** 128 MiB: our own largest results have a few MiB, and anything far above is another file. */
const defaultLimitBytes = 128 * 1024 ** 2;

const chunkBytes = 64 * 1024;

const statDescriptor = promisify(fstat);
const readDescriptor = promisify(read);
const retryMs = 2;
const mostInterruptions = 20;

const reasons: Readonly<Record<string, string>> = {
  ENOTDIR: "a part of its path is a file, not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  ELOOP: "its symbolic links lead in a circle",
  ENAMETOOLONG: "its name is too long",
  EROFS: "the file system is read-only",
  EIO: "its disk or its network has failed (EIO): see the kernel log (dmesg)",
  EDQUOT: "the disk quota is used up",
  ENOSPC: "the disk is full",
  EINTR: "the file system gave up waiting (EINTR)",
  EXDEV: "it cannot be replaced by a file beside it, which counts as on another file system (EXDEV)",
  ESTALE: "it is gone from its network file system (ESTALE)",
};

/**
 * Why the file system failed, as a clause without a full stop; `more` has the reasons of the particular call. A code
 * without words is reported unchanged.
 */
export function fileErrorReason(cause: unknown, more: Readonly<Record<string, string>>): string {
  const code = errorCode(cause);
  return (code && (more[code] ?? reasons[code])) ?? code ?? String(cause);
}

/**
 * The descriptor behind a path such as /dev/stdin or /dev/fd/3; null for any other path. It is used directly, because
 * opening the path again fails on a socket, and a writing program may have closed its end.
 */
export function inheritedDescriptor(path: string): number | null {
  const stream = ["/dev/stdin", "/dev/stdout", "/dev/stderr"].indexOf(path);
  if (stream >= 0) return stream;
  const numbered = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path);
  return numbered === null ? null : Number(numbered[1]);
}

/**
 * The content of a text file as UTF-8, without a byte order mark. Only regular files are read, because a named pipe or
 * a device may never end. Exceptions are /dev/stdin and the paths of a shell's <(…): they may be a pipe or a socket,
 * and are read to the end, which the writer has to provide. Rejects with one PinbenchError that names the path as given
 * (usage, or unavailable if the machine lacks a resource for reading). At most `limitBytes` are ever in memory.
 */
export async function readTextFile(path: string, limitBytes = defaultLimitBytes): Promise<string> {
  return withOpen(path, (descriptor) => readText(descriptor, path, limitBytes));
}

/** The lines at the end of a file, and the number of lines before them. */
export interface NewestLines {
  text: string;
  linesBefore: number;
}

/** The last lines of a text file of any size, as many as fit into `mostBytes`. Otherwise like readTextFile(). */
export async function readNewestLines(path: string, mostBytes = defaultLimitBytes): Promise<NewestLines> {
  return withOpen(path, async (descriptor) => {
    const { size } = await statRegular(descriptor, path);
    if (size <= mostBytes) return { text: await readText(descriptor, path, Infinity), linesBefore: 0 };
    // With the byte before them, which may be the end of a line: then the first one is whole.
    const from = size - mostBytes - 1;
    const chunk = Buffer.allocUnsafe(chunkBytes);
    let linesBefore = 0;
    for (let position = 0; position < from; ) {
      const wanted = chunk.subarray(0, Math.min(chunkBytes, from - position));
      const bytesRead = await readSome(descriptor, wanted, 0, position);
      if (bytesRead === 0) break;
      for (const byte of wanted.subarray(0, bytesRead)) if (byte === lineEnd) ++linesBefore;
      position += bytesRead;
    }
    const rest = await readAll(descriptor, path, { from, sizeBytes: mostBytes + 1, limitBytes: Infinity });
    const end = rest.indexOf(lineEnd);
    return end < 0
      ? { text: "", linesBefore }
      : { text: new TextDecoder().decode(rest.subarray(end + 1)), linesBefore: linesBefore + 1 };
  });
}

const lineEnd = "\n".charCodeAt(0);

async function withOpen<T>(path: string, read: (descriptor: number) => Promise<T>): Promise<T> {
  if (path === "") throw unreadable('""', "it is not a file name");
  const descriptor = inheritedDescriptor(path);
  try {
    if (descriptor !== null) return await read(descriptor);
    // Opening a pipe without a writer would never end, and a terminal would become this process' controlling one.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      return await read(handle.fd);
    } finally {
      // The content is complete, even if closing fails.
      await handle.close().catch(() => undefined);
    }
  } catch (error) {
    throw error instanceof PinbenchError ? error : cannotRead(path, error);
  }
}

/** One sentence on why a file or a folder cannot be read, from a file system's error. */
export function cannotRead(path: string, cause: unknown): PinbenchError {
  // EAGAIN has two meanings: a file with nothing to read now, or a machine that starts no more threads.
  const isOfFile = (errorCode(cause) ?? "") in readReasons;
  const shortage = isOfFile ? null : shortageOf(cause, `cannot read ${path}`);
  return shortage ?? unreadable(path, fileErrorReason(cause, readReasons), cause);
}

/** Reasons of a failed read besides those of any file. */
const readReasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENXIO: "it is a socket, and only regular files are read",
  EBADF: "it is not open for reading",
  EAGAIN: "it has nothing to read now, and is not a regular file",
};

async function readText(descriptor: number, path: string, limitBytes: number): Promise<string> {
  const { size, isStream } = await statRegular(descriptor, path);
  if (size > limitBytes) throw tooLarge(path, `it has ${describeMiB(size)}`, limitBytes);
  const from = isStream ? null : 0;
  const bytes = await readAll(descriptor, path, { from, sizeBytes: size, limitBytes });
  // A byte order mark is not part of the text, and JSON.parse would fail on it.
  return new TextDecoder().decode(bytes);
}

/** The size of a regular file, or whether it is a stream that may be read. Throws a usage error for anything else. */
async function statRegular(descriptor: number, path: string): Promise<{ size: number; isStream: boolean }> {
  const info = await statDescriptor(descriptor);
  const isInherited = inheritedDescriptor(path) !== null;
  const isStream = isInherited && (info.isFIFO() || info.isSocket());
  if (info.isDirectory()) throw unreadable(path, "it is a folder");
  if (!info.isFile() && !isStream) {
    throw unreadable(path, `it is ${kindOf(info)}, and only regular files are read`);
  }
  return { size: info.size, isStream };
}

/** The kind of something that is neither a regular file nor a folder. */
function kindOf(info: Stats): string {
  if (info.isFIFO()) return "a named pipe";
  if (info.isSocket()) return "a socket";
  if (info.isCharacterDevice() || info.isBlockDevice()) return "a device";
  return "something other than a file";
}

/**
 * Most of these marks in a JSON text. JSON.parse takes up to a minute and 4 GB for 128 MiB of objects, lists or texts,
 * and 1.6 GB for as many one-digit numbers. Our own largest documents have a fifth of these.
 */
const mostMarks = [
  { marks: ['"', "{", "["], most: 8e6 },
  { marks: [","], most: 16e6 },
];
/** Most names of one object. A schema takes 10 µs for each unknown name. */
const mostNames = 10_000;

/**
 * The result of zod's safeParse(), with only the first fault: by default zod continues after it, and takes minutes and
 * all memory for a long list of wrong elements. All input is checked here.
 */
export function checkShape<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  const context: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };
  if (!impatient.has(schema)) makeImpatient(schema);
  return schema.safeParse(value, context);
}

/** Schemas that makeImpatient() has handled, with their parts. */
const impatient = new WeakSet<object>();

/** By default zod continues with the next element of a list if one fails a check, such as a number's minimum. */
function makeImpatient(part: unknown): void {
  if (typeof part !== "object" || part === null || impatient.has(part)) return;
  impatient.add(part);
  // Schemas and their checks are both of this type.
  const def = "_zod" in part ? (part as z.core.$ZodCheck)._zod.def : null;
  if (def !== null) def.abort = true;
  for (const inner of Object.values(def ?? part)) makeImpatient(inner);
}

/**
 * Parses a JSON text. Throws a usage error with this hint for an empty or invalid text, and for one with far more
 * content than any document of pinbench; `name` is the text's name in the message, usually a path.
 */
export function parseJson(text: string, name: string, hint?: string): unknown {
  if (text.trim() === "") throw new PinbenchError("usage", `${name} is empty.`, { hint });
  try {
    return jsonValue(text);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new PinbenchError("usage", `${name} ${cause.message}.`, { hint, cause });
    // The engine quotes the text around the fault, including line breaks.
    const reason = (cause as SyntaxError).message.replaceAll(/\s+/g, " ");
    throw new PinbenchError("usage", `${name} is not JSON (${reason}).`, { hint, cause });
  }
}

/** The same, but throws a SyntaxError, or a RangeError whose message is a clause to follow the text's name. */
export function jsonValue(text: string): unknown {
  if (mostMarks.some(({ marks, most }) => hasMore(text, marks, most)))
    throw new RangeError("has far more values than a document of pinbench's");
  const value: unknown = JSON.parse(text);
  if (hasManyNames(text, value)) throw new RangeError(`has an object with more than ${mostNames} names`);
  return value;
}

function hasMore(text: string, marks: readonly string[], most: number): boolean {
  let found = 0;
  if (text.length <= most) return false;
  for (const mark of marks) {
    for (let at = text.indexOf(mark); at >= 0 && found <= most; at = text.indexOf(mark, at + 1)) ++found;
  }
  return found > most;
}

function hasManyNames(text: string, value: unknown): boolean {
  // Each has two quotation marks, a colon, a value and a comma.
  if (text.length < 5 * mostNames) return false;
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== "object" || one === null) continue;
    const parts = Array.isArray(one) ? one : Object.values(one);
    if (parts !== one && parts.length > mostNames) return true;
    // A list has elements of one kind, or a schema refuses it.
    if (parts === one && typeof parts[0] !== "object") continue;
    for (const part of parts) if (typeof part === "object") left.push(part);
  }
  return false;
}

/** Whether a value is a JSON object, and not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** In chunks: a stream, for which `from` is null, has no known size, and a file may grow while it is read. */
async function readAll(
  descriptor: number,
  path: string,
  { from, sizeBytes, limitBytes }: { from: number | null; sizeBytes: number; limitBytes: number },
): Promise<Buffer> {
  // A file of known size is read at once, with one more byte to detect its end.
  let buffer = Buffer.allocUnsafe(Math.max(chunkBytes, sizeBytes + 1));
  let total = 0;
  for (;;) {
    if (total === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    const bytesRead = await readSome(descriptor, buffer, total, from === null ? null : from + total);
    if (bytesRead === 0) return buffer.subarray(0, total);
    total += bytesRead;
    if (total > limitBytes) throw tooLarge(path, "it is larger", limitBytes);
  }
}

/**
 * Reads from `position` of a file (one that was read before, such as the other result of a comparison, starts again),
 * or the next bytes of a stream (null), to `offset` of the buffer; returns the number of bytes, 0 at the end.
 */
async function readSome(
  descriptor: number,
  buffer: Buffer,
  offset: number,
  position: number | null,
): Promise<number> {
  for (let interruptions = 0; ; ) {
    try {
      const rest = buffer.length - offset;
      const { bytesRead } = await readDescriptor(descriptor, buffer, offset, rest, position);
      return bytesRead;
    } catch (error) {
      // A network file system may interrupt a read.
      if (errorCode(error) === "EINTR" && ++interruptions < mostInterruptions) continue;
      // The parent process may have made the pipe non-blocking: its writer is slow, not done.
      if (position !== null || errorCode(error) !== "EAGAIN") throw error;
      await sleep(retryMs);
    }
  }
}

function tooLarge(path: string, found: string, limitBytes: number): PinbenchError {
  return unreadable(path, `${found}, and ${describeMiB(limitBytes)} is the most that is read`);
}

function unreadable(path: string, reason: string, cause?: unknown): PinbenchError {
  const hint = "Give the path of a file that can be read; what a program writes, pipe into /dev/stdin.";
  return new PinbenchError("usage", `cannot read ${path}: ${reason}.`, { hint, cause });
}

/** Rounded up to tenths, so that a size just above a limit never looks equal to it; small ones in bytes. */
function describeMiB(bytes: number): string {
  return bytes < 1024 ** 2 ? `${bytes} bytes` : `${Math.ceil((bytes / 1024 ** 2) * 10) / 10} MiB`;
}
