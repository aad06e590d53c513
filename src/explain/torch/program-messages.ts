import { z } from "zod";
import { count } from "../../settings/schema-parts.js";
import { readLine } from "../../tune/python-programs.js";

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

/** The options of the experiments in `program/pinbench_explain/`. */
interface ExperimentOptions {
  sent: { bytes: number; rounds: number };
  overlap: { bytes: number; rounds: number };
  loader: { rows: number; columns: number; batch: number; rounds: number };
  rounded: { bytes: number; evenBytes: number; rounds: number };
}

/** An experiment's name is that of its module. */
export type ExperimentName = keyof ExperimentOptions;

const times = z.array(z.number());

/** Their results. All times are in ns, one per round. */
const figureSchemas = {
  sent: z.object({
    /** Size of a tensor: smaller than requested if /dev/shm has no room. */
    bytes: count,
    /** is_pinned() in the sending process, before and after sending. */
    isPinnedBefore: z.boolean(),
    isPinnedAfter: z.boolean(),
    /**
     * is_pinned() in the receiving process: for the tensor, and for the one in an object, before and after registering.
     */
    isPinnedInChild: z.boolean(),
    isPinnedInObject: z.boolean(),
    isPinnedRegistered: z.boolean(),
    /** Copies to the device before sending. */
    parentPinned: times,
    parentPageable: times,
    /** The same in the receiving process. */
    childPinned: times,
    childInObject: times,
    childPageable: times,
    /** Copies of the one in an object, with its memory registered; none if CUDA refused that, with the error's number. */
    childRegistered: times,
    registerRefused: count.nullable(),
  }),
  overlap: z.object({
    bytes: count,
    compute: times,
    /** Whole copies, while nothing else runs. */
    pinnedCopy: times,
    pageableCopy: times,
    /** Time until the call returned. */
    pinnedCall: times,
    pageableCall: times,
    /** A computation and then a copy, until both have ended: the copy in the same stream, and in one of its own. */
    pinnedOneStream: times,
    pageableOneStream: times,
    pinnedOwnStream: times,
    pageableOwnStream: times,
  }),
  loader: z.object({
    batches: count,
    /** Epochs with batches copied to the device: none without a GPU. */
    pinned: times,
    unpinned: times,
    /** Epochs whose batches are only made, without pinning. */
    uncopied: times,
  }),
  rounded: z.object({
    /** Sizes of a tensor above a power of two, and of one of that power. */
    bytes: count,
    evenBytes: count,
    /** Bytes that torch pinned for the larger one, one figure per round. */
    pinned: z.array(z.number()),
    /** Whether they come from torch's statistics; otherwise from the growth of the process' resident memory. */
    hasStatistics: z.boolean(),
    /** Times until a tensor was there: of the larger size, and of the power of two. */
    uneven: times,
    even: times,
  }),
} as const satisfies Record<ExperimentName, z.ZodType>;

/** The options and the results of the experiments. */
export type TorchExperiments = {
  [Name in ExperimentName]: {
    options: ExperimentOptions[Name];
    figures: z.infer<(typeof figureSchemas)[Name]>;
  };
};

const factsSchema = z.object({
  /** The path of its Python. */
  python: z.string(),
  torch: z.string(),
  /** The GPU's name in torch; null without one. */
  deviceName: z.string().nullable(),
  /** Why there is no GPU, as a clause; null if there is one. */
  gpuMissing: z.string().nullable(),
});

export type TorchFacts = z.infer<typeof factsSchema>;

const figuresOf = <Name extends ExperimentName>(name: Name) =>
  z.object({ type: z.literal("figures"), experiment: z.literal(name), figures: figureSchemas[name] });

const messageSchema = z.union([
  z.object({ type: z.literal("ready"), ...factsSchema.shape }),
  /** There is no suitable torch: a sentence. */
  z.object({ type: z.literal("refused"), message: z.string(), hint: z.string().nullable() }),
  figuresOf("sent"),
  figuresOf("overlap"),
  figuresOf("loader"),
  figuresOf("rounded"),
  /** Why an experiment has no figures, as a clause; "unavailable" if the machine lacks something. */
  z.object({
    type: z.literal("failed"),
    kind: z.enum(["unavailable", "measurement"]),
    message: z.string(),
    hint: z.string().nullable(),
  }),
]);

/** Messages of the Python program, one JSON object per line. */
export type ProgramMessage = z.infer<typeof messageSchema>;

/** Parses a line of the Python program; null if it is not a message. */
export function readProgramMessage(line: string): ProgramMessage | null {
  return readLine(line, messageSchema);
}
