import { PinbenchError } from "../../errors.js";
import type { LoaderStep, NativeError, NativeSession } from "../../native/contract.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../probe.js";
import { type LoaderSetting, torchDefault } from "../setting.js";
import { describeProbe } from "./describe.js";
import { interrupted } from "./faults.js";
import { type LinkSpeed, measureLink } from "./link.js";
import { loaderOptions, loaderStep, type NativeProbeOptions } from "./options.js";
import { close, runTrial } from "./trial.js";

export type { NativeProbeOptions } from "./options.js";

/**
 * Opens the engine's model of a loader. Rejects with a PinbenchError where the device cannot be opened, or does not do
 * the step that was asked for.
 */
export async function openNativeProbe(options: NativeProbeOptions): Promise<Probe> {
  if (options.signal.aborted) throw interrupted();
  const notes: string[] = [];
  const session = await openSession(options, notes);
  const abort = () => session.abort();
  options.signal.addEventListener("abort", abort, { once: true });
  if (options.signal.aborted) abort();
  const end = async () => {
    options.signal.removeEventListener("abort", abort);
    await session.close().catch(() => undefined);
  };
  try {
    const step = availableStep(options, session, notes);
    const stepNs = step === null ? null : await timeStep(session, options, step);
    const link = await measureLinkAlone(options, notes);
    return new NativeProbe(session, options, step, describeProbe(options, { stepNs, link, notes }), end);
  } catch (error) {
    await end();
    throw options.signal.aborted ? interrupted() : asPinbenchError(error as NativeError);
  }
}

class NativeProbe implements Probe {
  readonly facts: ProbeFacts;
  readonly #session: NativeSession;
  readonly #options: NativeProbeOptions;
  readonly #step: LoaderStep | null;
  readonly #end: () => Promise<void>;
  /** A loader did not end: its threads may stay for good, and so may the session. */
  #isStuck = false;

  constructor(
    session: NativeSession,
    options: NativeProbeOptions,
    step: LoaderStep | null,
    facts: ProbeFacts,
    end: () => Promise<void>,
  ) {
    this.#session = session;
    this.#options = options;
    this.#step = step;
    this.facts = facts;
    this.#end = end;
  }

  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    if (this.#isStuck) {
      throw new PinbenchError(
        "measurement",
        "The loader of an earlier setting hangs, and none can be run beside it.",
      );
    }
    const signal = AbortSignal.any([control.signal, this.#options.signal]);
    const options = loaderOptions(this.#options, this.#step, setting);
    const enough = (arrivalsNs: readonly number[]) => control.enough(arrivalsNs);
    const { timeoutNs } = control;
    const { trial, isUsable } = await runTrial(this.#session, options, setting, {
      enough,
      signal,
      timeoutNs,
    });
    this.#isStuck = !isUsable;
    return trial;
  }

  async close(): Promise<void> {
    if (!this.#isStuck) await this.#end();
  }
}

/** A container may forbid to choose a node; first touch by that node's CPUs does nearly as well. */
async function openSession(
  { driver, device, placement, seed }: NativeProbeOptions,
  notes: string[],
): Promise<NativeSession> {
  const open = (numaNode: number | null) =>
    driver.openSession({ device: device.ordinal, ...placement, numaNode, seed });
  try {
    return await open(placement.numaNode).catch((error: NativeError) => {
      if (error.code !== "PLACEMENT_REFUSED" || placement.numaNode === null) throw error;
      if (!notes.includes(`${error.message}.`)) notes.push(`${error.message}.`);
      return open(null);
    });
  } catch (error) {
    throw asPinbenchError(error as NativeError);
  }
}

/** The step, where there are kernels to do it; what nobody asked for by name is left out with a note. */
function availableStep(
  options: NativeProbeOptions,
  { opening: { kernelsOff } }: NativeSession,
  notes: string[],
): LoaderStep | null {
  const step = loaderStep(options.step);
  if (step === null || kernelsOff === null) return step;
  if (options.step !== "auto") {
    throw new PinbenchError("unsupported", `There can be no training step: ${kernelsOff}.`);
  }
  notes.push(`No training step stands beside the loader: ${kernelsOff}.`);
  return null;
}

/** Opening a loader times its step; of this one nothing else is wanted. */
async function timeStep(
  session: NativeSession,
  options: NativeProbeOptions,
  step: LoaderStep,
): Promise<number | null> {
  const plain = { ...options, data: null, sampleCostNs: 0 };
  const loader = await session.openLoader(loaderOptions(plain, step, torchDefault));
  await close(loader);
  return loader.stepNs;
}

/** In a session of its own, which gives its memory back. Null with a note where a batch cannot be pinned. */
async function measureLinkAlone(options: NativeProbeOptions, notes: string[]): Promise<LinkSpeed | null> {
  const session = await openSession(options, notes);
  const abort = () => session.abort();
  options.signal.addEventListener("abort", abort, { once: true });
  if (options.signal.aborted) abort();
  try {
    return await measureLink(session, options.batchSamples * options.sampleBytes);
  } catch (error) {
    const { code, message } = error as NativeError;
    if (options.signal.aborted || !code?.endsWith("OUT_OF_MEMORY")) throw error;
    notes.push(`Copies of a batch alone could not be timed: ${message}.`);
    return null;
  } finally {
    options.signal.removeEventListener("abort", abort);
    await session.close().catch(() => undefined);
  }
}

function asPinbenchError(error: NativeError | PinbenchError): PinbenchError {
  if (error instanceof PinbenchError) return error;
  const kind = error.code === "CUDA_ERROR_OUT_OF_MEMORY" ? "limit" : "unavailable";
  const hint = kind === "limit" ? { hint: "Ask for smaller batches, or free the device." } : {};
  return new PinbenchError(kind, `The loader cannot be opened: ${error.message}.`, { ...hint, cause: error });
}
