import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { errorCode } from "../errors.js";

/** The desktop's way to open a file with whatever is meant for it (freedesktop.org's xdg-utils). */
const opener = "xdg-open";

/**
 * Has the desktop show a file, and does not wait for it. Resolves with why it cannot, as a clause; null where the opener
 * was started.
 */
export async function showInBrowser(path: string): Promise<string | null> {
  // As an absolute path: one that begins with a hyphen would be taken for a flag.
  const child = spawn(opener, [resolve(path)], { detached: true, stdio: "ignore" });
  try {
    await once(child, "spawn");
  } catch (error) {
    return errorCode(error) === "ENOENT" ? `there is no ${opener} here` : `${opener} did not start`;
  }
  child.unref();
  return null;
}
