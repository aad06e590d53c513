import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeFor } from "./platforms.mjs";
import { findProgram, ScriptError } from "./process.mjs";

/** Runs arm64 programs on x86-64 with qemu's user mode and Debian's libraries for cross compilers. */

const qemu = "qemu-aarch64-static";

/** The arm64 linker and libraries. */
export const libraries = "/usr/aarch64-linux-gnu/lib";

/** Why arm64 programs cannot be compiled or run here; null if they can. */
export function emulationMissing() {
  const missing = ["aarch64-linux-gnu-g++", qemu].find((program) => findProgram(program) === null);
  return missing === undefined ? null : `${missing} is not on the PATH`;
}

/** How to install all of it. */
export const emulationAdvice =
  "Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross.";

/** Path of qemu's user mode for arm64. Throws a ScriptError if it is missing. */
export function requireEmulation() {
  const missing = emulationMissing();
  if (missing !== null) throw new ScriptError(`${missing}. ${emulationAdvice}`);
  return findProgram(qemu);
}

/**
 * Writes `bin/node` into a folder: an arm64 Node that this machine can start. Its `process.execPath` is that script,
 * because the kernel cannot start arm64 files. Returns its path.
 */
export async function writeEmulatedNode(folder) {
  const command = [requireEmulation(), "-L", join(libraries, ".."), await nodeFor("arm64")];
  return writeNodeProgram(folder, command);
}

/** The same for any command that starts Node. Programs in another root file system see the folder as `seenAs`. */
export function writeNodeProgram(folder, command, seenAs = folder) {
  mkdirSync(join(folder, "bin"), { recursive: true });
  const program = join(seenAs, "bin/node");
  writeFileSync(join(folder, preloaded), `process.execPath = ${JSON.stringify(program)};\n`);
  const words = [...command, "--require", join(seenAs, preloaded)].map((word) => `'${word}'`).join(" ");
  writeFileSync(join(folder, "bin/node"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  return program;
}

const preloaded = "exec-path.cjs";

/** Ends the processes that such a Node left behind; returns their number. */
export function endEmulatedNodes(folder) {
  const left = readdirSync("/proc").filter(
    (pid) => /^\d+$/.test(pid) && commandOf(pid).includes(join(folder, preloaded)),
  );
  for (const pid of left) process.kill(Number(pid), "SIGKILL");
  return left.length;
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    // It has ended.
    return [];
  }
}
