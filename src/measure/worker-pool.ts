import type {
  ArenaKind,
  ArenaReport,
  Company,
  MeasureRequest,
  MeasureResult,
  NativeError,
  NativeRendezvous,
  SampleColumns,
  SessionOpening,
} from "../native/contract.js";
import { arenaKind, flowThreads, type PlannedArenas, usesStagingRing } from "../plan/geometry.js";
import type { WorkerProcessCosts } from "../results/schema.js";
import type { BackendName } from "../settings/choices.js";
import { median } from "../stats/order-statistics.js";
import { sumOf } from "../stats/variance.js";
import { settledTogether } from "./bench.js";
import type { WorkerOptions } from "./worker-messages.js";
import { WorkerProcess } from "./worker-process.js";

/** How to start the worker processes of a device. */
interface WorkerPoolOptions {
  /** The program to run, bin/pinbench.js. */
  entry: string;
  backend: BackendName;
  session: WorkerOptions["session"];
  /**
   * The memory that each process reserves: the first takes part in all cells, the last only in those with the most
   * workers.
   */
  arenas: readonly PlannedArenas[];
  rendezvous: NativeRendezvous;
  /** Time at which this process opened its session; sample starts are relative to it. */
  openedAtNs: number;
  freeBytes: () => number;
}

/** How long an aborted process may wait for the current driver call before its channel is closed. */
const patienceMs = 1000;

/** What memory in a worker process is reserved for. */
type Reservation = ArenaKind | "device" | "staging";

interface Worker {
  process: WorkerProcess;
  opening: SessionOpening | null;
  reports: Map<Reservation, ArenaReport | undefined>;
  /** Errors for memory that it could not reserve. */
  refusals: Map<Reservation, NativeError>;
}

