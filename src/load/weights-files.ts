import { type FileHandle, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { PinbenchError } from "../errors.js";
import { fileFolder, isInMemory } from "../host/file-folder.js";
import { temporaryPath } from "../host/temporary-folder.js";
import type { WeightsPiece } from "../native/loader-contract.js";
import { MiB } from "../settings/units.js";
import { fileErrorReason } from "../text-file.js";

/** A file to load: its displayed name, the path to open, and its pieces in the order of copying. */
export interface WeightsFile {
  path: string;
  openPath: string;
  bytes: number;
  modifiedMs: number;
  isSafetensors: boolean;
  pieces: Omit<WeightsPiece, "file">[];
}

const safetensors = ".safetensors";

const pieceBytes = 64 * MiB;

/**
 * Files of paths and folders. From a folder, safetensors files, or all files if it has none. Rejects with a
 * PinbenchError on the first that cannot be loaded. `isCold`: load from storage.
 */
export async function weightsFiles(paths: readonly string[], isCold: boolean): Promise<WeightsFile[]> {
  const files: WeightsFile[] = [];
  for (const requested of paths) {
    let path = requested;
    try {
      const all = (await stat(requested)).isDirectory() ? await filesIn(requested) : [requested];
      for (path of all) files.push(await weightsFile(path, isCold));
    } catch (error) {
      if (error instanceof PinbenchError) throw error;
      throw unreadable(path, fileErrorReason(error, { ENOENT: "there is no such file" }));
    }
  }
  return files;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  const tensors = names.filter((name) => name.endsWith(safetensors));
  if (names.length === 0) throw unreadable(folder, "the folder has no files");
  return (tensors.length > 0 ? tensors : names).sort().map((name) => join(folder, name));
}

async function weightsFile(path: string, isCold: boolean): Promise<WeightsFile> {
  const info = await stat(path);
  // Opening a named pipe would block.
  if (!info.isFile()) throw unreadable(path, "it is not a regular file");
  if (info.size === 0) throw unreadable(path, "it is empty");
  if (isCold && isInMemory(path)) throw unreadable(path, "it is in memory and has no storage for --cold");
  const handle = await open(path);
  try {
    const isSafetensors = path.endsWith(safetensors);
    const pieces = isSafetensors ? await tensorsIn(handle, path, info.size) : piecesOf(info.size);
    return { path, openPath: path, bytes: info.size, modifiedMs: info.mtimeMs, isSafetensors, pieces };
  } finally {
    await handle.close();
  }
}

function piecesOf(bytes: number): WeightsFile["pieces"] {
  return Array.from({ length: Math.ceil(bytes / pieceBytes) }, (_, i) => ({
    offset: i * pieceBytes,
    bytes: Math.min(pieceBytes, bytes - i * pieceBytes),
  }));
}

/** The format's limit for a header. */
const mostHeaderBytes = 100e6;

const offset = z.int().min(0);
const headerSchema = z.record(z.string(), z.object({ data_offsets: z.tuple([offset, offset]) }));

/** Tensors in file order. A file has 8 bytes with the length of the header, the JSON header, and the data. */
async function tensorsIn(handle: FileHandle, path: string, size: number): Promise<WeightsFile["pieces"]> {
  const read = async (at: number, bytes: number) =>
    (await handle.read(Buffer.alloc(bytes), 0, bytes, at)).buffer;
  const headerBytes = Number((await read(0, 8)).readBigUInt64LE());
  const dataBegin = 8 + headerBytes;
  const isWhole = headerBytes <= mostHeaderBytes && dataBegin <= size;
  const header = isWhole ? headerOf((await read(8, headerBytes)).toString("utf8")) : null;
  const tensors = Object.values(header ?? {})
    .map(({ data_offsets: [begin, end] }) => ({ offset: dataBegin + begin, bytes: end - begin }))
    .filter(({ bytes }) => bytes !== 0)
    .sort((a, b) => a.offset - b.offset);
  if (tensors.length === 0) throw unreadable(path, "its safetensors header is cut, or names no tensors");
  if (tensors.some((tensor) => tensor.bytes < 0 || tensor.offset + tensor.bytes > size))
    throw unreadable(path, "it is cut: its safetensors header names more bytes than it has");
  return tensors;
}

function headerOf(text: string): z.infer<typeof headerSchema> | null {
  try {
    const { __metadata__: _, ...tensors } = JSON.parse(text);
    return headerSchema.safeParse(tensors).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Creates a file of this size on storage, with different pieces. Its name is removed before the first byte, so nothing
 * is left behind if this process is killed. Rejects with a PinbenchError.
 */
export async function makeFile(
  bytes: number,
  requested: string | null,
  signal: AbortSignal,
): Promise<{ file: WeightsFile; remove(): Promise<void> }> {
  const folder = fileFolder(requested);
  const path = temporaryPath(folder);
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, "wx+", 0o600);
    await rm(path);
    const words = new Uint32Array(pieceBytes / 4).map((_, i) => Math.imul(i + 1, 0x9e3779b1));
    for (const [i, piece] of piecesOf(bytes).entries()) {
      if (signal.aborted) break;
      words[0] = i;
      await handle.writeFile(new Uint8Array(words.buffer, 0, piece.bytes));
    }
    await handle.sync();
    const { mtimeMs: modifiedMs } = await handle.stat();
    const openPath = `/proc/${process.pid}/fd/${handle.fd}`;
    const file = { path: folder, openPath, bytes, modifiedMs, isSafetensors: false, pieces: piecesOf(bytes) };
    return { file, remove: () => handle!.close() };
  } catch (cause) {
    await handle?.close();
    throw new PinbenchError("output", `No file can be made in ${folder}: ${fileErrorReason(cause, {})}.`, {
      hint: "Make a smaller file, or choose another --file-folder.",
      cause,
    });
  }
}

function unreadable(path: string, reason: string): PinbenchError {
  return new PinbenchError("usage", `${path} cannot be loaded: ${reason}.`);
}
