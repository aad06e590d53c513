import { afterEach, beforeEach, vi } from "vitest";
import { CellProgress } from "../../src/measure/cell-progress.js";
import type { Measure } from "../../src/measure/rounds.js";
import type {
  ArenaReport,
  MeasureRequest,
  MeasureResult,
  NativeError,
  NativeSession,
  PinningKind,
  SampleColumns,
  SessionOpening,
} from "../../src/native/contract.js";
import type { DeviceFacts } from "../../src/native/device-contract.js";
import type { PlannedCell } from "../../src/plan/geometry.js";
import { cellId } from "../../src/results/cell-id.js";
import type { Cell } from "../../src/results/cell-schema.js";
import type { PinningCost } from "../../src/settings/schema-parts.js";

export const KiB = 1024;
export const MiB = 1024 * KiB;

export const deviceFacts: DeviceFacts = {
  ordinal: 0,
  name: "a device",
  uuid: null,
  pciBusId: "0000:06:00.0",
  totalMemoryBytes: 1024 * MiB,
  computeCapability: "9.0",
  multiprocessors: 1,
  l2CacheBytes: MiB,
  copyEngines: 2,
  integrated: false,
  canMapHostMemory: true,
  canRegisterHostMemory: true,
  readsPageable: false,
  coherent: false,
  peers: [],
  link: null,
};

export function plannedCell(part: Partial<PlannedCell> = {}): PlannedCell {
  const cell: Cell = {
    device: 0,
    direction: "h2d",
    memory: "pinned",
    sizeBytes: MiB,
    workers: 1,
    mode: "throughput",
    cache: "cold",
    ...part,
  };
  return { buffersPerWorker: 8, skipReason: null, ...cell, id: cellId(cell), ...part };
}

export function progressOf(part: Partial<PlannedCell> = {}): CellProgress {
  return new CellProgress(plannedCell(part), deviceFacts);
}

export function nativeError(code: string, sticky = false): NativeError {
  const details = { code, cudaResult: null, call: null, location: "a.cpp:1", sticky };
  return Object.assign(new Error(`it failed with ${code}`), details);
}

/** A result without a sample. */
export const emptyResult: MeasureResult = {
  columns: [],
  verification: { checkedBytes: 0, mismatches: [], copies: 0, provenCopies: 0 },
  link: null,
  aborted: false,
};

/** The result of a visit after which a buffer differs. */
export const withWrongData = (copies = 1, provenCopies = 1): Pick<MeasureResult, "verification"> => ({
  verification: { checkedBytes: 1, mismatches: [{ worker: 0, buffer: 0 } as never], copies, provenCopies },
});

/** Visits carried out by a session, as a run's rounds want them. */
export function measureWith(session: Pick<NativeSession, "measure">): Measure {
  return (visits) => Promise.allSettled(visits.map(({ request }) => session.measure(request)));
}

/** Time stands still but for what a FakeSession's copies take. */
export function stopTheClock(): void {
  vi.useFakeTimers({ toFake: ["performance"] });
}

/** Stops it for each test of a file. */
export function withStoppedClock(): void {
  beforeEach(stopTheClock);
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** What a copy takes in ns, by the request, how many samples its memory had before, and the direction that is timed. */
type Copies = (request: MeasureRequest, sample: number, direction: SampleColumns["direction"]) => number;

/** A session whose copies take what a test says, by a clock that stopTheClock() has stopped. */
export class FakeSession implements NativeSession {
  readonly opening: SessionOpening = {
    contextNs: 1e6,
    kernelsOff: null,
    openedAtNs: 0,
  };
  readonly requests: MeasureRequest[] = [];
  /** Called before each measurement; may throw, or change its result. */
  beforeMeasure: (request: MeasureRequest) => Partial<MeasureResult> = () => ({});
  pinningCost: (kind: PinningKind, sizeBytes: number) => PinningCost = () => {
    throw nativeError("CUDA_ERROR_OUT_OF_MEMORY");
  };
  freeBytes = 512 * MiB;
  isAborted = false;
  isClosed = false;
  readonly #copies: Copies;
  /** Samples of a memory's visits so far. */
  readonly #taken = new Map<MeasureRequest["memory"], number>();

  constructor(copies: Copies = () => 100_000) {
    this.#copies = copies;
  }

  /** The visits alone: what was measured to be counted. */
  get visits(): MeasureRequest[] {
    return this.requests.filter(({ verify }) => verify !== "none");
  }

  async measure(request: MeasureRequest): Promise<MeasureResult> {
    this.requests.push(request);
    const changes = this.beforeMeasure(request);
    const directions =
      request.direction === "bidir" ? (["h2d", "d2h"] as const) : ([request.direction] as const);
    const columns = directions.map((direction) => this.#column(request, direction));
    const isCounted = request.verify !== "none";
    if (isCounted) this.#taken.set(request.memory, this.#takenOf(request) + request.samples);
    const copies = isCounted ? request.samples * request.copiesPerSample * request.workers : 0;
    const totalNs = columns[0]!.durationNs.reduce((sum, ns) => sum + ns, 0);
    vi.advanceTimersByTime(totalNs / 1e6);
    return {
      ...{ ...emptyResult, columns, aborted: this.isAborted },
      verification: {
        checkedBytes: isCounted ? request.sizeBytes : 0,
        mismatches: [],
        copies,
        provenCopies: request.verify === "every" ? copies : Math.min(copies, request.buffers),
      },
      ...changes,
    };
  }

  #takenOf({ memory }: MeasureRequest): number {
    return this.#taken.get(memory) ?? 0;
  }

  #column(request: MeasureRequest, direction: SampleColumns["direction"]): SampleColumns {
    const before = this.#takenOf(request);
    const entries = request.samples * (request.mode === "latency" ? request.workers : 1);
    const durationNs = Float64Array.from(
      { length: entries },
      (_, i) => request.copiesPerSample * this.#copies(request, before + i, direction),
    );
    const column = { direction, startNs: new Float64Array(entries), durationNs };
    // Half of the time is the host's, before it waits.
    return request.blocks === undefined ? column : { ...column, hostNs: durationNs.map((ns) => ns / 2) };
  }

  async reserveHost(): Promise<ArenaReport> {
    return { bytes: MiB, hugePageBytes: null, pagesOfNode: [] };
  }
  async reserveDevice(): Promise<undefined> {
    return undefined;
  }
  async reserveStaging(): Promise<undefined> {
    return undefined;
  }
  async measurePinning(kind: PinningKind, sizeBytes: number): Promise<PinningCost> {
    return this.pinningCost(kind, sizeBytes);
  }
  async measureFirstCopy(): Promise<number> {
    return 1000;
  }
  openLoader(): Promise<never> {
    return Promise.reject(new Error("a run opens no loader"));
  }
  obtainPool(): Promise<never> {
    return Promise.reject(new Error("a run obtains no pool"));
  }
  loadWeights(): Promise<never> {
    return Promise.reject(new Error("a run loads no weights"));
  }
  startLoad(): Promise<never> {
    return Promise.reject(new Error("nothing was to run beside the copies"));
  }

  memoryInfo() {
    return { freeBytes: this.freeBytes, totalBytes: 1024 * MiB };
  }
  abort(): void {
    this.isAborted = true;
  }
  async close(): Promise<void> {
    this.isClosed = true;
  }
}
