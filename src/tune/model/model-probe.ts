import { PinbenchError } from "../../errors.js";
import type { LoaderStep, NativeError, NativeSession } from "../../native/contract.js";
import { torchDefault } from "../../results/loader-setting.js";
import type { ProbeRecord } from "../../results/tuning.js";
import { median } from "../../stats/order-statistics.js";
import type { Probe } from "../loader-probe.js";
import { describeProbe, loaderOptions, loaderStep, type ModelProbeOptions } from "./model-options.js";
import { closeLoader, runModelTrial } from "./model-trial.js";

/**
 * Opens the engine's model of a loader. Rejects with a PinbenchError where the device cannot be opened, or does not do
 * the step that was asked for.
 */
export async function openModelProbe(options: ModelProbeOptions): Promise<Probe> {
  if (options.signal.aborted) throw interrupted();
  const notes: string[] = [];
  const { session, end } = await openSession(options, notes);
  try {
    const step = availableStep(options, session, notes);
    const stepNs = step === null ? null : await timeStep(session, options, step);
    const link = await measureLinkAlone(options, notes);
    const facts = describeProbe(options, { stepNs, link, notes });
    // A loader could not be closed: its threads may run for ever, and the session has to stay open for them.
    let isStuck = false;
    return {
      facts,
      measure: async (setting, control) => {
        if (isStuck) {
          throw new PinbenchError(
            "measurement",
            "The loader of an earlier setting hangs, and none can be run beside it.",
          );
        }
        const signal = AbortSignal.any([control.signal, options.signal]);
        const loader = loaderOptions(options, step, setting);
        const { trial, isUsable } = await runModelTrial(session, loader, setting, { ...control, signal });
        isStuck = !isUsable;
        return trial;
      },
      close: async () => {
        if (!isStuck) await end();
      },
    };
  } catch (error) {
    await end();
    throw options.signal.aborted ? interrupted() : asPinbenchError(error as NativeError);
  }
}

/** A session that an abort stops, and what closes it. */
interface OpenSession {
  session: NativeSession;
  end(): Promise<void>;
}

/** A container may forbid to choose a node; first touch by that node's CPUs does nearly as well. */
async function openSession(
  { driver, device, placement, seed, signal }: ModelProbeOptions,
  notes: string[],
): Promise<OpenSession> {
  const open = (numaNode: number | null) =>
    driver.openSession({ device: device.ordinal, ...placement, numaNode, seed });
  const opening = open(placement.numaNode).catch((error: NativeError) => {
    if (error.code !== "PLACEMENT_REFUSED" || placement.numaNode === null) throw error;
    if (!notes.includes(`${error.message}.`)) notes.push(`${error.message}.`);
    return open(null);
  });
  const session = await opening.catch((error: NativeError) => {
    throw asPinbenchError(error);
  });
  const abort = () => session.abort();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return {
    session,
    end: async () => {
      signal.removeEventListener("abort", abort);
      await session.close().catch(() => undefined);
    },
  };
}

/** The step, where there are kernels to do it; what nobody asked for by name is left out with a note. */
function availableStep(
  options: ModelProbeOptions,
  { opening: { kernelsOff } }: NativeSession,
  notes: string[],
): LoaderStep | null {
  const step = loaderStep(options);
  if (step === null || kernelsOff === null) return step;
  if (options.stepTime !== "auto") {
    throw new PinbenchError("unsupported", `There can be no training step: ${kernelsOff}.`);
  }
  notes.push(`No training step stands beside the loader: ${kernelsOff}.`);
  return null;
}

/** Opening a loader times its step: this one is opened for that alone. */
async function timeStep(
  session: NativeSession,
  options: ModelProbeOptions,
  step: LoaderStep,
): Promise<number | null> {
  const plain = { ...options, data: null, sampleCostNs: 0 };
  const loader = await session.openLoader(loaderOptions(plain, step, torchDefault));
  await closeLoader(loader);
  return loader.stepNs;
}

/** In a session of its own, which gives its memory back. Null with a note where a batch cannot be pinned. */
async function measureLinkAlone(options: ModelProbeOptions, notes: string[]): Promise<ProbeRecord["link"]> {
  const { session, end } = await openSession(options, notes);
  try {
    return await measureLink(session, options.batchSize * options.sampleBytes);
  } catch (error) {
    const { code, message } = error as NativeError;
    if (options.signal.aborted || !code?.endsWith("OUT_OF_MEMORY")) throw error;
    notes.push(`Copies of a batch alone could not be timed: ${message}.`);
    return null;
  } finally {
    await end();
  }
}

function asPinbenchError(error: NativeError | PinbenchError): PinbenchError {
  if (error instanceof PinbenchError) return error;
  const kind = error.code === "CUDA_ERROR_OUT_OF_MEMORY" ? "limit" : "unavailable";
  const hint = kind === "limit" ? { hint: "Ask for smaller batches, or free the device." } : {};
  return new PinbenchError(kind, `The loader cannot be opened: ${error.message}.`, { ...hint, cause: error });
}

/** Copies that are timed: their median repeats within a few per cent. */
const linkCopies = 15;
/** Sizes of buffers in device memory are rounded up to multiples of this. */
const granularityBytes = 512;

/**
 * Times copies of one batch to the device, from pinned and from pageable memory, with nothing beside them. What is
 * reserved for it stays with the session, which should be one for this alone.
 */
async function measureLink(
  session: NativeSession,
  batchBytes: number,
): Promise<NonNullable<ProbeRecord["link"]>> {
  const geometry = {
    chunksOfWorker: [1],
    chunkBytes: Math.ceil(batchBytes / granularityBytes) * granularityBytes,
  };
  await session.reserveDevice(geometry, 1);
  const speed = async (memory: "pinned" | "pageable") => {
    await session.reserveHost(memory, geometry);
    const { columns, aborted } = await session.measure({
      direction: "h2d",
      memory,
      sizeBytes: batchBytes,
      workers: 1,
      mode: "throughput",
      timer: "wall",
      cache: "warm",
      buffers: 1,
      firstBuffer: 0,
      warmupCopies: 2,
      warmupBytes: batchBytes,
      copiesPerSample: 1,
      samples: linkCopies,
      verify: false,
      readLink: false,
    });
    if (aborted) throw interrupted();
    return batchBytes / (median([...columns[0]!.durationNs]) / 1e9);
  };
  return { pinnedBytesPerSecond: await speed("pinned"), pageableBytesPerSecond: await speed("pageable") };
}

/** What opening the probe rejects with where its signal is aborted. */
function interrupted(): PinbenchError {
  return new PinbenchError("measurement", "Opening the loader was interrupted.");
}
