import { setTimeout as delay } from "node:timers/promises";
import type {
  LoaderArrivals,
  LoaderOptions,
  NativeError,
  NativeLoader,
  NativeSession,
} from "../../native/contract.js";
import type { Trial, TrialControl, TrialFailure } from "../probe.js";
import type { LoaderSetting } from "../setting.js";
import { hang, trialFailure } from "./faults.js";
import { storageBytesRead } from "./options.js";

/** How soon an abort or a hang is seen where no batch comes. */
const pollNs = 50e6;
/** How long closing a loader may take beyond the steps under way. A read that never returns keeps it for good. */
const closeMs = 5000;

export interface TrialRun {
  trial: Trial;
  /** The loader is gone, and another can be opened. */
  isUsable: boolean;
}

/**
 * One loader from its opening to its closing. Rejects with a PinbenchError for what no setting is to blame for, and with
 * what `control.enough` throws; the loader is closed all the same.
 */
export async function runTrial(
  session: NativeSession,
  options: LoaderOptions,
  setting: LoaderSetting,
  control: TrialControl,
): Promise<TrialRun> {
  const storageBefore = storageBytesRead();
  const arrivalsNs: number[] = [];
  let failure: TrialFailure | null = null;
  let loader: NativeLoader | null = null;
  let last: LoaderArrivals | null = null;
  let isUsable = true;
  let isHanging = false;
  let timeoutNs = control.timeoutNs;
  try {
    loader = await session.openLoader(options);
    // A step may take longer than a batch ever should; the next batch comes after it.
    timeoutNs += loader.stepNs ?? 0;
    let lastNewsMs = performance.now();
    while (!control.signal.aborted) {
      last = await loader.arrivals(Math.min(pollNs, timeoutNs));
      // These have arrived also where an abort came meanwhile.
      arrivalsNs.push(...last.arrivalsNs);
      if (control.signal.aborted) break;
      if (last.arrivalsNs.length > 0) {
        if (control.enough(arrivalsNs)) break;
        lastNewsMs = performance.now();
      } else if ((performance.now() - lastNewsMs) * 1e6 >= timeoutNs) {
        isHanging = true;
        break;
      }
    }
  } catch (error) {
    // What fails while it is being stopped is no fault of the setting.
    if (!isNative(error)) throw error;
    if (!control.signal.aborted) failure = trialFailure(error, setting);
  } finally {
    if (loader !== null) isUsable = await close(loader);
  }
  if (isHanging) failure = hang(setting, arrivalsNs.length, timeoutNs, !isUsable);
  const storageAfter = storageBytesRead();
  const perBatch = (sumNs: number | undefined) =>
    sumNs === undefined || arrivalsNs.length === 0 ? null : sumNs / arrivalsNs.length;
  const trial: Trial = {
    setting,
    arrivalsNs,
    aborted: control.signal.aborted && failure === null,
    failure,
    waitNsPerBatch: perBatch(last?.waitNs),
    copyNsPerBatch: perBatch(last?.copyNs),
    sharedMemoryBytes: last?.sharedMemoryBytes ?? null,
    pinnedBytes: last?.pinnedBytes ?? null,
    workerPrivateBytes: null,
    storageReadBytes: storageBefore === null || storageAfter === null ? null : storageAfter - storageBefore,
  };
  return { trial, isUsable };
}

/** Whether all threads have ended; never rejects. */
export async function close(loader: NativeLoader): Promise<boolean> {
  const limit = new AbortController();
  const closed = loader.close().then(
    () => true,
    () => false,
  );
  const limitMs = closeMs + (2 * (loader.stepNs ?? 0)) / 1e6;
  const late = delay(limitMs, false, { signal: limit.signal, ref: false }).catch(() => false);
  const outcome = await Promise.race([closed, late]);
  limit.abort();
  return outcome;
}

function isNative(error: unknown): error is NativeError {
  return error instanceof Error && "sticky" in error && "code" in error;
}
