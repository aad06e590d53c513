import { type Dirent, readdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

/** Maximum number of folder entries to look at: a data set may lie next to the script. */
const mostEntries = 20_000;
/** Folders without checkpoints, which are skipped. */
const ignored = new Set(["__pycache__", ".git", "node_modules", ".venv"]);
/** Names of checkpoint files. */
const checkpoint = /\.(pt|pth|ckpt|safetensors)$|checkpoint/i;

export interface WrittenFile {
  path: string;
  /** Whether a later training may resume from it. */
  isNewCheckpoint: boolean;
}

/** Files made or changed since `sinceMs` (Unix time) in the working folder and folders named by the command only. */
export function writtenFiles(
  command: readonly string[],
  sinceMs: number,
  cwd = process.cwd(),
): WrittenFile[] {
  const named = command.map((word) => resolve(cwd, word.replace(/^--?[^=]+=/, "")));
  const roots = [cwd, ...named.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory())];
  const found = new Map<string, WrittenFile>();
  let left = mostEntries;
  const visit = (folder: string) => {
    for (const entry of entriesOf(folder)) {
      if (left-- <= 0) return;
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !ignored.has(entry.name)) visit(path);
      else if (entry.isFile()) {
        const stat = statSync(path, { throwIfNoEntry: false });
        if (stat === undefined || stat.mtimeMs < sinceMs) continue;
        const isNewCheckpoint = stat.birthtimeMs >= sinceMs && checkpoint.test(path.slice(folder.length));
        const short = relative(cwd, path);
        found.set(path, { path: short.startsWith("..") ? path : short, isNewCheckpoint });
      }
    }
  };
  for (const root of roots) visit(root);
  return [...found.values()];
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
