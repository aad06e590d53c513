import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, PinbenchError } from "../../errors.js";
import { readNewestLines } from "../../text-file.js";
import { type HistoryEntry, historyEntrySchema } from "../history-entry.js";
import { describeVersion, impossibleReason } from "../parse.js";
import { withFileLock } from "./file-lock.js";
import { reportingAs } from "./output-stream.js";
import { checkWritable, makeFolder, refuseLink } from "./store.js";

/**
 * A history is a folder with a file history.jsonl, with one line per check. Each line is appended in one write under a
 * lock, so simultaneous checks lose nothing. A line cut off by a kill or a full disk is never read as a check, because
 * the next one starts on a new line. Only the newest lines of a large file are read.
 */

const fileName = "history.jsonl";

export function historyPath(folder: string): string {
  return join(folder, fileName);
}

export interface History {
  entries: HistoryEntry[];
  /** One sentence per skipped line, and one if only the newest lines were read. */
  notes: string[];
}

/**
 * Reads a folder's checks. Skips faulty lines with a note. Rejects with a usage error if the file is missing or cannot
 * be read.
 */
export async function readHistory(folder: string): Promise<History> {
  const history = await readHistoryIfAny(folder);
  if (history !== null) return history;
  throw new PinbenchError("usage", `there is no history in ${folder || '""'}: it has no ${fileName}.`, {
    hint: `\`pinbench check --history ${folder || "FOLDER"}\` keeps one.`,
  });
}

export async function readHistoryIfAny(folder: string): Promise<History | null> {
  const path = historyPath(folder);
  const isThere = await stat(path).then(
    () => true,
    (error: unknown) => !["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? ""),
  );
  if (!isThere) return null;
  await refuseLink(path);
  return readHistoryFile(path);
}

export async function readHistoryFile(path: string): Promise<History> {
  const { text, isWhole } = await readNewestLines(path);
  return parseHistory(text, path, isWhole);
}

/** Checks in a file's text, or in the text at its end. Notes call the file `path`. */
export function parseHistory(text: string, path: string, isWhole = true): History {
  const entries = new Map<string, HistoryEntry>();
  const notes: string[] = [];
  if (!isWhole) notes.push(`${path} is large: only its newest lines are read`);
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const where = `line ${i + 1} of ${isWhole ? path : `those read of ${path}`}`;
    const parsed = parseLine(line);
    if (typeof parsed !== "string") {
      if (entries.has(parsed.id)) notes.push(`${where} is a copy of an earlier one, and is left out`);
      else entries.set(parsed.id, parsed);
    } else if (i === lines.length - 1) {
      // A line without a line break was cut off.
      notes.push(`${where}, the last one, was cut off, as by a kill or a full disk, and is left out`);
    } else {
      notes.push(`${where} is left out: ${parsed}`);
    }
  }
  const inOrder = [...entries.values()].sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  return { entries: inOrder, notes };
}

/** A line's check, or why it is none, as a clause. */
function parseLine(line: string): HistoryEntry | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return "it is not JSON";
  }
  const version = (value as { schemaVersion?: unknown } | null)?.schemaVersion;
  if (version === undefined) return "it has no schemaVersion";
  if (version !== 1) return `it has ${describeVersion(version)}, and this pinbench reads version 1`;
  const parsed = historyEntrySchema.safeParse(value);
  if (parsed.success) return impossibleIn(parsed.data) ?? parsed.data;
  const [issue] = parsed.error.issues;
  return `at ${issue?.path.join(".") || "its top"}: ${issue?.message}`;
}

/** Values that no machine can have, as a clause; null for none. */
function impossibleIn({ series, backend }: HistoryEntry): string | null {
  const reasons = series.flatMap((one) => {
    const reason = impossibleReason(one, one.figure, backend);
    return reason === null ? [] : [`it has ${one.figure} ${one.unit} in the cell ${one.id}, and ${reason}`];
  });
  return reasons[0] ?? null;
}

/** Checks before measuring whether `appendToHistory` can write. Rejects with an "output" PinbenchError. */
export async function checkHistoryWritable(folder: string): Promise<void> {
  await makeFolder(folder);
  await refuseLink(historyPath(folder));
  await checkWritable(historyPath(folder));
}

/**
 * Appends a check to a folder's history; makes the folder if necessary. Removes a line that was not written
 * completely, if possible. Rejects with an "output" PinbenchError.
 */
export async function appendToHistory(folder: string, entry: HistoryEntry): Promise<void> {
  const path = historyPath(folder);
  await makeFolder(folder);
  await reportingAs(path, () => withFileLock(`${path}.lock`, () => appendLine(path, JSON.stringify(entry))));
}

async function appendLine(path: string, line: string): Promise<void> {
  await refuseLink(path);
  const handle = await open(path, "a+");
  try {
    const { size } = await handle.stat();
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    const isLineOpen = size > 0 && buffer.toString("latin1") !== "\n";
    try {
      await handle.appendFile(`${isLineOpen ? "\n" : ""}${line}\n`);
      await handle.sync();
    } catch (error) {
      // If this fails, the partial line stays, and is not read as a check.
      await handle.truncate(size).catch(() => undefined);
      throw error;
    }
  } finally {
    await handle.close();
  }
}
