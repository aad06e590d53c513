import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBackend } from "../../src/native/backend.js";
import type { NativeDriver, NativeRendezvous, NativeSession } from "../../src/native/contract.js";
import { loadAddon } from "../../src/native/load.js";
import type { LoaderOptions, NativePool } from "../../src/native/loader-contract.js";
import { measureRequest } from "../helpers/measure-request.js";
import { seeded } from "../helpers/seeded.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

/**
 * Every argument of every call of the addon, and every field of each, gets values that it cannot have. The call must
 * work, or throw a TypeError, a RangeError or a NativeError that says what is wrong. This file also runs under
 * AddressSanitizer, which finds undefined behaviour.
 */

const devicesVariable = "PINBENCH_EMULATED_DEVICES";
const { addon } = loadAddon();
const arena = () => ({ chunksOfWorker: [2, 1], chunkBytes: 64 * 1024 });
const request = (part = {}) => measureRequest({ sizeBytes: 4096, buffers: 2, ...part });

let driver: NativeDriver;
let session: NativeSession;
let other: NativeSession;
let rendezvous: NativeRendezvous;
let copiedPool: NativePool;

beforeAll(async () => {
  process.env[devicesVariable] = "2";
  ({ driver } = await openBackend("emulated", loadAddon()));
  session = await openSession(0);
  other = await openSession(1);
  rendezvous = addon.createRendezvous();
  copiedPool = await session.obtainPool({ way: "register", bytes: 1 << 20, pieces: 1, threads: 1 });
});
afterAll(async () => {
  delete process.env[devicesVariable];
  await Promise.all([session.close(), other.close()]);
});

async function openSession(device: number): Promise<NativeSession> {
  const opened = await driver.openSession({ device, cpus: [0], threads: 1, numaNode: null, seed: 3 });
  await reserve(opened);
  return opened;
}

async function reserve(opened: NativeSession): Promise<void> {
  await opened.reserveHost("pinned", arena());
  await opened.reserveHost("pageable", arena());
  await opened.reserveDevice(arena(), 2);
  await opened.reserveStaging(ring());
}

const ring = () => ({ workers: 1, slots: 2, chunkBytes: 4096, hostSlots: 2, hostChunkBytes: 4096 });

const loaderOptions = (): LoaderOptions => ({
  workers: 1,
  pinMemory: true,
  prefetchFactor: 2,
  nonBlocking: true,
  batchSamples: 4,
  sampleBytes: 64,
  sampleCostNs: 0,
  files: [],
  firstSample: 0,
  sampleStride: 1,
  dropFiles: false,
  step: { durationNs: 1000, multiplyAddsPerByte: 0 },
});

/** Any call of the addon, with arguments that are right. */
interface Call {
  name: string;
  args: () => unknown[];
  run: (...args: never[]) => unknown;
  /** Gives back what the call has made. */
  undo?: (made: never) => unknown;
}

