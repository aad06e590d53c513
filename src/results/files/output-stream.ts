import { constants, existsSync, write } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { endingSignals, errorCode, PinbenchError } from "../../errors.js";
import { shortageOf } from "../../machine-shortage.js";
import { fileErrorReason, inheritedDescriptor } from "../../text-file.js";

const writeDescriptor = promisify(write);
const retryMs = 2;

/**
 * Writes all of `text` to something other than a regular file: a fifo, a terminal, or a descriptor of this process by
 * its path. A reader that has closed its end early is no error. Rejects with the file system's error.
 */
export async function writeToStream(path: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const inherited = inheritedDescriptor(path);
  try {
    if (inherited !== null) {
      await writeAll(inherited, bytes);
      return;
    }
    const handle = await openStream(path);
    try {
      await writeAll(handle.fd, bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (errorCode(error) !== "EPIPE") throw error;
  }
}

const fifoPollMs = 50;

/**
 * Opens a stream for writing. Waits until a named pipe has a reader, and ends after a signal: waiting inside open()
 * would block a thread until a reader comes.
 */
async function openStream(path: string): Promise<FileHandle> {
  let signal: NodeJS.Signals | null = null;
  const onSignal = (name: NodeJS.Signals) => {
    signal = name;
  };
  for (const name of endingSignals) process.on(name, onSignal);
  try {
    for (;;) {
      try {
        return await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK);
      } catch (error) {
        const isWaiting = errorCode(error) === "ENXIO" && (await stat(path)).isFIFO();
        if (!isWaiting || signal !== null) throw error;
        await sleep(fifoPollMs);
      }
    }
  } finally {
    for (const name of endingSignals) process.off(name, onSignal);
    // If nobody else listens, it ends this process as usual.
    if (signal !== null && process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  }
}

async function writeAll(descriptor: number, bytes: Buffer): Promise<void> {
  let offset = 0;
  while (offset < bytes.length) {
    try {
      const { bytesWritten } = await writeDescriptor(descriptor, bytes, offset, bytes.length - offset, null);
      offset += bytesWritten;
    } catch (error) {
      // Node makes its own pipes non-blocking: a slow reader fills them.
      if (errorCode(error) !== "EAGAIN") throw error;
      await sleep(retryMs);
    }
  }
}

/** Reasons of a failed write besides those of any file. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  EFBIG: "it would be larger than a file may be",
  ENXIO: "nothing reads from it",
};

/** The result of `work`; a file system's error becomes that of `path`, which cannot be written. */
export async function reportingAs<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PinbenchError ? error : cannotWrite(path, error);
  }
}

/** One sentence on why `path` cannot be written, from a file system's error. */
export function cannotWrite(path: string, cause: unknown): PinbenchError {
  const shortage = shortageOf(cause, `cannot write ${path}`);
  if (shortage !== null) return shortage;
  const { syscall, path: tried } = cause as NodeJS.ErrnoException;
  // So does /proc answer.
  const isThere = errorCode(cause) === "ENOENT" && syscall === "open" && existsSync(dirname(tried!));
  return unwritable(path, isThere ? "its folder takes no files" : fileErrorReason(cause, reasons), cause);
}

/** The error for `path`, of kind "output", with the reason as a clause without a full stop. */
export function unwritable(path: string, reason: string, cause?: unknown): PinbenchError {
  const hint = "Choose another path to write to.";
  return new PinbenchError("output", `cannot write ${path}: ${reason}.`, { hint, cause });
}
