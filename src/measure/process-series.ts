import { PinbenchError } from "../errors.js";
import type { ResultDocument } from "../results/schema.js";
import type { ErrorRecord } from "../settings/schema-parts.js";
import { measureInFreshProcesses } from "./fresh-process.js";
import { mergeProcesses } from "./merge-processes.js";
import { Run, type RunIdentity } from "./run.js";

/** Measures a whole plan in several fresh processes, one after the other. */
export class ProcessSeries {
  readonly #prepared: Omit<RunIdentity, "id">;
  readonly #runs: number;
  /** The whole run's document before any measurement. */
  readonly #planned: ResultDocument;
  readonly #documents: ResultDocument[] = [];
  #status: ResultDocument["run"]["status"] = "running";
  #error: ErrorRecord | null = null;

  constructor(prepared: Omit<RunIdentity, "id">, runs: number) {
    this.#prepared = prepared;
    this.#runs = runs;
    this.#planned = new Run(prepared).document();
  }

  /** Number of results so far, one per process. */
  get done(): number {
    return this.#documents.length;
  }

  /**
   * Measures; yields before each process and at the end. Finished processes always count. After an abort the status is
   * "aborted", after a failed process "failed", and no further process starts. Rejects with the first process'
   * PinbenchError if there is no result. `entry` is the program to run, bin/pinbench.js.
   */
  async *measure(entry: string, signal: AbortSignal): AsyncGenerator<void, void> {
    try {
      for await (const event of measureInFreshProcesses(this.#settings(), this.#runs, {
        entry,
        signal,
      })) {
        if (event.kind === "start") yield;
        else if (!this.#keep(event.document)) break;
      }
    } catch (error) {
      if (!(error instanceof PinbenchError) || this.#documents.length === 0) throw error;
      this.#fail(endedProcess(error.message));
    }
    if (signal.aborted) this.#status = "aborted";
    else if (this.#status === "running") this.#status = "complete";
    yield;
  }

  /** The joined result of the processes so far. */
  document(): ResultDocument {
    const { run, ...merged } = mergeProcesses(this.#planned, this.#documents);
    const isOver = this.#status !== "running";
    return {
      ...merged,
      run: {
        ...run,
        finishedAt: isOver ? new Date().toISOString() : null,
        wallNs: (performance.now() - this.#prepared.startedMs) * 1e6,
        status: this.#status,
        error: this.#error,
      },
    };
  }

  /** Lists the cells, so that all processes measure the same ones even if facts such as free memory change. */
  #settings() {
    const { plan, backend } = this.#prepared;
    const cells = plan.cells.filter(({ skipReason }) => skipReason === null).map(({ id }) => id);
    return { ...plan.settings, backend: backend.name, cells, budgetNs: plan.stopping.budgetNs };
  }

  /** Returns false for an unfinished process, whose document is kept only if there is no other. */
  #keep(document: ResultDocument): boolean {
    const { status, error } = document.run;
    if (status === "complete") {
      this.#documents.push(document);
      return true;
    }
    const ended = "it was interrupted by a signal that did not reach this process";
    this.#fail(error ?? endedProcess(ended));
    if (this.#documents.length === 0) this.#documents.push(document);
    return false;
  }

  #fail(error: ErrorRecord): void {
    this.#status = "failed";
    const which = `run ${this.#documents.length + 1} of ${this.#runs}`;
    this.#error = { ...error, message: `${which}: ${error.message}` };
  }
}

function endedProcess(message: string): ErrorRecord {
  return { code: "PROCESS_ENDED", message, call: null, location: null, sticky: false };
}
