import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const roots: string[] = [];
// Helpers that several files of tests share make some as they are loaded.
process.once("exit", () => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

/** A directory that stands in for "/", with these files: path below it to contents. Removed with the process. */
export function fixtureRoot(files: Record<string, string> = {}): string {
  const root = mkdtempSync(join(tmpdir(), "pinbench-host-"));
  roots.push(root);
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${contents}\n`);
  }
  return root;
}
