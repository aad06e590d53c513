import { createReadStream, type Stats } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { errorCode, PinbenchError } from "./errors.js";
import { shortageOf } from "./machine-shortage.js";

/** 128 MiB: our largest results have a few MiB, so a much larger file is something else. */
const defaultLimitBytes = 128 * 1024 ** 2;

const reasons: Readonly<Record<string, string>> = {
  ENOTDIR: "a part of its path is a file, not a folder",
  EEXIST: "there is a file of that name",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  ELOOP: "its symbolic links lead in a circle",
  ENAMETOOLONG: "its name is too long",
  EROFS: "the file system is read-only",
  EIO: "its disk or its network has failed (EIO): see the kernel log (dmesg)",
  // EDQUOT, for which libuv has no name.
  "Unknown system error -122": "the disk quota is used up",
  ENOSPC: "the disk is full",
  EFBIG: "it would be larger than a file may be",
  EINTR: "the file system gave up waiting (EINTR)",
  EXDEV: "it cannot be replaced by a file beside it, which counts as on another file system (EXDEV)",
  ESTALE: "it is gone from its network file system (ESTALE)",
};

/**
 * Why the file system failed, as a clause without a full stop; `more` has reasons for the particular call. An unknown
 * code is reported unchanged.
 */
export function fileErrorReason(cause: unknown, more: Readonly<Record<string, string>>): string {
  const code = errorCode(cause);
  return (code && (more[code] ?? reasons[code])) ?? code ?? String(cause);
}

/**
 * The descriptor behind a path such as /dev/stdin or /dev/fd/3; null for other paths. It is used directly: opening the
 * path again fails on a socket, and blocks forever on a pipe whose writer has ended.
 */
export function inheritedDescriptor(path: string): number | null {
  const stream = ["/dev/stdin", "/dev/stdout", "/dev/stderr"].indexOf(path);
  if (stream >= 0) return stream;
  const numbered = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path);
  return numbered === null ? null : Number(numbered[1]);
}

/**
 * The content of a UTF-8 text file without a byte order mark. Reads only regular files, /dev/stdin and a shell's <(…),
 * because a named pipe or a device may never end. Rejects with a PinbenchError that names the path as given (usage, or
 * unavailable if the machine lacks a resource).
 */
export async function readTextFile(path: string, limitBytes = defaultLimitBytes): Promise<string> {
  return reading(path, async () => {
    if (path === "/dev/stdin") return textOf(process.stdin, path, limitBytes);
    const info = await checkReadable(path);
    if (info.size > limitBytes) throw tooLarge(path, `it has ${describeMiB(info.size)}`, limitBytes);
    if (info.isFile()) return decoded(await readFile(path), path);
    // Opening the pipe again would block forever if its writer has ended.
    const fd = inheritedDescriptor(path)!;
    return textOf(createReadStream(path, { fd, autoClose: false }), path, limitBytes);
  });
}

/** The last lines of a file, and whether they are all of it. */
interface NewestLines {
  text: string;
  isWhole: boolean;
}

/** The last lines of a text file of any size, as many as fit into `mostBytes`. Otherwise like readTextFile(). */
export async function readNewestLines(path: string, mostBytes = defaultLimitBytes): Promise<NewestLines> {
  return reading(path, async () => {
    const { size } = await checkReadable(path);
    const isWhole = size <= mostBytes;
    // Includes the byte before: if it ends a line, the first line is whole.
    const start = isWhole ? 0 : size - mostBytes - 1;
    const text = await textOf(createReadStream(path, { start }), path, Number.POSITIVE_INFINITY);
    return { text: isWhole ? text : text.slice(text.indexOf("\n") + 1 || text.length), isWhole };
  });
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof PinbenchError ? error : cannotRead(path, error);
  }
}

/** Facts about a regular file or a shell's pipe. Throws a usage error for anything else. */
async function checkReadable(path: string): Promise<Stats> {
  if (path === "") throw unreadable('""', "it is not a file name");
  const info = await stat(path);
  if (info.isDirectory()) throw unreadable(path, "it is a folder");
  if (info.isFile() || (info.isFIFO() && inheritedDescriptor(path) !== null)) return info;
  throw unreadable(path, `it is ${kindOf(info)}, and only regular files are read`);
}

async function textOf(
  stream: AsyncIterable<Buffer | string>,
  path: string,
  limitBytes: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk));
    total += chunk.length;
    if (total > limitBytes) throw tooLarge(path, "it is larger", limitBytes);
  }
  return decoded(Buffer.concat(chunks), path);
}

function decoded(bytes: Buffer, path: string): string {
  if (isUtf16(bytes)) {
    throw new PinbenchError("usage", `${path} is UTF-16 text, and pinbench reads UTF-8.`, {
      hint: "Convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW. PowerShell writes UTF-16 with >.",
    });
  }
  // A byte order mark is not part of the text, and JSON.parse would fail on it.
  return new TextDecoder().decode(bytes);
}

/** Detects UTF-16 by its byte order mark, or by a zero in exactly one of the first two bytes. */
function isUtf16(bytes: Buffer): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return bytes.length > 1 && (first === 0) !== (second === 0);
}

/** Why a file or a folder cannot be read, in one sentence, from a file system's error. */
export function cannotRead(path: string, cause: unknown): PinbenchError {
  const shortage = shortageOf(cause, `cannot read ${path}`);
  return shortage ?? unreadable(path, fileErrorReason(cause, readReasons), cause);
}

/** Reasons for a failed read, besides those for any file. */
const readReasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENXIO: "it is a socket, and only regular files are read",
};

/** The kind of something that is neither a regular file nor a folder. */
function kindOf(info: Stats): string {
  if (info.isFIFO()) return "a named pipe";
  if (info.isSocket()) return "a socket";
  if (info.isCharacterDevice() || info.isBlockDevice()) return "a device";
  return "something other than a file";
}

/** Parses JSON. Throws a usage error with this hint; messages call the text `name`, usually a path. */
export function parseJson(text: string, name: string, hint?: string): unknown {
  if (text.trim() === "") throw new PinbenchError("usage", `${name} is empty.`, { hint });
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The engine quotes the text around the fault, with line breaks.
    const reason = (cause as SyntaxError).message.replaceAll(/\s+/g, " ");
    throw new PinbenchError("usage", `${name} is not JSON (${reason}).`, { hint, cause });
  }
}

/** Whether a value is a JSON object, and not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tooLarge(path: string, found: string, limitBytes: number): PinbenchError {
  return unreadable(path, `${found}, and ${describeMiB(limitBytes)} is the most that is read`);
}

function unreadable(path: string, reason: string, cause?: unknown): PinbenchError {
  const hint = "Give a readable file. To read stdin, give /dev/stdin.";
  return new PinbenchError("usage", `cannot read ${path}: ${reason}.`, { hint, cause });
}

/** In MiB rounded up to tenths, so that a size just above a limit never looks equal to it; small sizes in bytes. */
function describeMiB(bytes: number): string {
  return bytes < 1024 ** 2 ? `${bytes} bytes` : `${Math.ceil((bytes / 1024 ** 2) * 10) / 10} MiB`;
}
