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
 * What the hook inside a job's processes and pinbench say to each other: JSON objects, one a line. Times are of
 * CLOCK_MONOTONIC in nanoseconds, which all processes of a host have in common. `loader` numbers the loaders of a process
 * from 1 in the order of their first iteration; `change` counts the settings that a loader was given, 0 is its own.
 */

/** The arguments of a DataLoader that can be changed while the job runs. */
export type ChangeableSetting = Omit<LoaderSetting, "nonBlocking">;

/** What the hook writes. */
export type HookMessage =
  /** First and once, as the process begins to iterate a loader. */
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
      /** Whose loop it is iterated by. */
      framework?: "lightning" | "transformers" | "timm" | null;
      /** Why its setting cannot be changed at all. */
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
      /** When each next() returned, and how long it took. */
      ns: number[];
      waitNs: number[];
      /** Whether gradients were on: training rather than validation. */
      grad: boolean;
      /** Batches made under this change until now, and the time that took where they were made, in sum. */
      made: number;
      makeNs: number;
      /** The same of collating and of handing over, where these were timed: 0 batches where they were not. */
      collated?: number;
      collateNs?: number;
      handedOver?: number;
      handOverNs?: number;
      /** Process ids of the loader's workers under this change. */
      workers: number[];
      /** Whether these batches were thrown away: the loop was held meanwhile. */
      discarded: boolean;
    }
  /** What may be done to the loader that is tuned: "handed" to the loop, "discarded", or "refused". */
  | {
      type: "safety";
      loader: number;
      /** For other numbers of workers than the script's. */
      workers: string;
      /** Why their batches are not handed to the loop. */
      reason: string | null;
      withoutWorkers: boolean;
    }
  /** The hook has met with something that it does not know: the loader is the script's own from now on. */
  | { type: "aside"; loader: number; message: string }
  /** The workers of a change were started, `atBatch` batches after the loader's first; outstanding ones come before. */
  | { type: "changed"; loader: number; change: number; atBatch: number; ns: number }
  /** A change came to nothing: the loader goes on with the setting it had before, or with the script's own. */
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

/** What pinbench writes. */
export type HookCommand =
  /** This loader is tuned: the others run untouched, and tell nothing more. */
  | { type: "target"; loader: number }
  /** Change when `atBatch` batches have been delivered since the loader's first, or at the next one. */
  | { type: "change"; loader: number; change: number; setting: ChangeableSetting; atBatch: number }
  /** End the process, by SystemExit out of the loop's next(), when `atBatch` batches have been delivered or at the next one. */
  | { type: "end"; loader: number; atBatch: number }
  /** The search is over: tell no more; each loader keeps the setting it has. */
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

/** A line of the hook's; null for one that is no message. */
export function readMessage(line: string): HookMessage | null {
  return readShaped(line, shapes);
}
