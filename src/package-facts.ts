import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of package.json, dist and the compiled files. */
export const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** The program that pinbench starts as a child process. */
export const programPath = join(packageRoot, "bin/pinbench.js");

/** The version in package.json, such as "0.1.0". */
export function packageVersion(): string {
  const text = readFileSync(join(packageRoot, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** The commit of the program and its date; null if the build did not know it. */
export function packageCommit(): { commit: string | null; commitDate: string | null } {
  try {
    const text = readFileSync(join(packageRoot, "dist/program/commit.json"), "utf8");
    return JSON.parse(text) as ReturnType<typeof packageCommit>;
  } catch {
    return { commit: null, commitDate: null };
  }
}
