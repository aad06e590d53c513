import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "./cache-folder.js";
import type { Candidate } from "./candidates.js";

/**
 * Remembers which modules have loaded, so that the next start need not try them in a process of their own. Failures are
 * not remembered: their cause may be gone. All of it is a convenience: where nothing can be kept, nothing is.
 */
export class ProbeCache {
  readonly #file: string | null;

  constructor(environment: NodeJS.ProcessEnv) {
    const folder = cacheFolder(environment);
    this.#file = folder === null ? null : join(folder, "loaded.json");
  }

  has(key: string): boolean {
    return this.#read().includes(key);
  }

  add(key: string): void {
    if (this.#file === null) return;
    const kept = [key, ...this.#read().filter((one) => one !== key)].slice(0, mostKept);
    const fresh = `${this.#file}.${process.pid}`;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(fresh, JSON.stringify(kept), { mode: 0o600 });
      renameSync(fresh, this.#file);
    } catch {
      // A read-only or full home.
    }
  }

  #read(): string[] {
    if (this.#file === null) return [];
    try {
      const kept: unknown = JSON.parse(readFileSync(this.#file, "utf8"));
      return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
    } catch {
      return [];
    }
  }
}

const mostKept = 32;

/** The system's linker, of glibc and of musl: with it the C library changes. */
const linkers = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"];

/** Names a module and all that decides whether it loads: the files as they are, Node, and the C library. */
export function probeKey({ path, emulatedLibraryPath }: Candidate): string {
  const files = [path, emulatedLibraryPath, process.execPath, ...linkers];
  return [process.version, process.arch, ...files.map(identityOf)].join(" ");
}

function identityOf(path: string): string {
  const info = statSync(path, { throwIfNoEntry: false });
  return info === undefined ? "-" : `${path}:${info.ino}:${info.size}:${info.mtimeMs}`;
}
