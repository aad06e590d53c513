import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A failure that is reported by its message, without a stack trace. */
export class ScriptError extends Error {}

/**
 * Runs a program to its end. With `quiet` its output is shown only if it fails; with `capture` it is
 * returned. Rejects with a ScriptError if the exit code is not 0.
 */
export function run(command, args, { cwd, env, quiet = false, capture = false } = {}) {
  return new Promise((resolve, reject) => {
    const held = quiet || capture;
    const child = spawn(command, args, { cwd, env, stdio: held ? ["ignore", "pipe", "pipe"] : "inherit" });
    const out = [];
    const all = [];
    child.stdout?.on("data", (chunk) => {
      out.push(chunk);
      all.push(chunk);
    });
    child.stderr?.on("data", (chunk) => all.push(chunk));
    child.on("error", (error) =>
      reject(new ScriptError(`${command} could not be started: ${error.message}`)),
    );
    child.on("close", (code, signal) => {
      if (code === 0) {
        resolve(Buffer.concat(out).toString());
        return;
      }
      process.stderr.write(Buffer.concat(all));
      reject(new ScriptError(`${command} ${args[0] ?? ""} failed (${signal ?? `exit code ${code}`}).`));
    });
  });
}

/** The folders of PATH. */
export const searchPath = () => (process.env.PATH ?? "").split(delimiter);

/** The path of the first program of this name in these folders, or null. */
export function findProgram(name, folders = searchPath()) {
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** Calls `body` for each item, two at a time, which suits small machines. */
export async function forEachTwoAtOnce(items, body) {
  const left = [...items];
  const takeSome = async () => {
    while (left.length > 0) await body(left.shift());
  };
  await Promise.all([takeSome(), takeSome()]);
}

/** Runs a script's main function; a ScriptError becomes one line on stderr and exit code 1. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    console.error(error instanceof ScriptError ? error.message : error);
    process.exitCode = 1;
  }
}
