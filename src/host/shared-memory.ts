import { readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { listNames, readText } from "./files.js";

const folder = "/dev/shm";

/** Names that torch, multiprocessing, joblib and NCCL give their shared memory; a data set's files have others. */
const knownNames = /^(torch_\d+_|psm_|nccl-|sem\.(mp-|loky-))/;

/** Torch names what a process shares after that process. */
const madeByTorch = /^torch_(\d+)_/;

/**
 * Whether a process is Python's resource tracker or torch's torch_shm_manager. They remove the shared memory of processes
 * that have died and then end by themselves; killing them sooner would leave the memory behind.
 */
export function keepsSharedMemory(pid: number): boolean {
  const command = readText("/", `proc/${pid}/cmdline`) ?? "";
  return /multiprocessing\.resource_tracker|torch_shm_manager/.test(command);
}

/** The shared memory with names that a user's processes leave in /dev/shm if they are killed. */
export class LeftSharedMemory {
  readonly #startedMs = Date.now();
  readonly #names = new Set<string>();

  /** Keeps the names of what these processes have open or mapped: nothing tells whose it was when they are gone. */
  note(pids: readonly number[]): void {
    for (const pid of pids) {
      for (const name of sharedNames(pid)) if (knownNames.test(name)) this.#names.add(name);
    }
  }

  /** Removes what was noted, and what torch named after one of `makers`, unless it is older than this object. */
  remove(makers: ReadonlySet<number>): void {
    for (const name of listNames("/", folder)) {
      const maker = madeByTorch.exec(name)?.[1];
      if (!this.#names.has(name) && !(maker !== undefined && makers.has(Number(maker)))) continue;
      const path = join(folder, name);
      try {
        if (statSync(path).birthtimeMs >= this.#startedMs) rmSync(path, { force: true });
      } catch {
        // It has gone.
      }
    }
  }
}

/** Names in /dev/shm that a process has mapped or open. */
function sharedNames(pid: number): string[] {
  const maps = readText("/", `proc/${pid}/maps`) ?? "";
  const mapped = [...maps.matchAll(/ \/dev\/shm\/(\S+)$/gm)].map(([, name]) => name!);
  const opened = listNames("/", `proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^\/dev\/shm\/(\S+)$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
  return [...mapped, ...opened];
}
