import {
  isBoolean,
  isCount,
  isNumber,
  isText,
  listOf,
  type MessageShapes,
  oneOf,
  orNull,
  readShaped,
  withFields,
} from "../../tune/message-shape.js";

/** Commands to the Python program in `program/`, one JSON object per line: "open" first, and once. */
export type ProgramCommand =
  | { type: "open"; device: number }
  | {
      [Name in ExperimentName]: {
        type: "measure";
        experiment: Name;
        options: TorchExperiments[Name]["options"];
      };
    }[ExperimentName];

/** The results of the experiments in `program/pinbench_explain/`. All times are in ns, one per round. */
export interface TorchExperiments {
  sent: {
    options: { bytes: number; rounds: number };
    figures: {
      /** Size of a tensor: smaller than requested if /dev/shm has no room. */
      bytes: number;
      /** is_pinned() in the sending process, before and after sending. */
      isPinnedBefore: boolean;
      isPinnedAfter: boolean;
      /**
       * is_pinned() in the receiving process: for the tensor, and for the one in an object, before and after
       * registering.
       */
      isPinnedInChild: boolean;
      isPinnedInObject: boolean;
      isPinnedRegistered: boolean;
      /** Copies to the device before sending. */
      parentPinned: number[];
      parentPageable: number[];
      /** The same in the receiving process. */
      childPinned: number[];
      childInObject: number[];
      childPageable: number[];
      /**
       * Copies of the one in an object, with its memory registered; none if CUDA refused that, with the error's number.
       */
      childRegistered: number[];
      registerRefused: number | null;
    };
  };
  overlap: {
    options: { bytes: number; rounds: number };
    figures: {
      bytes: number;
      compute: number[];
      /** Whole copies, while nothing else runs. */
      pinnedCopy: number[];
      pageableCopy: number[];
      /** Time until the call returned. */
      pinnedCall: number[];
      pageableCall: number[];
      /** A computation and then a copy, until both have ended: the copy in the same stream, and in one of its own. */
      pinnedOneStream: number[];
      pageableOneStream: number[];
      pinnedOwnStream: number[];
      pageableOwnStream: number[];
    };
  };
  loader: {
    options: { rows: number; columns: number; batch: number; rounds: number };
    figures: {
      batches: number;
      /** Epochs with batches copied to the device: none without a GPU. */
      pinned: number[];
      unpinned: number[];
      /** Epochs whose batches are only made, without pinning. */
      uncopied: number[];
    };
  };
}

/** An experiment's name is that of its module. */
export type ExperimentName = keyof TorchExperiments;

/** Facts on the torch in use. */
export interface TorchFacts {
  /** The path of its Python. */
  python: string;
  torch: string;
  /** The GPU's name in torch; null without one. */
  deviceName: string | null;
  /** Why there is no GPU, as a clause; null if there is one. */
  gpuMissing: string | null;
}

/** Messages of the Python program, one JSON object per line. */
export type ProgramMessage =
  | ({ type: "ready" } & TorchFacts)
  /** There is no suitable torch: a sentence. */
  | { type: "refused"; message: string; hint: string | null }
  | { type: "figures"; experiment: ExperimentName; figures: TorchExperiments[ExperimentName]["figures"] }
  /** Why an experiment has no figures, as a clause; "unavailable" if the machine lacks something. */
  | { type: "failed"; kind: "unavailable" | "measurement"; message: string; hint: string | null };

const isTimes = listOf(isNumber);

const figureShapes: {
  readonly [Name in ExperimentName]: Record<keyof TorchExperiments[Name]["figures"], typeof isNumber>;
} = {
  sent: {
    bytes: isCount,
    isPinnedBefore: isBoolean,
    isPinnedAfter: isBoolean,
    isPinnedInChild: isBoolean,
    isPinnedInObject: isBoolean,
    isPinnedRegistered: isBoolean,
    parentPinned: isTimes,
    parentPageable: isTimes,
    childPinned: isTimes,
    childInObject: isTimes,
    childPageable: isTimes,
    childRegistered: isTimes,
    registerRefused: orNull(isCount),
  },
  overlap: {
    bytes: isCount,
    compute: isTimes,
    pinnedCopy: isTimes,
    pageableCopy: isTimes,
    pinnedCall: isTimes,
    pageableCall: isTimes,
    pinnedOneStream: isTimes,
    pageableOneStream: isTimes,
    pinnedOwnStream: isTimes,
    pageableOwnStream: isTimes,
  },
  loader: { batches: isCount, pinned: isTimes, unpinned: isTimes, uncopied: isTimes },
};

const shapes: MessageShapes<ProgramMessage> = {
  ready: { python: isText, torch: isText, deviceName: orNull(isText), gpuMissing: orNull(isText) },
  refused: { message: isText, hint: orNull(isText) },
  figures: {
    experiment: oneOf(...Object.keys(figureShapes)),
    figures: () => true,
  },
  failed: { kind: oneOf("unavailable", "measurement"), message: isText, hint: orNull(isText) },
};

/** Parses a line of the Python program; null if it is not a message. */
export function readProgramMessage(line: string): ProgramMessage | null {
  const message = readShaped(line, shapes);
  if (message?.type !== "figures") return message;
  return withFields(figureShapes[message.experiment])(message.figures) ? message : null;
}
