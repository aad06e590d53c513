import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterFile } from "../helpers/after-file.js";

/** A directory that stands in for "/", with these files: path below it to contents. Removed after the tests. */
export function fixtureRoot(files: Record<string, string> = {}): string {
  const root = mkdtempSync(join(tmpdir(), "pinbench-host-"));
  afterFile(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${contents}\n`);
  }
  return root;
}
