import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** Prefix of the directories that child processes of the process `pid` make. */
const prefixOf = (pid: number) => join(tmpdir(), `pinbench-host-${pid}-`);

/** A directory that stands in for "/", with these files: path below it to contents. Removed after all tests. */
export function fixtureRoot(files: Record<string, string> = {}): string {
  const root = mkdtempSync(prefixOf(process.ppid));
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${contents}\n`);
  }
  return root;
}

/** Not after a file of tests, as helpers make some when they are loaded, for all files that share their process. */
export function removeFixtureRoots(): void {
  const prefix = basename(prefixOf(process.pid));
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(prefix))) {
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}
