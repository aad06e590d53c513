import type { SessionOptions } from "../native/contract.js";
import { programPath } from "../package-facts.js";
import type { BackendName } from "../settings/choices.js";
import type { WorkerCalls } from "./worker-messages.js";
import { WorkerProcess } from "./worker-process.js";

/** Another process with a context on the device, which makes calls while it is watched. */
export class NeighbourProcess {
  readonly #process = new WorkerProcess(programPath, { index: 0, count: 1 });
  readonly #signal: AbortSignal;

  private constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** What opens one for sessions that are known later; it rejects with the process' NativeError. */
  static opener(
    backend: BackendName,
    signal: AbortSignal,
  ): (session: SessionOptions) => Promise<NeighbourProcess> {
    return async (session) => {
      const neighbour = new NeighbourProcess(signal);
      try {
        await neighbour.#process.call("open", { backend, session });
        return neighbour;
      } catch (error) {
        await neighbour.close();
        throw error;
      }
    };
  }

  watch(): Promise<WorkerCalls["watch"]["result"]> {
    return this.#process.call("watch");
  }

  endWatch(): Promise<WorkerCalls["endWatch"]["result"]> {
    return this.#process.call("endWatch");
  }

  /** Resolves when it is gone. */
  close(): Promise<void> {
    return this.#process.close(!this.#signal.aborted);
  }
}
