import { randomUUID } from "node:crypto";
import { PinbenchError } from "../errors.js";
import type { NativeError } from "../native/contract.js";
import { devicesOf } from "../plan/cells.js";
import type { ResultDocument } from "../results/schema.js";
import type { ErrorRecord } from "../results/schema-parts.js";
import { type CellProgress, toErrorRecord } from "./cell-progress.js";
import { DeviceRun } from "./device-run.js";
import { buildDocument, type RunIdentity } from "./document.js";
import type { RunEvent } from "./rounds.js";
import { type Stage, stagesOf } from "./stage.js";

/**
 * A plan being carried out, one stage after the other. What is known so far can be had as a document at any time;
 * reading the events is what drives it on.
 */
export class Run {
  readonly #identity: RunIdentity;
  readonly #stages: readonly Stage[];
  #status: ResultDocument["run"]["status"] = "running";
  #error: ErrorRecord | null = null;

  constructor(prepared: Omit<RunIdentity, "id">) {
    const { plan, backend } = prepared;
    const wanted = devicesOf(plan.cells);
    this.#identity = { id: randomUUID(), ...prepared };
    const devices = backend.facts.devices
      .filter(({ ordinal }) => wanted.includes(ordinal))
      .map((device) => new DeviceRun(device, plan));
    this.#stages = stagesOf(devices, plan, prepared.createRendezvous);
  }

  /** All cells so far: a search finds more. */
  get cells(): CellProgress[] {
    return this.#stages.flatMap(({ devices }) => devices.flatMap(({ cells }) => cells));
  }

  /**
   * Measures, until all cells are done or `signal` is aborted. The document's status is then "complete", "aborted", or
   * "failed" where a device could not be measured at all. What the user can put right (a NUMA node, too little free
   * device memory) rejects as a PinbenchError.
   */
  async *measure(signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    const { plan, backend, createRendezvous, sharing } = this.#identity;
    const startedMs = performance.now();
    for (const [i, stage] of this.#stages.entries()) {
      const leftNs = plan.stopping.budgetNs - (performance.now() - startedMs) * 1e6;
      // A stage that needed more than its share takes from those after it, which still get their least samples.
      const budgetNs = leftNs / (this.#stages.length - i);
      try {
        yield* stage.measure({ plan, backend, createRendezvous, sharing, budgetNs, signal });
      } catch (error) {
        if (error instanceof PinbenchError) throw error;
        // A device that fails leaves the others to be measured, unless the error is the process' own.
        this.#error ??= toErrorRecord(error as NativeError);
      }
      if (signal.aborted) return this.#end("aborted");
      const cells = stage.devices.flatMap((device) => device.cells);
      this.#error = cells.find(({ error }) => error?.sticky)?.error ?? this.#error;
      if (this.#error?.sticky) return this.#end("failed");
    }
    this.#end(this.#error === null ? "complete" : "failed");
  }

  /** Ends a run that no longer answers with what it has. */
  abandon(): void {
    if (this.#status === "running") this.#end("aborted");
  }

  /** The result as it stands. */
  document(): ResultDocument {
    return buildDocument(this.#identity, {
      status: this.#status,
      error: this.#error,
      stages: this.#stages,
    });
  }

  #end(status: ResultDocument["run"]["status"]): void {
    this.#status = status;
    // An interruption is no failure of the run, whatever else went wrong before it.
    if (status === "aborted") this.#error = null;
  }
}
