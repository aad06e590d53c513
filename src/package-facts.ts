import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the package: that of package.json, dist and what is compiled. */
export const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** The program, for the processes that pinbench starts of itself. */
export const programPath = join(packageRoot, "bin/pinbench.js");

/** The version that package.json has, such as "0.1.0". */
export function packageVersion(): string {
  const text = readFileSync(join(packageRoot, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Which commit the program was built from, and its date; null where the build knew of none. */
export function packageCommit(): { commit: string | null; commitDate: string | null } {
  try {
    const text = readFileSync(join(packageRoot, "dist/program/commit.json"), "utf8");
    return JSON.parse(text) as ReturnType<typeof packageCommit>;
  } catch {
    return { commit: null, commitDate: null };
  }
}