const calls: Call[] = [
  {
    name: "openDriver",
    args: () => [{ driver: "libpinbench-no-such.so", nvml: null }],
    run: (...args) => addon.openDriver(...(args as unknown as Parameters<typeof addon.openDriver>)),
  },
  { name: "openRendezvous", args: () => [rendezvous.path], run: (path) => addon.openRendezvous(path) },
  { name: "dropFromPageCache", args: () => [["/nowhere"]], run: (files) => addon.dropFromPageCache(files) },
  { name: "reset", args: () => [[1, 1]], run: (flows) => rendezvous.reset(flows) },
  {
    name: "openSession",
    args: () => [{ device: 0, cpus: [0], threads: 1, numaNode: null, seed: 1, reportsNodes: true }],
    run: (options) => driver.openSession(options),
    undo: (opened: NativeSession) => opened.close(),
  },
  { name: "readProcesses", args: () => ["0000:00:00.0"], run: (id) => driver.readProcesses(id) },
  { name: "readActivity", args: () => ["0000:00:00.0"], run: (id) => driver.readActivity(id) },
  { name: "readHealth", args: () => ["0000:00:00.0"], run: (id) => driver.readHealth(id) },
  {
    name: "reserveHost",
    args: () => ["pageable", arena()],
    run: (kind, geometry) => session.reserveHost(kind, geometry),
    undo: () => reserve(session),
  },
  {
    name: "reserveDevice",
    args: () => [arena(), 2],
    run: (geometry, copies) => session.reserveDevice(geometry, copies),
    undo: () => reserve(session),
  },
  {
    name: "reserveStaging",
    args: () => [ring()],
    run: (shape) => session.reserveStaging(shape),
    undo: () => reserve(session),
  },
  { name: "measure", args: () => [request()], run: (asked) => session.measure(asked) },
  {
    name: "measure in chunks",
    args: () => [request({ copiesPerSample: 1, pipeline: { chunks: 2, computeNs: 1000 } })],
    run: (asked) => session.measure(asked),
  },
  {
    name: "measure in company",
    args: () => {
      rendezvous.reset([1]);
      return [request({ company: { rendezvous, flow: 0 } })];
    },
    run: (asked) => session.measure(asked),
  },
  {
    name: "measure between devices",
    args: () => [request({ direction: "p2p", memory: "device", peer: { session: other, path: "write" } })],
    run: (asked) => session.measure(asked),
  },
  {
    name: "measurePinning",
    args: () => ["registered", 4096],
    run: (kind, bytes) => session.measurePinning(kind, bytes),
  },
  {
    name: "obtainPool",
    args: () => [{ way: "register-huge", bytes: 1 << 20, pieces: 2, threads: 2 }],
    run: (options) => session.obtainPool(options),
    undo: (pool: { release(): Promise<unknown> }) => pool.release(),
  },
  {
    name: "copy of a pool",
    args: () => ["h2d", 4096, 2],
    run: (direction, sizeBytes, copies) => copiedPool.copy(direction, sizeBytes, copies),
  },
  {
    name: "openLoader",
    args: () => [loaderOptions()],
    run: (options) => session.openLoader(options),
    undo: (loader: { close(): Promise<unknown> }) => loader.close(),
  },
  {
    name: "loadWeights",
    args: () => [
      {
        files: [fileURLToPath(import.meta.url)],
        pieces: [{ file: 0, offset: 3, bytes: 100 }],
        way: "mapped-slots",
        threads: 1,
      },
    ],
    run: (asked) => session.loadWeights(asked),
  },
  {
    name: "startLoad",
    args: () => [{ kind: "host", hostThreads: 1, hostBytes: 1 << 20 }],
    run: (options) => session.startLoad(options),
    undo: (load: { stop(): Promise<unknown> }) => load.stop(),
  },
];

const throwing = () => {
  throw new Error("a getter's own error");
};

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

/** What no argument and no field may be, made anew for each trial. */
const hostileValues: Record<string, () => unknown> = {
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  "-Infinity": () => Number.NEGATIVE_INFINITY,
  "-0": () => -0,
  "-1": () => -1,
  "1.5": () => 1.5,
  "5e-324": () => Number.MIN_VALUE,
  "2^53 - 1": () => Number.MAX_SAFE_INTEGER,
  "2^53": () => 2 ** 53,
  "2^63": () => 2 ** 63,
  "2^64": () => 2 ** 64,
  "1e308": () => 1e308,
  "a string": () => "1",
  "an empty string": () => "",
  "a string with a NUL": () => "pinned\0",
  "a lone surrogate": () => "\ud800",
  "a long string": () => "x".repeat(1 << 20),
  true: () => true,
  null: () => null,
  undefined: () => undefined,
  "a BigInt": () => 1n,
  "a symbol": () => Symbol("hostile"),
  "a function": () => () => 1,
  "an object": () => ({}),
  "an object without a prototype": () => Object.create(null),
  "an object that is no number": () => ({ valueOf: throwing, toString: throwing }),
  "an empty array": () => [],
  "an array of hostile things": () => [Number.NaN, -1, "1", null],
  "an array with holes": () => new Array(3),
  "an array of 2^32 - 1 holes": () => new Array(2 ** 32 - 1),
  "an array that grows while it is read": () => {
    const array: unknown[] = [];
    Object.defineProperty(array, 0, { get: () => array.push(1) });
    return array;
  },
  "an array of one that throws": () => Object.defineProperty([], 0, { get: throwing }),
  "a detached array": detached,
  "an array that was resized": () => {
    const buffer = new (ArrayBuffer as new (bytes: number, options: object) => ArrayBuffer)(8, {
      maxByteLength: 64,
    });
    const bytes = new Uint8Array(buffer);
    (buffer as unknown as { resize(bytes: number): void }).resize(2);
    return bytes;
  },
  "a proxy that throws": () => new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing }),
  "a proxy of an array": () => new Proxy([1], {}),
  "a proxy that is another thing each time": () => {
    let reads = 0;
    return new Proxy({}, { get: () => (++reads % 2 === 0 ? reads : "x") });
  },
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "a session": () => session,
  // What a trial puts into it must not reach the session itself.
  "a proxy of a session": () => new Proxy(other, { defineProperty: () => true }),
  "what inherits from a session": () => Object.create(other),
  "a copy of a session": () => ({ ...other }),
  "a rendezvous": () => rendezvous,
  "what inherits from a rendezvous": () => Object.create(rendezvous),
  "an addon": () => addon,
};

