import { PinbenchError } from "../../errors.js";
import type { NativeError } from "../../native/contract.js";
import type { Fault, TrialFailure } from "../probe.js";
import { describeSetting, type LoaderSetting } from "../setting.js";

interface FaultKind {
  fault: Fault;
  hint: string;
  /** It would befall every other setting too. */
  everywhere?: boolean;
}

const memoryHint = "Fewer workers, a smaller prefetch factor or smaller batches take less.";

/** What the engine's own codes come to; those of CUDA are told apart below. */
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
    hint: "Workers hand batches over in shared memory (memfd_create), which this system does not give.",
  },
  OUT_OF_HOST_MEMORY: { fault: "out-of-memory", hint: memoryHint },
  TOO_MANY_THREADS: {
    fault: "out-of-memory",
    hint: "Raise the limit of processes (ulimit -u, the container's pids limit), or allow fewer workers.",
  },
};

/** The failure of one setting; throws a PinbenchError for what no setting is to blame for. */
export function trialFailure(error: NativeError, setting: LoaderSetting): TrialFailure {
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
    return { fault: "out-of-memory", hint: `Batches are pinned as they come. ${memoryHint}` };
  }
  return {
    fault: "device-error",
    hint: sticky
      ? "The device is of no use to this process any more; dmesg and nvidia-smi may tell why."
      : "Other processes may hold the device's memory: nvidia-smi lists them.",
    everywhere: sticky,
  };
}

export function hang(
  setting: LoaderSetting,
  batches: number,
  timeoutNs: number,
  isStuck: boolean,
): TrialFailure {
  return {
    fault: "hang",
    message: `No ${batches === 0 ? "" : "further "}batch came within ${timeoutNs / 1e9} s with ${describeSetting(setting)}.`,
    hint: "If a batch takes that long by right, allow more time; else look at the storage that the files are on.",
    traceback: null,
    everywhere: isStuck,
  };
}

/** What opening the probe comes to where the user ends it. */
export function interrupted(): PinbenchError {
  return new PinbenchError("measurement", "Opening the loader was interrupted.");
}
