import type { LoaderSetting, TrialFailure } from "../../results/tuning.js";
import type { TrialControl, TrialRun } from "../loader-probe.js";
import type { ProbeProcess } from "./probe-process.js";
import { completeFailure, deathFailure, hangFailure } from "./torch-failures.js";
import type { Ending, Message, Sums } from "./torch-messages.js";

/** How long a trial may take to end when it is asked to, its workers included, before its process is killed. */
const endMs = 5000;

/**
 * Runs one trial in a process that is ready; `number` tells its messages from those of other trials. Rejects only
 * with what `control.enough` throws.
 */
export function runTorchTrial(
  probe: ProbeProcess,
  number: number,
  setting: LoaderSetting,
  control: TrialControl,
): Promise<TrialRun> {
  return new RunningTrial(probe, number, setting, control).result;
}

class RunningTrial {
  readonly result: Promise<TrialRun>;
  readonly #probe: ProbeProcess;
  readonly #number: number;
  readonly #setting: LoaderSetting;
  readonly #control: TrialControl;
  readonly #arrivalsNs: number[] = [];
  #ending: Ending | null = null;
  #sums: Sums | null = null;
  /** It was asked to end: by `enough`, or by an abort. */
  #isStopping = false;
  #isAborted = false;
  #timer: NodeJS.Timeout | undefined;
  #isSettled = false;
  #resolve!: (run: TrialRun) => void;
  #reject!: (error: unknown) => void;

  constructor(probe: ProbeProcess, number: number, setting: LoaderSetting, control: TrialControl) {
    this.#probe = probe;
    this.#number = number;
    this.#setting = setting;
    this.#control = control;
    this.result = new Promise<TrialRun>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    }).finally(() => {
      this.#isSettled = true;
      clearTimeout(this.#timer);
      control.signal.removeEventListener("abort", this.#abort);
    });
    probe.forgetStderr();
    probe.onMessage = (message) => this.#receive(message);
    probe.exit.then((exit) => {
      if (this.#isStopping || this.#ending !== null) this.#settle(null, false);
      else this.#settle(deathFailure(probe, exit, setting), false);
    });
    probe.send({ type: "measure", trial: number, setting });
    this.#awaitBatch();
    control.signal.addEventListener("abort", this.#abort, { once: true });
    if (control.signal.aborted) this.#abort();
  }

  readonly #abort = (): void => {
    if (this.#isStopping) return;
    this.#isAborted = true;
    this.#stop();
  };

  #receive(message: Message): void {
    if (this.#isSettled) return;
    if (message.type === "arrivals") this.#arrive(message.ns);
    else if (message.type === "sums" && message.trial === this.#number) this.#sums = message;
    else if (message.type === "ending" && message.trial === this.#number) {
      this.#ending = message;
      this.#limitEnding();
    } else if (message.type === "ended" && message.trial === this.#number) {
      this.#settle(null, this.#ending?.failure?.broken !== true);
    }
  }

  #arrive(ns: number[]): void {
    // Those that were on their way when it was enough would change what it was enough for.
    if (this.#isStopping) return;
    this.#arrivalsNs.push(...ns);
    this.#awaitBatch();
    try {
      if (this.#control.enough(this.#arrivalsNs)) this.#stop();
    } catch (error) {
      this.#stop();
      this.#reject(error);
    }
  }

  #stop(): void {
    this.#isStopping = true;
    this.#probe.send({ type: "stop", trial: this.#number });
    if (this.#ending === null) this.#limitEnding();
  }

  /** Killing ends a trial as well: what it has said until then counts. */
  #limitEnding(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle(null, false), endMs);
  }

  #awaitBatch(): void {
    clearTimeout(this.#timer);
    const { timeoutNs } = this.#control;
    const told = { batches: this.#arrivalsNs.length, timeoutNs };
    this.#timer = setTimeout(() => {
      hangFailure(this.#probe, this.#setting, told).then(
        // An abort, or a batch just too late, may have come meanwhile; the processes are past use all the same.
        (failure) => this.#settle(this.#isAborted ? null : failure, false),
        this.#reject,
      );
    }, timeoutNs / 1e6);
  }

  #settle(failure: TrialFailure | null, isUsable: boolean): void {
    if (this.#isSettled) return;
    const ending = this.#ending;
    // What fails while it is being stopped is no fault of the setting.
    const said = this.#isStopping ? null : (ending?.failure ?? null);
    this.#resolve({
      isUsable,
      trial: {
        setting: this.#setting,
        arrivalsNs: this.#arrivalsNs,
        aborted: this.#isAborted,
        failure: failure ?? (said === null ? null : completeFailure(said, this.#probe.stderrTail)),
        waitNsPerBatch: (ending ?? this.#sums)?.waitNs ?? null,
        copyNsPerBatch: (ending ?? this.#sums)?.copyNs ?? null,
        sharedMemoryBytes: ending?.sharedMemoryBytes ?? null,
        pinnedBytes: ending?.pinnedBytes ?? null,
        workerPrivateBytes: ending?.workerPrivateBytes ?? null,
        storageReadBytes: ending?.storageReadBytes ?? null,
      },
    });
  }
}
