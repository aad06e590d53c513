import { getEventListeners } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import { explain, pin, run } from "../../src/index.js";
import { measureInFreshProcess, measureInFreshProcesses } from "../../src/measure/fresh-process.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import { pinbench } from "../helpers/run-cli.js";

/* A long operation releases all that it has taken of the calling process when it ends. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Listeners of the process and of a signal, open descriptors and threads, without those of objects nobody has. */
function held(signal: AbortSignal) {
  collectGarbage();
  const ofProcess = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  return {
    ofProcess: Object.fromEntries(ofProcess.filter(([, count]) => count !== 0)),
    ofSignal: getEventListeners(signal, "abort").length,
    descriptors: readdirSync("/proc/self/fd").length,
    threads: readdirSync("/proc/self/task").length,
  };
}

const emulated = { backend: "emulated" } as const;
const small = {
  ...{ ...emulated, sizes: "4KiB", workers: 2, memory: "pinned,pageable", direction: "h2d", samples: 6 },
} as const;
const listed = fillRunSettings({
  origin: "caller",
  values: {
    ...{ backend: "emulated", samplesPerCell: 6 },
    cells: ["d0/h2d/pinned/4096/w1/throughput/cold"],
  },
});
const pool = { backend: "emulated", sizes: ["4MiB"], budget: "1s" } as const;

const operations: [what: string, work: (signal: AbortSignal) => Promise<unknown>][] = [
  ["a run", (signal) => run({ ...small, signal })],
  ["a run with worker processes", (signal) => run({ ...small, workerKind: ["process"], signal })],
  ["a run that is refused", (signal) => run({ ...small, sizes: ["64TiB"], signal }).catch(() => undefined)],
  ["a fresh process", (signal) => measureInFreshProcess(listed, { entry: pinbench, signal })],
  [
    "several fresh processes",
    async (signal) => {
      for await (const _ of measureInFreshProcesses(listed, 2, { entry: pinbench, signal }));
    },
  ],
  [
    "a fresh process without a result",
    (signal) =>
      measureInFreshProcess({ ...listed, cells: ["d0"] }, { entry: pinbench, signal }).catch(() => undefined),
  ],
  ["timing pinned pools with --stalls", (signal) => pin({ ...pool, stalls: true, signal })],
  ["an explanation", (signal) => explain({ ...emulated, questions: ["too-small"], signal })],
];

/** What is held, once it is the same twice in a row. */
async function settled(signal: AbortSignal) {
  for (let before = held(signal); ; ) {
    await sleep(200);
    const now = held(signal);
    if (isDeepStrictEqual(now, before)) return now;
    before = now;
  }
}

it.each(operations)(
  "%s leaves no listener, descriptor or thread behind",
  { timeout: 300_000 },
  async (_, work) => {
    const { signal } = new AbortController();
    // What the process has once, such as the addon and the threads of Node, stays.
    await work(signal);
    const before = await settled(signal);
    await work(signal);
    // Threads and processes that end take a moment, longer on a busy machine.
    const isAsBefore = () => {
      const { descriptors, threads, ...listeners } = held(signal);
      expect(listeners).toEqual({ ofProcess: before.ofProcess, ofSignal: before.ofSignal });
      expect(descriptors).toBeLessThanOrEqual(before.descriptors);
      expect(threads).toBeLessThanOrEqual(before.threads);
    };
    await vi.waitFor(isAsBefore, { timeout: 60_000, interval: 200 });
  },
);
