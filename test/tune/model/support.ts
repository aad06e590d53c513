import type {
  NativeDriver,
  NativeError,
  NativeSession,
  SessionOptions,
} from "../../../src/native/contract.js";
import type { DeviceFacts } from "../../../src/native/device-contract.js";
import type { LoaderArrivals, LoaderOptions, NativeLoader } from "../../../src/native/loader-contract.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import type { TrialControl } from "../../../src/tune/loader-probe.js";
import type { ModelProbeOptions } from "../../../src/tune/model/model-probe.js";

export const device: DeviceFacts = {
  ordinal: 0,
  name: "a device",
  uuid: null,
  pciBusId: "0000:06:00.0",
  totalMemoryBytes: 2 ** 30,
  computeCapability: "9.0",
  multiprocessors: 1,
  l2CacheBytes: 2 ** 20,
  copyEngines: 2,
  integrated: false,
  canMapHostMemory: true,
  canRegisterHostMemory: true,
  readsPageable: false,
  coherent: false,
  peers: [],
  link: null,
};

export function nativeError(code: string, details: Partial<NativeError> = {}): NativeError {
  const usual = { code, cudaResult: null, call: null, location: "a.cpp:1", sticky: false };
  return Object.assign(new Error(`it failed with ${code}`), usual, details);
}

export function setting(changes: Partial<LoaderSetting> = {}): LoaderSetting {
  return {
    numWorkers: 2,
    pinMemory: true,
    prefetchFactor: 2,
    persistentWorkers: true,
    nonBlocking: true,
    ...changes,
  };
}

export function control(batches: number, changes: Partial<TrialControl> = {}): TrialControl {
  return {
    enough: (arrivalsNs) => arrivalsNs.length >= batches,
    signal: new AbortController().signal,
    timeoutNs: 20e9,
    ...changes,
  };
}

/** The result of one call of arrivals(): a number of batches, or an error. */
export type News = number | NativeError;

/** A loader that gives one piece of news a call, and nothing more after the last; it makes two batches of 4 ahead. */
export class FakeLoader implements NativeLoader {
  stepNs: number | null = null;
  isClosed = false;
  closing: Promise<void> = Promise.resolve();
  #batches = 0;

  constructor(readonly news: News[]) {}

  async arrivals(waitNs: number): Promise<LoaderArrivals> {
    const next = this.news.shift();
    if (typeof next === "object") throw next;
    if (next === undefined) await new Promise((done) => setTimeout(done, waitNs / 1e6));
    const arrivalsNs = Float64Array.from({ length: next ?? 0 }, () => ++this.#batches * 1e6);
    return {
      arrivalsNs,
      waitNs: this.#batches * 100,
      copyNs: this.#batches * 10,
      sharedMemoryBytes: 4096,
      pinnedBytes: 8192,
      storageBytes: this.#batches * 50,
      batchesMade: this.#batches + 2,
      makeNs: (this.#batches + 2) * 1000,
    };
  }

  async close(): Promise<number> {
    this.isClosed = true;
    await this.closing;
    return 4 * (this.#batches + 2);
  }
}

/** A driver whose sessions open the loaders that a test gives; copies take 1 ms pinned and 4 ms pageable. */
export class FakeDriver {
  readonly opened: SessionOptions[] = [];
  readonly requested: LoaderOptions[] = [];
  kernelsOff: string | null = null;
  openSessions = 0;
  failReserving: NativeError | null = null;
  refuseNode = false;
  open: (options: LoaderOptions) => NativeLoader = () => new FakeLoader([1]);

  get driver(): NativeDriver {
    return {
      initialize: () => Promise.reject(new Error("not needed")),
      readProcesses: async () => null,
      readActivity: async () => null,
      readHealth: async () => null,
      openSession: async (options) => {
        this.opened.push(options);
        if (this.refuseNode && options.numaNode !== null) throw nativeError("PLACEMENT_REFUSED");
        ++this.openSessions;
        return this.#session();
      },
    };
  }

  #session(): NativeSession {
    const part: Partial<NativeSession> = {
      opening: {
        contextNs: 0,
        kernelsOff: this.kernelsOff,
        openedAtNs: 0,
      },
      reserveDevice: async () => undefined,
      reserveHost: async () => {
        if (this.failReserving) throw this.failReserving;
        return { bytes: 0, hugePageBytes: null, pagesOfNode: [] };
      },
      measure: async ({ memory, samples }) => ({
        columns: [
          {
            direction: "h2d",
            startNs: new Float64Array(samples),
            durationNs: new Float64Array(samples).fill(memory === "pinned" ? 1e6 : 4e6),
          },
        ],
        verification: { checkedBytes: 0, mismatches: [], copies: 0, provenCopies: 0 },
        link: null,
        aborted: false,
      }),
      openLoader: async (options) => {
        this.requested.push(options);
        return this.open(options);
      },
      abort: () => undefined,
      close: async () => {
        --this.openSessions;
      },
    };
    return part as NativeSession;
  }
}

export function probeOptions(
  driver: NativeDriver,
  changes: Partial<ModelProbeOptions> = {},
): ModelProbeOptions {
  return {
    driver,
    device,
    placement: { cpus: [], threads: 2, numaNode: null },
    batchSize: 4,
    sampleBytes: 1000,
    sampleCostNs: 0,
    data: null,
    dropFiles: null,
    rank: { index: 0, count: 1 },
    stepTimeNs: null,
    signal: new AbortController().signal,
    ...changes,
  };
}
