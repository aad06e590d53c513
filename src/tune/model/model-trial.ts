import { setTimeout as delay } from "node:timers/promises";
import { PinbenchError } from "../../errors.js";
import { exists } from "../../host/files.js";
import type { NativeError, NativeSession } from "../../native/contract.js";
import type { LoaderArrivals, LoaderOptions, NativeLoader } from "../../native/loader-contract.js";
import { describeSetting } from "../../results/loader-setting.js";
import type { Fault, LoaderSetting, TrialFailure } from "../../results/tuning.js";
import type { Trial, TrialControl, TrialRun } from "../loader-probe.js";
import { hangFailure } from "../silence.js";

/** Longest wait in one engine call, and so the delay in noticing an abort or a hang. */
const pollNs = 50e6;
/** Time limit for closing a loader, beyond its running steps: a read may never return. */
const closeMs = 5000;
/** The limit after an abort: a hanging driver must not delay the results. */
const abortedCloseMs = 2000;

/**
 * Runs one loader and returns the number of samples it began. Rejects with a PinbenchError for failures that no setting
 * causes, and with errors of `control.enough`. Always closes the loader. Only an aborted `interruption` shortens the
 * limit for that: a trial that other ranks end early may still have a long step to finish.
 */
export async function runModelTrial(
  session: NativeSession,
  options: LoaderOptions,
  setting: LoaderSetting,
  control: TrialControl,
  interruption: AbortSignal = control.signal,
): Promise<TrialRun & { samplesBegun: number }> {
  let samplesBegun = 0;
  const arrivalsNs: number[] = [];
  let failure: TrialFailure | null = null;
  let loader: NativeLoader | null = null;
  let last: LoaderArrivals | null = null;
  let isUsable = true;
  let isHanging = false;
  let timeoutNs = control.timeoutNs;
  let lastNewsMs = performance.now();
  try {
    loader = await session.openLoader(options);
    // A step may take longer than a batch, and delays the next one.
    timeoutNs += loader.stepNs ?? 0;
    lastNewsMs = performance.now();
    while (!control.signal.aborted) {
      last = await loader.arrivals(Math.min(pollNs, timeoutNs));
      // Arrivals count even after an abort. Pushed one by one, because a call takes a limited number of arguments.
      for (const arrivalNs of last.arrivalsNs) arrivalsNs.push(arrivalNs);
      if (last.arrivalsNs.length > 0) lastNewsMs = performance.now();
      if (control.signal.aborted) break;
      if (last.arrivalsNs.length > 0) {
        if (control.enough(arrivalsNs)) break;
      } else if ((performance.now() - lastNewsMs) * 1e6 >= timeoutNs) {
        isHanging = true;
        break;
      }
    }
  } catch (error) {
    // A failure after the request to stop is not the setting's fault.
    if (!isNative(error)) throw error;
    if (!control.signal.aborted) failure = trialFailure(error, setting);
  } finally {
    if (loader !== null) {
      const begun = await closeLoader(loader, interruption);
      isUsable = begun !== null;
      samplesBegun = begun ?? 0;
    }
  }
  if (isHanging) {
    const cause = "The storage of the files may hang.";
    failure = hangFailure(setting, { timeoutNs, cause, batches: arrivalsNs.length, everywhere: !isUsable });
  }
  const perBatch = (sumNs: number | undefined) =>
    sumNs === undefined || arrivalsNs.length === 0 ? null : sumNs / arrivalsNs.length;
  const trial: Trial = {
    setting,
    arrivalsNs,
    aborted: control.signal.aborted && failure === null,
    failure,
    waitNsPerBatch: perBatch(last?.waitNs),
    copyNsPerBatch: perBatch(last?.copyNs),
    makeNsPerBatch: last === null || last.batchesMade === 0 ? null : last.makeNs / last.batchesMade,
    sharedMemoryBytes: last?.sharedMemoryBytes ?? null,
    pinnedBytes: last?.pinnedBytes ?? null,
    workerPrivateBytes: null,
    // The kernel counts storage reads only if this file exists.
    storageReadBytes: last === null || !exists("/", "proc/self/io") ? null : last.storageBytes,
  };
  return { trial, isUsable, samplesBegun };
}

/**
 * Closes a loader within a time limit, which is short after an abort. Returns the number of samples it began; null if
 * some threads have not ended. Never rejects.
 */
export async function closeLoader(loader: NativeLoader, signal: AbortSignal): Promise<number | null> {
  const limit = new AbortController();
  const closed = loader.close().catch(() => null);
  const limitMs = signal.aborted ? abortedCloseMs : closeMs + (2 * (loader.stepNs ?? 0)) / 1e6;
  const late = delay(limitMs, null, { signal: limit.signal, ref: false }).catch(() => null);
  const outcome = await Promise.race([closed, late]);
  limit.abort();
  return outcome;
}

function isNative(error: unknown): error is NativeError {
  return error instanceof Error && "sticky" in error && "code" in error;
}

interface FaultKind {
  fault: Fault;
  hint: string;
  everywhere?: boolean;
}

const memoryHint = "Fewer workers, a smaller prefetch factor or smaller batches take less.";

/** Failures by the engine's error code; cudaFault() has those of CUDA. */
const kinds: Readonly<Record<string, FaultKind>> = {
  FILE_UNREADABLE: {
    fault: "dataset-raised",
    hint: "Every file must stay and be readable while the loader is measured.",
    everywhere: true,
  },
  TOO_MANY_FILES: {
    fault: "too-many-files",
    hint: "Each batch in flight holds a file descriptor: raise the limit (ulimit -n), or prefetch less.",
  },
  OUT_OF_SHARED_MEMORY: { fault: "shared-memory-full", hint: memoryHint },
  SHARED_MEMORY_REFUSED: {
    fault: "shared-memory-full",
    hint: "Workers need shared memory (memfd_create), which this system does not provide.",
  },
  OUT_OF_HOST_MEMORY: { fault: "out-of-memory", hint: memoryHint },
  TOO_MANY_THREADS: {
    fault: "out-of-memory",
    hint: "Raise the limit of processes (ulimit -u, the container's pids limit), or allow fewer workers.",
  },
};

/** Turns an error into a setting's failure; throws a PinbenchError if no setting causes it. */
function trialFailure(error: NativeError, setting: LoaderSetting): TrialFailure {
  const kind = kinds[error.code] ?? cudaFault(error);
  if (kind === null) {
    throw new PinbenchError("measurement", `The loader cannot be run: ${error.message}.`, { cause: error });
  }
  const { fault, hint, everywhere = false } = kind;
  const message =
    fault === "dataset-raised" ? `${error.message}.` : `With ${describeSetting(setting)}, ${error.message}.`;
  return { fault, message, hint, traceback: null, everywhere };
}

function cudaFault({ code, call, sticky }: NativeError): FaultKind | null {
  if (!code.startsWith("CUDA_ERROR")) return null;
  if (code === "CUDA_ERROR_OUT_OF_MEMORY" && call === "cuMemHostAlloc") {
    return { fault: "out-of-memory", hint: `Each batch is pinned when it arrives. ${memoryHint}` };
  }
  return {
    fault: "device-error",
    hint: sticky
      ? "This process can no longer use the device: see dmesg and nvidia-smi."
      : "Other processes may hold the device's memory: nvidia-smi lists them.",
    everywhere: sticky,
  };
}
