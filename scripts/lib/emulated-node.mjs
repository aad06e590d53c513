import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeFor } from "./platforms.mjs";
import { findProgram, ScriptError } from "./process.mjs";

/** Programs for arm64 on x86-64: qemu's user mode, with Debian's libraries for cross compilers. */

const qemu = "qemu-aarch64-static";

/** The folder of arm64's linker and libraries. */
export const libraries = "/usr/aarch64-linux-gnu/lib";

/** Why arm64's programs cannot be compiled or run here; null if they can. */
export function emulationMissing() {
  const missing = ["aarch64-linux-gnu-g++", qemu].find((program) => findProgram(program) === null);
  return missing === undefined ? null : `${missing} is not on the PATH`;
}

/** What brings all of it. */
export const emulationAdvice =
  "Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross.";

/** The path of qemu's user mode for arm64. Throws a ScriptError without it. */
export function requireEmulation() {
  const missing = emulationMissing();
  if (missing !== null) throw new ScriptError(`${missing}. ${emulationAdvice}`);
  return findProgram(qemu);
}

/**
 * Writes a program `bin/node` into a folder that is an arm64 Node, for this machine. Its `process.execPath` is that program,
 * because the kernel does not start arm64's own files. Returns its path.
 */
export async function writeEmulatedNode(folder) {
  const command = [requireEmulation(), "-L", join(libraries, ".."), await nodeFor("arm64")];
  return writeNodeProgram(folder, command);
}

/** The same with the command that starts Node, for a file system in which the folder's path is `seenAs`. */
export function writeNodeProgram(folder, command, seenAs = folder) {
  mkdirSync(join(folder, "bin"), { recursive: true });
  const program = join(seenAs, "bin/node");
  writeFileSync(join(folder, preloaded), `process.execPath = ${JSON.stringify(program)};\n`);
  const words = [...command, "--require", join(seenAs, preloaded)].map((word) => `'${word}'`).join(" ");
  writeFileSync(join(folder, "bin/node"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  return program;
}

const preloaded = "exec-path.cjs";

/** Ends the processes that such a program has left behind, and returns how many there were. */
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
