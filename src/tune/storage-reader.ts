import { closeSync, openSync, readSync } from "node:fs";
import { parentPort } from "node:worker_threads";

/*
 * The program of a thread that reads files and discards the data. It posts 0 once it runs, and after each reading the
 * number of bytes.
 */

export interface FilePiece {
  file: string;
  start: number;
  bytes: number;
}

/** Work shared by several threads. `turn` is the shared index of the next piece. */
export interface Reading {
  pieces: readonly FilePiece[];
  turn: Int32Array;
  ms: number;
}

const buffer = Buffer.allocUnsafeSlow(2 ** 20);

function readPiece({ file, start, bytes }: FilePiece, endMs: number): number {
  const descriptor = openSync(file, "r");
  let total = 0;
  try {
    for (let got = 1; total < bytes && got > 0 && Date.now() < endMs; total += got) {
      got = readSync(descriptor, buffer, 0, Math.min(buffer.length, bytes - total), start + total);
    }
  } finally {
    closeSync(descriptor);
  }
  return total;
}

parentPort?.on("message", ({ pieces, turn, ms }: Reading) => {
  const endMs = Date.now() + ms;
  let total = 0;
  while (Date.now() < endMs) {
    const piece = pieces[Atomics.add(turn, 0, 1)];
    if (piece === undefined) break;
    try {
      total += readPiece(piece, endMs);
    } catch {
      // A missing or unreadable file counts 0 bytes.
    }
  }
  parentPort?.postMessage(total);
});
parentPort?.postMessage(0);