/**
 * The worker processes of a device. They copy like the threads of its session: each replaces one thread per direction,
 * with its own context. They serve all cells. If one fails, only the cells that need it fail.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #workers: readonly Worker[];
  /** Processes with a context, in the order in which cells take them. */
  #members: readonly Worker[] = [];
  readonly #startedMs: number;
  /** Free device memory before the processes had contexts. */
  readonly #freeBytes: number;
  /** Cost of starting them; null before all have started, or without any. */
  costs: WorkerProcessCosts | null = null;
  #isAborted = false;

  /** Starts the processes. */
  constructor(options: WorkerPoolOptions) {
    const { entry, arenas } = options;
    this.#options = options;
    this.#startedMs = performance.now();
    this.#freeBytes = options.freeBytes();
    this.#workers = arenas.map((_, index) => ({
      process: new WorkerProcess(entry, { index, count: arenas.length }),
      opening: null,
      reports: new Map(),
      refusals: new Map(),
    }));
  }

  /** Opens contexts and reserves memory. Never rejects: cells that need what failed will fail. */
  async open(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => this.#open(worker)));
    this.#members = this.#workers.filter(({ process }) => process.failure === null);
    const openings = this.#members.flatMap(({ opening }) => opening ?? []);
    if (this.#isAborted || openings.length === 0) return;
    const { freeBytes, session } = this.#options;
    this.costs = {
      device: session.device,
      processes: openings.length,
      startNs: (performance.now() - this.#startedMs) * 1e6,
      contextNs: median(openings.map(({ contextNs }) => contextNs)),
      contextDeviceBytes: Math.max(0, Math.round((this.#freeBytes - freeBytes()) / openings.length)),
    };
    await Promise.all(this.#members.map((worker, index) => this.#reserve(worker, index)));
  }

  /** The running processes. */
  get pids(): number[] {
    return this.#workers.flatMap(({ process }) => (process.failure === null ? (process.pid ?? []) : []));
  }

  /** All processes' memory of a kind; null if there is none. */
  arena(kind: ArenaKind): Pick<ArenaReport, "bytes" | "hugePageBytes"> | null {
    const reports = this.#workers.flatMap(({ reports }) => reports.get(kind) ?? []);
    if (reports.length === 0) return null;
    const hugePageBytes = reports.flatMap((report) => report.hugePageBytes ?? []);
    return {
      bytes: sumOf(reports.map(({ bytes }) => bytes)),
      hugePageBytes: hugePageBytes.length < reports.length ? null : sumOf(hugePageBytes),
    };
  }

  /**
   * Measures like a session with threads. `request.workers` processes take the samples, with a thread per direction
   * each. `request.company` is shared with other devices measured at the same time.
   */
  async measure(request: MeasureRequest): Promise<MeasureResult> {
    // The processes may have ended and would not answer.
    if (this.#isAborted) return nothing;
    const { company: _, ...own } = request;
    const workers = this.#partIn(request);
    const company = request.company ?? this.#ownCompany(request);
    const { path } = company.rendezvous;
    const settled = await settledTogether(
      company.rendezvous,
      workers.map(({ process }, index) => {
        const request = { ...own, workers: 1, readLink: own.readLink && index === 0 };
        return process.call("measure", request, { path, flow: company.flow });
      }),
    );
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed !== undefined && !this.#isAborted) throw (failed as PromiseRejectedResult).reason;
    if (failed !== undefined) return nothing;
    const results = settled.map((one, index) => ({
      result: (one as PromiseFulfilledResult<MeasureResult>).value,
      openedAtNs: workers[index]!.opening!.openedAtNs,
    }));
    return joinResults(request, results, this.#options.openedAtNs);
  }

  /** Ends the current and every later call soon; hanging processes are killed. */
  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    for (const { process } of this.#workers) process.abort();
    this.#options.rendezvous.cancel();
    setTimeout(() => this.close(), patienceMs).unref();
  }

  /** Resolves when all of them are gone, or after 10 s. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map(({ process }) => process.close(!this.#isAborted)));
  }

  async #open(worker: Worker): Promise<void> {
    const { backend, session } = this.#options;
    try {
      worker.opening = await worker.process.call("open", { backend, session });
    } catch (error) {
      // Its error already names it. A process without a context is useless.
      worker.process.fail(error as NativeError);
    }
  }

  /** The workers of a cell. Throws if one has failed, or lacks memory. */
  #partIn({ memory, workers: count }: MeasureRequest): readonly Worker[] {
    const workers = this.#members.slice(0, count);
    if (workers.length < count) throw this.#workers.find(({ process }) => process.failure)!.process.failure;
    const needed: Reservation[] = ["device", ...(memory === "device" ? [] : [arenaKind(memory)])];
    if (usesStagingRing({ memory })) needed.push("staging");
    for (const { process, refusals } of workers) {
      const lack = process.failure ?? needed.map((what) => refusals.get(what)).find(Boolean);
      if (lack) throw lack;
    }
    return workers;
  }

  async #reserve({ process, reports, refusals }: Worker, index: number): Promise<void> {
    const { device, host, staging } = this.#options.arenas[index]!;
    const note = (what: Reservation, reserved: Promise<ArenaReport | undefined>) =>
      reserved.then(
        (report) => reports.set(what, report),
        (error) => refusals.set(what, error),
      );
    await Promise.all([
      note("device", process.call("reserveDevice", device)),
      ...Object.entries(host).map(([kind, geometry]) =>
        note(kind as ArenaKind, process.call("reserveHost", kind as ArenaKind, geometry)),
      ),
      ...(staging === null ? [] : [note("staging", process.call("reserveStaging", staging))]),
    ]);
  }

  /** Joins the processes in a rendezvous: a flow for each direction, with a thread of each process. */
  #ownCompany(request: MeasureRequest): Company {
    const { rendezvous } = this.#options;
    rendezvous.reset(flowThreads(request));
    // An earlier abort must also cancel this use.
    if (this.#isAborted) rendezvous.cancel();
    return { rendezvous, flow: 0 };
  }
}

/** The result after an abort. */
const nothing: MeasureResult = {
  columns: [],
  verification: { checkedBytes: 0, mismatches: [], copies: 0, provenCopies: 0 },
  link: null,
  aborted: true,
};

/** One worker process' measurements, and its session's zero on the clock that all processes share. */
export interface WorkerResult {
  result: MeasureResult;
  openedAtNs: number;
}

/** The addon describes at most this many wrong buffers per call. */
const mostMismatches = 8;

/**
 * Joins the results of processes that took the same samples, in the order of workers, as if they were threads of a
 * session opened at `openedAtNs`. Each process measured with one worker.
 */
export function joinResults(
  request: Pick<MeasureRequest, "mode">,
  workers: readonly WorkerResult[],
  openedAtNs: number,
): MeasureResult {
  const results = workers.map(({ result }) => result);
  const aborted = results.some((result) => result.aborted);
  const sum = (key: "checkedBytes" | "copies" | "provenCopies") =>
    results.reduce((total, { verification }) => total + verification[key], 0);
  const mismatches = results.flatMap(({ verification }, worker) =>
    // In bidir, the second direction belongs to the process' second thread.
    verification.mismatches.map((one) => ({ ...one, worker: worker + one.worker * workers.length })),
  );
  return {
    columns: aborted
      ? []
      : results[0]!.columns.map((_, i) => joinColumns(request.mode === "latency", workers, i, openedAtNs)),
    verification: {
      checkedBytes: sum("checkedBytes"),
      mismatches: mismatches.slice(0, mostMismatches),
      copies: sum("copies"),
      provenCopies: sum("provenCopies"),
    },
    link: results.find(({ link }) => link !== null)?.link ?? null,
    aborted,
  };
}

/** Latency samples keep the entries of all processes; throughput samples last from the first start to the last end. */
function joinColumns(
  isLatency: boolean,
  workers: readonly WorkerResult[],
  column: number,
  openedAtNs: number,
): SampleColumns {
  const columns = workers.map(({ result, openedAtNs: zeroNs }) => {
    const { startNs, durationNs } = result.columns[column]!;
    return { startNs: startNs.map((ns) => ns + zeroNs - openedAtNs), durationNs };
  });
  const { direction } = workers[0]!.result.columns[column]!;
  const samples = columns[0]!.startNs.length;
  if (isLatency) {
    const interleave = (pick: (column: (typeof columns)[number]) => Float64Array) =>
      Float64Array.from({ length: samples * columns.length }, (_, i) => {
        const values = pick(columns[i % columns.length]!);
        return values[Math.floor(i / columns.length)]!;
      });
    return {
      direction,
      startNs: interleave(({ startNs }) => startNs),
      durationNs: interleave(({ durationNs }) => durationNs),
    };
  }
  const startNs = Float64Array.from({ length: samples }, (_, sample) =>
    Math.min(...columns.map((one) => one.startNs[sample]!)),
  );
  const durationNs = startNs.map(
    (start, sample) =>
      Math.max(...columns.map((one) => one.startNs[sample]! + one.durationNs[sample]!)) - start,
  );
  return { direction, startNs, durationNs };
}
