import { write } from "node:fs";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { errorCode } from "../errors.js";

const writeDescriptor = promisify(write);
const retryMs = 2;

/**
 * Writes all of `text` to something that is no regular file: a fifo, a terminal, or a descriptor of this process
 * under its path. A reader that has closed its end wanted no more, which is no error.
 */
export async function writeToStream(path: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const inherited = inheritedDescriptor(path);
  try {
    if (inherited !== null) {
      await writeAll(inherited, bytes);
      return;
    }
    const handle = await open(path, "a");
    try {
      await writeAll(handle.fd, bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (errorCode(error) !== "EPIPE") {
      throw error;
    }
  }
}

/**
 * The descriptor that paths such as /dev/stdout and /dev/fd/3 stand for; null for any other path. It is written
 * to as it is: opening the path again fails on a socket and starts at the top of a redirected file.
 */
export function inheritedDescriptor(path: string): number | null {
  if (path === "/dev/stdout") {
    return 1;
  }
  if (path === "/dev/stderr") {
    return 2;
  }
  const numbered = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path);
  return numbered === null ? null : Number(numbered[1]);
}

async function writeAll(descriptor: number, bytes: Buffer): Promise<void> {
  let offset = 0;
  while (offset < bytes.length) {
    try {
      const { bytesWritten } = await writeDescriptor(descriptor, bytes, offset, bytes.length - offset, null);
      offset += bytesWritten;
    } catch (error) {
      // Node sets its own pipes to non-blocking: a slow reader fills them.
      if (errorCode(error) !== "EAGAIN") {
        throw error;
      }
      await sleep(retryMs);
    }
  }
}
