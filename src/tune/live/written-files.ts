import { readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

/** Maximum number of entries to look at below a folder: a data set may lie next to the script. */
const usualLimit = 20_000;
/** Folders without checkpoints, which are skipped. */
const ignored = new Set(["__pycache__", ".git", "node_modules", ".venv"]);
/** Names of checkpoint files. */
const checkpoint = /\.(pt|pth|ckpt|safetensors)(\.tar)?$|checkpoint/i;

export interface WrittenFile {
  path: string;
  /** Whether a later training may resume from it. */
  isCheckpoint: boolean;
}

/** Files made or changed since `sinceMs` (Unix time) in folders named by the command, and in the working folder. */
export function writtenFiles(
  command: readonly string[],
  sinceMs: number,
  cwd = process.cwd(),
  limit = usualLimit,
): WrittenFile[] {
  const named = command.map((word) => resolve(cwd, word.replace(/^--?[^=]+=/, "")));
  // By their real paths, because folders may lie in each other.
  const found = new Map<string, WrittenFile>();
  for (const root of [...named, cwd]) {
    for (const { path, real, name, changedMs } of filesBelow(root, limit)) {
      if (changedMs < sinceMs) continue;
      const short = relative(cwd, path);
      found.set(real, { path: short.startsWith("..") ? path : short, isCheckpoint: checkpoint.test(name) });
    }
  }
  return [...found.values()];
}

/** Follows links. The nearest files come first, so that a large data set hides none beside it. */
function* filesBelow(root: string, limit: number) {
  let left = limit;
  // Paths by real paths: a link may lead back. The loop also visits folders that are added meanwhile.
  const folders = new Map([[readable(() => realpathSync(root)), root]]);
  for (const [real, folder] of folders) {
    for (const name of readable(() => readdirSync(folder)) ?? []) {
      if (left-- <= 0) return;
      const path = join(folder, name);
      const stat = readable(() => statSync(path));
      if (stat?.isFile()) yield { path, real: join(real ?? folder, name), name, changedMs: stat.mtimeMs };
      else if (stat?.isDirectory() && !ignored.has(name)) {
        const target = readable(() => realpathSync(path));
        folders.set(target, path);
      }
    }
  }
}

/** Null if a file is gone, may not be read or is of another kind. */
function readable<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch {
    return null;
  }
}
