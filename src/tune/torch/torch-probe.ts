import { PinbenchError } from "../../errors.js";
import { describeExit } from "../../host/child.js";
import { type Exit, PythonProcess } from "../../host/python/python-process.js";
import { cannotBeStarted, pythonHint } from "../../host/python/python-programs.js";
import type { LoaderSetting } from "../../results/tuning.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../loader-probe.js";
import { whereItHangs } from "./torch-failures.js";
import { type MessageOf, type ProbeProcess, spokenProbe, type TorchProbeOptions } from "./torch-messages.js";
import { notStarted, runTorchTrial } from "./torch-trial.js";

/**
 * A probe of the user's Dataset in their Python. Rejects with a PinbenchError if no batch can be made, whatever the
 * setting.
 */
export async function openTorchProbe(options: TorchProbeOptions): Promise<Probe> {
  return new TorchProbe(options, await open(options, { link: true }));
}

/** Uses one process for all trials, because starting Python and torch takes seconds; a new one if a trial ended it. */
class TorchProbe implements Probe {
  readonly facts: ProbeFacts;
  readonly #options: TorchProbeOptions;
  #process: ProbeProcess | null;
  #trials = 0;

  constructor(options: TorchProbeOptions, opened: Opened) {
    this.facts = opened.facts;
    this.#process = opened.process;
    this.#options = options;
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    const signal = AbortSignal.any([control.signal, this.#options.signal]);
    if (signal.aborted) return notStarted(setting);
    const probe = await this.#readyProcess(signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (probe === null) return notStarted(setting);
    this.#trials++;
    // A step may take longer than a batch, and delays the next one.
    const timeoutNs = control.timeoutNs + (this.facts.stepNs ?? 0);
    const run = runTorchTrial(probe, this.#trials, setting, { ...control, timeoutNs, signal });
    const { trial, isUsable } = await run.catch(async (error) => {
      await this.#drop();
      throw error;
    });
    if (!isUsable) await this.#drop();
    return trial;
  }

  async ready(signal: AbortSignal): Promise<void> {
    await this.#readyProcess(AbortSignal.any([signal, this.#options.signal])).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#process?.close();
  }

  async #readyProcess(signal: AbortSignal): Promise<ProbeProcess> {
    if (this.#process !== null && this.#process.ended === null) return this.#process;
    await this.#drop();
    const { process } = await open({ ...this.#options, signal }, { link: false });
    this.#process = process;
    return process;
  }

  async #drop(): Promise<void> {
    const dropped = this.#process;
    this.#process = null;
    await dropped?.kill();
  }
}

interface Opened {
  process: ProbeProcess;
  facts: ProbeFacts;
}

/**
 * Starts the Python program, which makes the data set and a first batch. Rejects with a PinbenchError after ending the
 * process. `link`: also time bare copies.
 */
async function open(options: TorchProbeOptions, { link }: { link: boolean }): Promise<Opened> {
  if (options.signal.aborted) throw interrupted();
  const { signal, environment, ...settings } = options;
  const probe = start(settings.python, { ...environment, ...rankEnvironment(settings.rank) });
  try {
    const ready = waitUntilReady(probe, options);
    probe.send({ type: "open", link, ...settings });
    const isCold = settings.coldFolder !== null;
    const { place, ...facts } = await ready;
    const places = [{ rank: settings.rank?.index ?? 0, place }];
    return {
      process: probe,
      facts: { ...facts, kind: "torch", source: settings.torch, isCold, places, checks: [] },
    };
  } catch (error) {
    await probe.kill();
    throw error;
  }
}

/** Environment variables that torchrun sets and data sets read. */
function rankEnvironment(rank: TorchProbeOptions["rank"]): Record<string, string> {
  if (rank === null) return {};
  const [index, count] = [String(rank.index), String(rank.count)];
  return { RANK: index, LOCAL_RANK: index, WORLD_SIZE: count, LOCAL_WORLD_SIZE: count };
}

function start(python: string, environment: Record<string, string>): ProbeProcess {
  try {
    return new PythonProcess(python, spokenProbe, environment);
  } catch (error) {
    if (error instanceof PinbenchError) throw error;
    throw cannotBeStarted(python, error as NodeJS.ErrnoException);
  }
}

type LoaderFacts = MessageOf<"ready">["facts"];

function waitUntilReady(probe: ProbeProcess, options: TorchProbeOptions): Promise<LoaderFacts> {
  const { python, step, signal } = options;
  // The phase that measures the device runs a step, which may take long.
  const stepNs = step !== null && "timeNs" in step && step.timeNs !== "auto" ? step.timeNs : 0;
  const timeoutNs = options.timeoutNs + stepNs;
  let phase: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  let abort = () => undefined as unknown;
  const result = new Promise<LoaderFacts>((resolve, reject) => {
    abort = () => reject(interrupted());
    signal.addEventListener("abort", abort, { once: true });
    const giveUp = () => {
      hung(probe, phase, timeoutNs).then(reject, reject);
    };
    const waitOn = () => {
      clearTimeout(timer);
      if (!isSettled) timer = setTimeout(giveUp, timeoutNs / 1e6);
    };
    waitOn();
    probe.onMessage = (message) => {
      if (message.type === "phase") {
        phase = message.phase;
        waitOn();
      } else if (message.type === "ready") resolve(message.facts);
      else if (message.type === "refused") reject(refusal(message));
    };
    probe.exit.then((exit) => reject(ended(probe, exit, phase, python)));
  });
  return result.finally(() => {
    isSettled = true;
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  });
}

function refusal({ kind, message, hint, traceback }: MessageOf<"refused">): PinbenchError {
  return new PinbenchError(kind, message, {
    ...(hint === null ? {} : { hint }),
    cause: causeOf(traceback),
  });
}

/** Wraps a traceback or the last output as an error's cause. */
function causeOf(text: string | null): Error | undefined {
  return text === null ? undefined : new Error(text);
}

async function hung(probe: ProbeProcess, phase: string | null, timeoutNs: number): Promise<PinbenchError> {
  const where = await whereItHangs(probe);
  const at = where === null ? "" : ` (at ${where.place})`;
  const doing = phase ?? "Python was being started";
  return new PinbenchError("measurement", `Nothing happened for ${timeoutNs / 1e9} s while ${doing}${at}.`, {
    cause: causeOf(where?.traceback ?? null),
  });
}

/** The error if the program ended before it was ready. */
function ended(probe: ProbeProcess, exit: Exit, phase: string | null, python: string): PinbenchError {
  if (exit.error !== null) return cannotBeStarted(python, exit.error);
  const tail = probe.stderrTail;
  const cause = causeOf(tail);
  const said = (how: string) => (tail === null ? "" : ` ${how}: ${tail.split("\n").at(-1)}`);
  if (phase === null) {
    const message = `${python} ${describeExit(exit)} instead of running the probe.${said("It said")}`;
    return new PinbenchError("usage", message, { hint: pythonHint, cause });
  }
  const message = `Python ${describeExit(exit)} while ${phase}.${said("Its last output")}`;
  return new PinbenchError("measurement", message, {
    hint: "To reproduce it, make one batch without workers in a script.",
    cause,
  });
}

function interrupted(): PinbenchError {
  return new PinbenchError("measurement", "Opening the data set was interrupted.");
}