type Path = readonly (string | number)[];

/** The path of each argument of a call, and of each field in it. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  const own = path.length === 0 ? [] : [path];
  const isPlain =
    Array.isArray(value) || (value !== null && Object.getPrototypeOf(value) === Object.prototype);
  // A session and a rendezvous are plain objects of functions; what is in them is not read.
  if (!isPlain || value === session || value === other || value === rendezvous) return own;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value as object);
  return [...own, ...[...keys].flatMap((key) => pathsIn((value as never)[key], [...path, key]))];
}

function replace(args: unknown[], path: Path, value: unknown): void {
  Object.defineProperty(parentIn(args, path), path.at(-1)!, { value, enumerable: true });
}

/** Throws if there is no such place any more, or if it is in an object that later trials need unchanged. */
function parentIn(args: unknown[], path: Path): object {
  const parent = path.slice(0, -1).reduce<never>((place, key) => place[key], args as never) as object;
  if ([session, other, rendezvous, addon].includes(parent as never)) throw new TypeError("not in these");
  return parent;
}

/** Replaces a value by a getter. */
function replaceByGetter(args: unknown[], path: Path, get: () => unknown): void {
  Object.defineProperty(parentIn(args, path), path.at(-1)!, { get, enumerable: true });
}

interface Trial {
  call: Call;
  what: string;
  hurt: (args: unknown[]) => void;
}

function allTrials(): Trial[] {
  return calls.flatMap((call) =>
    pathsIn(call.args()).flatMap((path): Trial[] => [
      ...Object.entries(hostileValues).map(([name, make]) => ({
        call,
        what: `${call.name}, ${path.join(".")}: ${name}`,
        hurt: (args: unknown[]) => replace(args, path, make()),
      })),
      {
        call,
        what: `${call.name}, ${path.join(".")}: a getter that throws`,
        hurt: (args) => replaceByGetter(args, path, throwing),
      },
    ]),
  );
}

function shuffled<T>(items: readonly T[], uniform: () => number): T[] {
  const order = items.map((item) => ({ item, key: uniform() }));
  return order.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

/** Two things wrong at once. */
function pairsOf(singles: readonly Trial[], count: number, uniform: () => number): Trial[] {
  const byCall = new Map(calls.map((call) => [call, singles.filter((trial) => trial.call === call)]));
  return Array.from({ length: count }, () => {
    const call = calls[Math.floor(uniform() * calls.length)]!;
    const ofCall = byCall.get(call)!;
    const [first, second] = [0, 0].map(() => ofCall[Math.floor(uniform() * ofCall.length)]!);
    return {
      call,
      what: `${first!.what}; ${second!.what}`,
      hurt: (args: unknown[]) => {
        first!.hurt(args);
        try {
          second!.hurt(args);
        } catch {
          // The first one has left no such place.
        }
      },
    };
  });
}

/** The error of the call; null if it worked. */
async function outcomeOf({ call, hurt }: Trial): Promise<unknown> {
  const args = call.args();
  hurt(args);
  try {
    const made = await call.run(...(args as never[]));
    await call.undo?.(made as never);
    return null;
  } catch (error) {
    return error;
  }
}

function isTyped(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  const { code, message } = error as { code?: string; message: string };
  return message === "a getter's own error" || (code !== undefined && code !== "INTERNAL");
}

it("the native addon refuses a path with a NUL character, and does not cut it there", async () => {
  const { emulatedLibraryPath } = loadAddon();
  const paths = { driver: `${emulatedLibraryPath}\0.old`, nvml: null };
  expect(() => addon.openDriver(paths)).toThrow(/^driver must be without a NUL character$/);
});

describe("the native addon called with hostile values", () => {
  it("either succeeds, or throws an error with a type or a code", async () => {
    const counts = countTrials("hostile values given to the addon");
    const { uniform } = seeded(trialSeed);
    const singles = allTrials();
    const chosen = shuffled(singles, uniform).slice(0, trials(250, singles.length));
    for (const trial of [...chosen, ...pairsOf(singles, trials(50, 2500), uniform)]) {
      counts.tries();
      const error = await outcomeOf(trial);
      if (error !== null && !isTyped(error)) expect.fail(`${trial.what}: ${error}`);
      counts.survives();
    }
  });

  it("still measures correctly afterwards", async () => {
    await reserve(session);
    const { columns, verification } = await session.measure(request());
    expect(columns[0]!.durationNs).toHaveLength(3);
    expect(verification.mismatches).toEqual([]);
  });
});
