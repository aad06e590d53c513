import type { Fault, LoaderSetting } from "../../results/tuning.js";
import {
  isBoolean,
  isCount,
  isNumber,
  isText,
  listOf,
  type MessageShapes,
  oneOf,
  orAbsent,
  orNull,
  readShaped,
  withFields,
} from "../message-shape.js";

/*
 * Messages between the hook in a job's processes and pinbench: JSON objects, one a line. Times are CLOCK_MONOTONIC in
 * nanoseconds, which all processes of a host share. `loader` numbers the loaders of a process from 1 in the order of
 * their first iteration; `change` counts the settings that a loader was given, 0 is its own.
 */

/** The arguments of a DataLoader that can change while the job runs. */
export type ChangeableSetting = Omit<LoaderSetting, "nonBlocking">;

/** Messages of the hook. */
export type HookMessage =
  /** The first message, when the process begins to iterate a loader. */
  | {
      type: "hello";
      pid: number;
      python: string;
      torch: string;
      rank: number | null;
      worldSize: number | null;
      localRank: number | null;
      localWorldSize: number | null;
    }
  /** A loader that is iterated for the first time, before its workers are started. */
  | {
      type: "loader";
      loader: number;
      setting: ChangeableSetting;
      /** "ImageFolder, 10000 samples". */
      source: string;
      batchSize: number | null;
      epochBatches: number | null;
      /** The framework whose loop iterates it. */
      framework?: "lightning" | "transformers" | "timm" | null;
      /** Why its setting cannot change at all. */
      untouchable?: string | null;
    }
  /** Its first batch. */
  | {
      type: "batch";
      loader: number;
      samples: number;
      bytes: number;
      tensors: number;
      description: string;
      onDevice: boolean;
      device: string | null;
      pinningOff: string | null;
      fileLimit: number | null;
      filesInUse: number | null;
    }
  | { type: "epoch"; loader: number; event: "begin" | "end"; epoch: number; ns: number }
  | {
      type: "batches";
      loader: number;
      change: number;
      /** When each next() returned, and its duration. */
      ns: number[];
      waitNs: number[];
      /** Whether gradients were on: training rather than validation. */
      grad: boolean;
      /** Number of batches made under this change so far, and the total time in which they were made. */
      made: number;
      makeNs: number;
      /** The same for collating and handing over: 0 batches if not timed. */
      collated?: number;
      collateNs?: number;
      handedOver?: number;
      handOverNs?: number;
      /** Process ids of the loader's workers under this change. */
      workers: number[];
      /** Whether these batches were discarded while the loop was held. */
      discarded: boolean;
    }
  /** What pinbench may do with batches of the tuned loader: "handed" to the loop, "discarded", or "refused". */
  | {
      type: "safety";
      loader: number;
      /** The same for other numbers of workers than the script's. */
      workers: string;
      /** Why their batches are not handed to the loop. */
      reason: string | null;
      withoutWorkers: boolean;
    }
  /** The hook met something unknown: the loader keeps the script's own setting from now on. */
  | { type: "aside"; loader: number; message: string }
  /**
   * The workers of a change have started, `atBatch` batches after the loader's first; batches in flight come before.
   */
  | { type: "changed"; loader: number; change: number; atBatch: number; ns: number }
  /** A change failed: the loader continues with its previous setting, or with the script's own. */
  | {
      type: "failed";
      loader: number;
      change: number;
      fault: Fault;
      message: string;
      hint: string | null;
      traceback: string | null;
    };

/** The message of a type. */
export type HookMessageOf<Type extends HookMessage["type"]> = Extract<HookMessage, { type: Type }>;

/** Messages of pinbench. */
export type HookCommand =
  /** This loader is tuned: the others run unchanged, and report no more. */
  | { type: "target"; loader: number }
  /** Change the setting when `atBatch` batches have been delivered since the loader's first, or at the next one. */
  | { type: "change"; loader: number; change: number; setting: ChangeableSetting; atBatch: number }
  /**
   * End the process, by SystemExit from the loop's next(), when `atBatch` batches have been delivered or at the next
   * one.
   */
  | { type: "end"; loader: number; atBatch: number }
  /** The search is over: report no more; each loader keeps its current setting. */
  | { type: "rest" };

const isSetting = withFields({
  numWorkers: isCount,
  pinMemory: isBoolean,
  prefetchFactor: orNull(isCount),
  persistentWorkers: isBoolean,
});

const shapes: MessageShapes<HookMessage> = {
  hello: {
    pid: isCount,
    python: isText,
    torch: isText,
    rank: orNull(isCount),
    worldSize: orNull(isCount),
    localRank: orNull(isCount),
    localWorldSize: orNull(isCount),
  },
  loader: {
    loader: isCount,
    setting: isSetting,
    source: isText,
    batchSize: orNull(isCount),
    epochBatches: orNull(isCount),
    framework: orAbsent(orNull(oneOf("lightning", "transformers", "timm"))),
    untouchable: orAbsent(orNull(isText)),
  },
  batch: {
    loader: isCount,
    samples: isCount,
    bytes: isCount,
    tensors: isCount,
    description: isText,
    onDevice: isBoolean,
    device: orNull(isText),
    pinningOff: orNull(isText),
    fileLimit: orNull(isNumber),
    filesInUse: orNull(isNumber),
  },
  epoch: { loader: isCount, event: oneOf("begin", "end"), epoch: isNumber, ns: isNumber },
  batches: {
    loader: isCount,
    change: isCount,
    ns: listOf(isNumber),
    waitNs: listOf(isNumber),
    grad: isBoolean,
    made: isNumber,
    makeNs: isNumber,
    collated: orAbsent(isNumber),
    collateNs: orAbsent(isNumber),
    handedOver: orAbsent(isNumber),
    handOverNs: orAbsent(isNumber),
    workers: listOf(isCount),
    discarded: isBoolean,
  },
  safety: {
    loader: isCount,
    workers: isText,
    reason: orNull(isText),
    withoutWorkers: isBoolean,
  },
  aside: { loader: isCount, message: isText },
  changed: { loader: isCount, change: isCount, atBatch: isCount, ns: isNumber },
  failed: {
    loader: isCount,
    change: isCount,
    fault: isText,
    message: isText,
    hint: orNull(isText),
    traceback: orNull(isText),
  },
};

/** The message of the hook's line; null for other lines. */
export function readMessage(line: string): HookMessage | null {
  return readShaped(line, shapes);
}
