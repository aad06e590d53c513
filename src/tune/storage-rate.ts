import { once, setMaxListeners } from "node:events";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { readText } from "../host/files.js";
import { loadAddon } from "../native/load.js";
import { packageRoot } from "../package-facts.js";
import type { StorageRate } from "../results/tuning.js";
import { sumOf } from "../stats/variance.js";
import { listDataFolder } from "./model/data-folder.js";
import type { FilePiece, Reading } from "./storage-reader.js";

/** Threads of each reading; the last ones are left out once a doubling gains less than `leastGain`. */
const threadCounts = [1, 2, 4, 8, 16];
const leastGain = 1.05;
/** Limits of one reading; all together take 3 s and 2 GB at most. */
const mostMs = 500;
const mostBytes = 400e6;
const mostFiles = 20_000;
/** Fewest bytes that give a rate. */
const leastBytes = 64e6;
/** Large files are read by several threads. */
const pieceBytes = 2 ** 24;
/** Longest wait for storage that hangs. */
const patienceMs = 10_000;
/** Smallest share of the read bytes that must come from storage; the rest was still in memory. */
const coldShare = 0.5;

/**
 * Rate of reading the files below a folder from storage, without decoding and in no order, by one thread and then by
 * more. Null if unknown: too few bytes, no compiled module to drop pages with, or files that stay in memory. Never
 * rejects.
 */
export async function storageRate(folder: string, signal: AbortSignal): Promise<StorageRate | null> {
  const threads: Worker[] = [];
  const ending = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  // All threads listen to this signal.
  setMaxListeners(0, ending);
  try {
    const { addon } = loadAddon();
    const { files, totalBytes } = await listDataFolder(folder);
    if (totalBytes < leastBytes) return null;
    const order = shuffled(files);
    const rates: StorageRate[] = [];
    for (const count of threadCounts) {
      const pieces = await nextPieces(order);
      await addon.dropFromPageCache([...new Set(pieces.map(({ file }) => file))]);
      while (threads.length < count) threads.push(await startThread(ending));
      const bytesPerSecond = await read(threads, pieces, ending);
      if (bytesPerSecond === null) return null;
      rates.push({ bytesPerSecond, threads: count });
      if (isSaturated(rates)) break;
    }
    return fastest(rates);
  } catch {
    return null;
  } finally {
    for (const thread of threads) void thread.terminate();
  }
}

/** Whether the last doubling of threads gained nothing. */
export function isSaturated(rates: readonly StorageRate[]): boolean {
  const [before, last] = rates.slice(-2);
  return last !== undefined && last.bytesPerSecond < leastGain * before!.bytesPerSecond;
}

function fastest(rates: readonly StorageRate[]): StorageRate {
  return rates.reduce((best, one) => (one.bytesPerSecond > best.bytesPerSecond ? one : best));
}

function shuffled(files: readonly string[]): string[] {
  const keyed = files.map((file) => ({ file, key: Math.random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ file }) => file);
}

/** Takes files from the front of `order`, and puts them at its end. */
async function nextPieces(order: string[]): Promise<FilePiece[]> {
  const pieces: FilePiece[] = [];
  let bytes = 0;
  for (let taken = 0; taken < Math.min(order.length, mostFiles) && bytes < mostBytes; ++taken) {
    const file = order.shift()!;
    order.push(file);
    const { size } = await lstat(file);
    for (let start = 0; start < size && bytes < mostBytes; start += pieceBytes) {
      const piece = { file, start, bytes: Math.min(pieceBytes, size - start) };
      pieces.push(piece);
      bytes += piece.bytes;
    }
  }
  return pieces;
}

async function startThread(signal: AbortSignal): Promise<Worker> {
  const thread = new Worker(join(packageRoot, "dist/program/storage-reader.js"));
  // A thread that ends between two readings sends nothing in the next, which is then given up.
  thread.on("error", () => undefined);
  await once(thread, "message", { signal });
  return thread;
}

/** Bytes a second read from storage; null if the kernel does not count them, or too many were in memory. */
async function read(
  threads: readonly Worker[],
  pieces: readonly FilePiece[],
  signal: AbortSignal,
): Promise<number | null> {
  const turn = new Int32Array(new SharedArrayBuffer(4));
  const before = storageBytes();
  const startedMs = performance.now();
  const read = await Promise.all(
    threads.map(async (thread) => {
      const done = once(thread, "message", { signal });
      thread.postMessage({ pieces, turn, ms: mostMs } satisfies Reading);
      const [bytes]: number[] = await done;
      return bytes!;
    }),
  );
  const seconds = (performance.now() - startedMs) / 1e3;
  const after = storageBytes();
  if (before === null || after === null) return null;
  const deliveredBytes = after - before;
  const isCold = deliveredBytes > coldShare * sumOf(read);
  return isCold ? deliveredBytes / seconds : null;
}

function storageBytes(): number | null {
  const text = /^read_bytes: (\d+)$/m.exec(readText("/", "proc/self/io") ?? "")?.[1];
  return text === undefined ? null : Number(text);
}
