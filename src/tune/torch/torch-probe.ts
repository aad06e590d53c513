import { PinbenchError } from "../../errors.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../probe.js";
import type { LoaderSetting } from "../setting.js";
import { type Opened, open } from "./open.js";
import type { TorchProbeOptions } from "./options.js";
import type { ProbeProcess } from "./process.js";
import { runTrial } from "./trial.js";

export type { TorchProbeOptions } from "./options.js";

/**
 * The user's own Dataset in their own Python. Rejects with a PinbenchError where it cannot make a single batch: that,
 * no setting can mend.
 */
export async function openTorchProbe(options: TorchProbeOptions): Promise<Probe> {
  return new TorchProbe(options, await open(options, { link: true }));
}

/** One process for all trials, as starting Python and torch takes seconds; another one where a trial has ended it. */
class TorchProbe implements Probe {
  readonly facts: ProbeFacts;
  readonly #options: TorchProbeOptions;
  readonly #closing = new AbortController();
  #process: ProbeProcess | null;
  #trials = 0;
  #running: Promise<unknown> | null = null;
  #closed: Promise<void> | null = null;

  constructor(options: TorchProbeOptions, opened: Opened) {
    this.facts = opened.facts;
    this.#process = opened.process;
    this.#options = options;
    options.signal.addEventListener("abort", this.#abort, { once: true });
    if (options.signal.aborted) this.#abort();
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    if (this.#running !== null) throw new Error("A probe runs one trial at a time.");
    const running = this.#measure(setting, control);
    this.#running = running;
    try {
      return await running;
    } finally {
      this.#running = null;
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  readonly #abort = (): void => {
    void this.close();
  };

  async #measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    const signal = AbortSignal.any([control.signal, this.#closing.signal]);
    if (signal.aborted) return notStarted(setting);
    const probe = await this.#readyProcess(signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (probe === null) return notStarted(setting);
    this.#trials++;
    const { enough } = control;
    // A step may take longer than a batch ever should; the next batch comes after it.
    const timeoutNs = control.timeoutNs + (this.facts.stepNs ?? 0);
    const run = runTrial(probe, this.#trials, setting, {
      enough: (arrivalsNs) => enough.call(control, arrivalsNs),
      timeoutNs,
      signal,
    });
    const { trial, isUsable } = await run.catch(async (error) => {
      await this.#drop();
      throw error;
    });
    if (!isUsable) await this.#drop();
    return trial;
  }

  async #readyProcess(signal: AbortSignal): Promise<ProbeProcess> {
    if (this.#process !== null && this.#process.ended === null) return this.#process;
    await this.#drop();
    const opened = await open({ ...this.#options, signal }, { link: false }).catch((error: unknown) => {
      if (signal.aborted || !(error instanceof PinbenchError)) throw error;
      throw new PinbenchError(error.kind, `The data set could not be opened again: ${error.message}`, {
        ...(error.hint === null ? {} : { hint: error.hint }),
        cause: error.cause,
      });
    });
    this.#process = opened.process;
    return opened.process;
  }

  async #drop(): Promise<void> {
    const dropped = this.#process;
    this.#process = null;
    await dropped?.kill();
  }

  async #close(): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#abort);
    this.#closing.abort();
    await this.#running?.catch(() => undefined);
    const last = this.#process;
    this.#process = null;
    await last?.close();
  }
}

function notStarted(setting: LoaderSetting): Trial {
  return {
    setting,
    arrivalsNs: [],
    aborted: true,
    failure: null,
    waitNsPerBatch: null,
    copyNsPerBatch: null,
    sharedMemoryBytes: null,
    pinnedBytes: null,
    workerPrivateBytes: null,
    storageReadBytes: null,
  };
}
