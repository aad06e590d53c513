import type { Placement } from "../host/topology.js";
import type {
  ArenaKind,
  ArenaReport,
  MeasureRequest,
  MeasureResult,
  NativeDriver,
  NativeError,
  NativeRendezvous,
  NativeSession,
} from "../native/contract.js";
import type { PlannedArenas } from "../plan/geometry.js";

/** Seed of the test pattern, the same in all measurements so that their data is equal. */
const patternSeed = 1;

/** Which device to open, and where its threads and host memory are. */
export interface BenchOptions {
  driver: Pick<NativeDriver, "openSession">;
  device: number;
  /** With a null node the system places memory. */
  placement: Pick<Placement, "cpus" | "threads" | "numaNode">;
  /** Ends the current and every later measurement when the current driver call returns. */
  signal?: AbortSignal;
  /** Whether to query the NUMA nodes of pages (no). */
  reportsNodes?: boolean;
  /** Folder for the files whose mappings are copied. */
  fileFolder?: string;
  /** Called if the system refuses the node; first touch then decides where memory is. May throw. */
  onRefused?: (refusal: NativeError) => void;
}

/** An open device. All measuring code opens devices here; plans differ, benches do not. */
export class Bench {
  readonly session: NativeSession;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.session.abort();
  #hasDeviceMemory = false;

  private constructor(session: NativeSession, signal: AbortSignal | undefined) {
    this.session = session;
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort, { once: true });
    if (signal?.aborted) session.abort();
  }

  /**
   * Opens a device. If a container forbids choosing a node, first touch by that node's CPUs works almost as well.
   * Rejects with the driver's error.
   */
  static async open(options: BenchOptions): Promise<Bench> {
    const { driver, device, placement, signal, reportsNodes = false, fileFolder, onRefused } = options;
    const { cpus, threads, numaNode } = placement;
    const common = { device, cpus, threads, ...(fileFolder !== undefined && { fileFolder }) };
    const open = (node: number | null) =>
      driver.openSession({ ...common, numaNode: node, seed: patternSeed, reportsNodes });
    const session = await open(numaNode).catch((error: NativeError) => {
      if (error.code !== "PLACEMENT_REFUSED" || numaNode === null) throw error;
      onRefused?.(error);
      return open(null);
    });
    return new Bench(session, signal);
  }

  /** Reserves host memory of a planned kind and, on the first call, device memory. Rejects with the driver's error. */
  async reserve(
    { device, deviceCopies, host, staging }: PlannedArenas,
    kind: ArenaKind,
  ): Promise<ArenaReport> {
    if (!this.#hasDeviceMemory) {
      await this.session.reserveDevice(device, deviceCopies);
      if (staging !== null) await this.session.reserveStaging(staging);
      this.#hasDeviceMemory = true;
    }
    return this.session.reserveHost(kind, host[kind]!);
  }

  /** Measures copies. Rejects with the driver's error, or with the code ABORTED if aborted. */
  async copy(request: MeasureRequest): Promise<MeasureResult> {
    const result = await this.session.measure(request);
    if (result.aborted) throw Object.assign(new Error("aborted"), { code: "ABORTED" });
    return result;
  }

  /** Frees all of its memory. */
  async close(): Promise<void> {
    this.#signal?.removeEventListener("abort", this.#abort);
    await this.session.close();
  }
}

/** The outcomes of calls that wait for each other. If one fails, it cancels the rendezvous to release the others. */
export function settledTogether<Result>(
  rendezvous: Pick<NativeRendezvous, "cancel">,
  calls: readonly Promise<Result>[],
): Promise<PromiseSettledResult<Result>[]> {
  return Promise.allSettled(
    calls.map((call) =>
      call.catch((error) => {
        rendezvous.cancel();
        throw error;
      }),
    ),
  );
}
