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

/** What is asked of the Python program in `program/`, a JSON object a line: "open" first and once. */
export type ProgramCommand =
  | { type: "open"; device: number }
  | {
      [Name in ExperimentName]: { type: "measure"; experiment: Name; options: Experiments[Name]["options"] };
    }[ExperimentName];

/** An experiment of each module in `program/pinbench_explain/`. All times are ns, one a round. */
export interface Experiments {
  sent: {
    options: { bytes: number; rounds: number };
    figures: {
      /** Of a tensor: fewer than were asked for where /dev/shm has no room. */
      bytes: number;
      /** What is_pinned() says in the process that sends, before and afterwards. */
      isPinnedBefore: boolean;
      isPinnedAfter: boolean;
      /** In the process that it was sent to: of the tensor, and of the one in an object before and after registering. */
      isPinnedInChild: boolean;
      isPinnedInObject: boolean;
      isPinnedRegistered: boolean;
      /** Copies to the device before sending. */
      parentPinned: number[];
      parentPageable: number[];
      /** The same afterwards, there. */
      childPinned: number[];
      childInObject: number[];
      childPageable: number[];
      /** Of the one in an object, when its memory was registered; none where CUDA refused that, with its error's number. */
      childRegistered: number[];
      registerRefused: number | null;
    };
  };
  overlap: {
    options: { bytes: number; rounds: number };
    figures: {
      bytes: number;
      compute: number[];
      /** To their ends, while nothing else is going on. */
      pinnedCopy: number[];
      pageableCopy: number[];
      /** Until the call returned. */
      pinnedCall: number[];
      pageableCall: number[];
      /** Computing and then a copy, until both have ended: the copy in the same stream, and in one of its own. */
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
      /** Epochs whose batches are copied to the device: none without a GPU. */
      pinned: number[];
      unpinned: number[];
      /** Epochs whose batches are only made, without pinning. */
      uncopied: number[];
    };
  };
}

/** An experiment's name is that of its module. */
export type ExperimentName = keyof Experiments;

/** Which torch answers. */
export interface TorchFacts {
  /** The path of its Python. */
  python: string;
  torch: string;
  /** The GPU as torch calls it; null where it has none. */
  deviceName: string | null;
  /** Why it has none, as a clause; null where it has one. */
  gpuMissing: string | null;
}

/** What the Python program says, a JSON object a line. */
export type ProgramMessage =
  | ({ type: "ready" } & TorchFacts)
  /** There is no torch that will do: a sentence. */
  | { type: "refused"; message: string; hint: string | null }
  | { type: "figures"; experiment: ExperimentName; figures: Experiments[ExperimentName]["figures"] }
  /** Why an experiment has no figures: a clause. */
  | { type: "failed"; message: string; hint: string | null };

const isTimes = listOf(isNumber);

const figureShapes: {
  readonly [Name in ExperimentName]: Record<keyof Experiments[Name]["figures"], typeof isNumber>;
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
  failed: { message: isText, hint: orNull(isText) },
};

/** A line of the Python program's; null for one that is no message. */
export function readProgramMessage(line: string): ProgramMessage | null {
  const message = readShaped(line, shapes);
  if (message?.type !== "figures") return message;
  return withFields(figureShapes[message.experiment])(message.figures) ? message : null;
}
