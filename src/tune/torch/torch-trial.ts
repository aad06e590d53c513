import type { LoaderSetting, TrialFailure } from "../../results/tuning.js";
import type { Figures, Trial, TrialControl, TrialRun } from "../loader-probe.js";
import { afterSilence } from "../silence.js";
import { completeFailure, deathFailure, hangOf } from "./torch-failures.js";
import type { Message, MessageOf, ProbeProcess } from "./torch-messages.js";

/** Time limit for a trial and its workers to end, before the process is killed. */
const endMs = 5000;

const noFigures: Figures = {
  waitNsPerBatch: null,
  copyNsPerBatch: null,
  makeNsPerBatch: null,
  sharedMemoryBytes: null,
  pinnedBytes: null,
  workerPrivateBytes: null,
  storageReadBytes: null,
};

export function notStarted(setting: LoaderSetting): Trial {
  return { setting, arrivalsNs: [], aborted: true, failure: null, ...noFigures };
}

/**
 * Runs one trial in a ready process; `number` identifies its messages. Rejects only with errors of `control.enough`.
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
  readonly #arrivalsNs: number[] = [];
  #ending: MessageOf<"ending"> | null = null;
  #figures = noFigures;
  /** Whether the trial was stopped, by `enough` or an abort. */
  #isStopping = false;
  #isAborted = false;
  #stopWaiting: () => void = () => undefined;
  #isSettled = false;
  #resolve!: (run: TrialRun) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly probe: ProbeProcess,
    readonly number: number,
    readonly setting: LoaderSetting,
    readonly control: TrialControl,
  ) {
    this.result = new Promise<TrialRun>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    }).finally(() => {
      this.#isSettled = true;
      this.#stopWaiting();
      control.signal.removeEventListener("abort", this.#abort);
    });
    probe.forgetStderr();
    probe.onMessage = (message) => this.#receive(message);
    probe.exit.then((exit) => {
      const isEnding = this.#isStopping || this.#ending !== null;
      this.#settle(isEnding ? null : deathFailure(probe, exit, setting), false);
    });
    probe.send({ type: "measure", trial: number, setting });
    this.#awaitBatch();
    control.signal.addEventListener("abort", this.#abort, { once: true });
    if (control.signal.aborted) this.#end();
  }

  /** Ends the trial after reading messages that came while this process had no CPU: nothing was waited for then. */
  readonly #abort = (): void => void setImmediate(() => this.#end());

  #end(): void {
    if (this.#isStopping || this.#isSettled) return;
    this.#isAborted = true;
    this.#stop();
  }

  #receive(message: Message): void {
    if (this.#isSettled) return;
    if (message.type === "arrivals") this.#arrive(message.ns);
    if (!("trial" in message) || message.trial !== this.number) return;
    if (message.type === "ended") {
      this.#settle(null, this.#ending?.failure?.fault !== "device-error");
      return;
    }
    if (message.type === "preparing") {
      if (!this.#isStopping) this.#awaitBatch();
      return;
    }
    this.#figures = { ...this.#figures, ...message.figures };
    if (message.type === "ending") {
      this.#ending = message;
      this.#limitEnding();
    }
  }

  #arrive(ns: number[]): void {
    // Later arrivals must not count: `enough` has already decided.
    if (this.#isStopping) return;
    for (const arrivalNs of ns) this.#arrivalsNs.push(arrivalNs);
    this.#awaitBatch();
    try {
      if (this.control.enough(this.#arrivalsNs)) this.#stop();
    } catch (error) {
      this.#stop();
      this.#reject(error);
    }
  }

  #stop(): void {
    this.#isStopping = true;
    this.probe.send({ type: "stop", trial: this.number });
    if (this.#ending === null) this.#limitEnding();
  }

  /** Kills the process if the trial does not end in time; its messages until then count. */
  #limitEnding(): void {
    this.#stopWaiting();
    this.#stopWaiting = afterSilence(endMs, () => this.#settle(null, false));
  }

  #awaitBatch(): void {
    this.#stopWaiting();
    const { timeoutNs } = this.control;
    const reported = { batches: this.#arrivalsNs.length, timeoutNs };
    this.#stopWaiting = afterSilence(timeoutNs / 1e6, () => {
      hangOf(this.probe, this.setting, reported).then(
        // An abort or a late batch may have come in between; the processes are unusable either way.
        (failure) => this.#settle(this.#isAborted ? null : failure, false),
        this.#reject,
      );
    });
  }

  #settle(failure: TrialFailure | null, isUsable: boolean): void {
    if (this.#isSettled) return;
    // A failure after the request to stop is not the setting's fault.
    const said = this.#isStopping ? null : (this.#ending?.failure ?? null);
    this.#resolve({
      isUsable,
      trial: {
        setting: this.setting,
        arrivalsNs: this.#arrivalsNs,
        aborted: this.#isAborted,
        failure: failure ?? (said === null ? null : completeFailure(said, this.probe.stderrTail)),
        ...this.#figures,
      },
    });
  }
}
