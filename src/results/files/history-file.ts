import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, PinbenchError } from "../../errors.js";
import { checkShape, jsonValue, readNewestLines } from "../../text-file.js";
import { type HistoryEntry, historyEntrySchema } from "../history-entry.js";
import { describeVersion, whyImpossible } from "../parse.js";
import { type FileLock, withFileLock } from "./file-lock.js";
import { makeFolder, removeEmptyFolders, unbroken } from "./made-folder.js";
import { reportingAs, unwritable } from "./output-stream.js";
import { checkWritable, finalize } from "./store.js";

/**
 * A history: a folder with one file, history.jsonl, that has a line for each check. A line is appended in one write
 * under a lock, which also whoever shortens the file holds; so none is lost where several end at once. What a kill or a full
 * disk cut off is a line of its own that no reader takes for a check, for the next one begins on a line of its own. However
 * large the file has become, its newest lines are read, and no more of it is held in memory.
 */

const fileName = "history.jsonl";

/** The file of a history's checks. */
export function historyPath(folder: string): string {
  return join(folder, fileName);
}

/** The checks of a history, and what of the file was left out. */
export interface History {
  /** In the order in which they were made. */
  entries: HistoryEntry[];
  /** A sentence for each line that is no check, and for each that is there twice. */
  notes: string[];
}

/**
 * Reads a folder's checks. What is wrong with a line leaves out that line and is noted. Rejects with a usage error where
 * there is no such file, or where it cannot be read.
 */
export async function readHistory(folder: string): Promise<History> {
  const history = await readHistoryIfAny(folder);
  if (history !== null) return history;
  throw new PinbenchError("usage", `there is no history in ${folder || '""'}: it has no ${fileName}.`, {
    hint: `\`pinbench check --history ${folder || "FOLDER"}\` keeps one.`,
  });
}

/** `readHistory()`, but null where there is no such file, as before a folder's first check. */
export async function readHistoryIfAny(folder: string): Promise<History | null> {
  const path = historyPath(folder);
  const isThere = await stat(path).then(
    () => true,
    (error: unknown) => !["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? ""),
  );
  return isThere ? readHistoryFile(path) : null;
}

/** Reads the checks of a history's file, whatever folder it is in. */
export async function readHistoryFile(path: string): Promise<History> {
  const { text, linesBefore } = await readNewestLines(path);
  return parseHistory(text, path, linesBefore);
}

/** The checks of a file's text; `path` is what notes call it, `linesBefore` how many lines of it are left out. */
export function parseHistory(text: string, path: string, linesBefore = 0): History {
  const entries = new Map<string, HistoryEntry>();
  const notes: string[] = [];
  if (linesBefore > 0) {
    notes.push(
      `${path} is large: only its newest lines are read, from line ${linesBefore + 1} on (--keep-last N shortens it)`,
    );
  }
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const place = `line ${linesBefore + i + 1} of ${path}`;
    const parsed = parseLine(line);
    if (typeof parsed !== "string") {
      if (entries.has(parsed.id)) notes.push(`${place} is a copy of an earlier one, and is left out`);
      else entries.set(parsed.id, parsed);
    } else if (i === lines.length - 1) {
      // Only what was cut off has no line's end.
      notes.push(`${place}, the last one, was cut off, as by a kill or a full disk, and is left out`);
    } else {
      notes.push(`${place} is left out: ${parsed}`);
    }
  }
  const inOrder = [...entries.values()].sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  return { entries: inOrder, notes };
}

/** A line's check, or why it is none, as a clause. */
function parseLine(line: string): HistoryEntry | string {
  let value: unknown;
  try {
    value = jsonValue(line);
  } catch (error) {
    return error instanceof RangeError ? `it ${error.message}` : "it is not JSON";
  }
  const version = (value as { schemaVersion?: unknown } | null)?.schemaVersion;
  if (version === undefined) return "it has no schemaVersion";
  if (version !== 1) return `it has ${describeVersion(version)}, and this pinbench reads version 1`;
  const parsed = checkShape(historyEntrySchema, value);
  if (parsed.success) return impossibleIn(parsed.data) ?? parsed.data;
  const [issue] = parsed.error.issues;
  return `at ${issue?.path.join(".") || "its top"}: ${issue?.message}`;
}

/** What of a check no machine has, as a clause; null for nothing. */
function impossibleIn({ series, backend }: HistoryEntry): string | null {
  const reasons = series.flatMap((one) => {
    const reason = whyImpossible(one, one.figure, backend);
    return reason === null ? [] : [`it has ${one.figure} ${one.unit} in the cell ${one.id}, and ${reason}`];
  });
  return reasons[0] ?? null;
}

/**
 * Finds out before measuring whether `appendToHistory` will be able to write; leaves nothing behind. Rejects with an
 * "output" PinbenchError.
 */
export async function checkHistoryWritable(folder: string): Promise<void> {
  if (folder === "") throw unwritable('""', "it is not a folder's name");
  const tryFolder = async () => {
    const made = await reportingAs(folder, () => makeFolder(folder));
    try {
      const path = historyPath(folder);
      await checkWritable(path);
      const info = await stat(path).catch(() => null);
      if (info !== null && !info.isFile()) throw unwritable(path, "it is not a regular file");
    } finally {
      await removeEmptyFolders(made);
    }
  };
  await untilFolderStays(() => unbroken(tryFolder));
}

/** Once more where the folder vanished meanwhile: another check that tried whether it can make it has removed it. */
async function untilFolderStays(work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    const cause = error instanceof PinbenchError ? error.cause : error;
    if (errorCode(cause) !== "ENOENT") throw error;
    return work();
  });
}

/**
 * Appends a check to a folder's history, and makes the folder where it is not there; then leaves the newest `keepLast`
 * lines, or all where that is null. Where there is no room for the whole line, nothing of it stays. Rejects with an
 * "output" PinbenchError.
 */
export async function appendToHistory(
  folder: string,
  entry: HistoryEntry,
  keepLast: number | null,
): Promise<void> {
  const path = historyPath(folder);
  const line = JSON.stringify(entry);
  let mayBeThere = false;
  await untilFolderStays(async () => {
    await reportingAs(folder, () => makeFolder(folder));
    await reportingAs(path, () =>
      withFileLock(`${path}.lock`, async ({ confirm }) => {
        if (!(mayBeThere && (await readNewestLines(path)).text.split("\n").includes(line))) {
          mayBeThere = true;
          await appendLine(path, line);
        }
        // If the lock was lost before that, the line may be in a file that another process has replaced meanwhile.
        await confirm();
        if (keepLast !== null) await keepNewest(path, keepLast, confirm);
      }),
    );
  });
}

async function appendLine(path: string, line: string): Promise<void> {
  const handle = await open(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
  try {
    const { size } = await handle.stat();
    const isLineOpen = size > 0 && (await lastByte(handle, size)) !== "\n";
    const bytes = Buffer.from(`${isLineOpen ? "\n" : ""}${line}\n`);
    try {
      // The second write, if there is one, tells why the first one found no room for all.
      for (let written = 0; written < bytes.length; ) {
        written += (await handle.write(bytes, written)).bytesWritten;
      }
      await handle.sync();
    } catch (error) {
      // Where the part that was written cannot be cut off again, it is a line that no reader takes for a check.
      await handle.truncate(size).catch(() => undefined);
      throw error;
    }
  } finally {
    // The line is on the disk already, or it has failed for a better reason.
    await handle.close().catch(() => undefined);
  }
}

async function lastByte(handle: FileHandle, size: number): Promise<string> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString("latin1");
}

/** Leaves the newest lines as they are, also those that this pinbench does not read. */
async function keepNewest(path: string, count: number, confirm: FileLock["confirm"]): Promise<void> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    const start = await startOfNewest(handle, size, count);
    if (start === 0) return;
    await finalize(path, handle.createReadStream({ start, end: size - 1, autoClose: false }), confirm);
  } finally {
    await handle.close();
  }
}

const [blank, lineEnd] = [" ", "\n"].map((text) => text.charCodeAt(0)) as [number, number];
const chunkBytes = 64 * 1024;

/** Where the newest `count` lines of a file that ends with a line's end begin, empty ones not counted; 0 for all. */
async function startOfNewest(handle: FileHandle, size: number, count: number): Promise<number> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let lines = 0;
  let hasText = false;
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - chunkBytes);
    const { bytesRead } = await handle.read(chunk, 0, end - from, from);
    if (bytesRead < end - from) return 0;
    for (let i = bytesRead - 1; i >= 0; --i) {
      const byte = chunk[i]!;
      if (byte === lineEnd) {
        if (hasText && ++lines === count) return from + i + 1;
        hasText = false;
      } else if (byte > blank) {
        hasText = true;
      }
    }
    end = from;
  }
  return 0;
}
