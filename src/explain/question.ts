import type { Backend } from "../native/backend.js";
import type { NativeSession } from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import type { ResultDocument } from "../results/schema.js";
import type { Given } from "../settings/setting.js";
import { runSettings } from "../settings/table.js";
import { formatDuration, formatSize, KiB } from "../settings/units.js";
import type { ExplainedAnswer, QuestionText } from "./explanation.js";
import type { TorchBench } from "./torch/torch-bench.js";

/** What an experiment measures: the settings of `pinbench run`, without the backend, which all questions share. */
export type RunRequest = Omit<Given<typeof runSettings>, "backend">;

/** Tools for measuring. All calls end early if `signal` is aborted. */
export interface Tools {
  /** Ends the experiment, after an interruption or at the end of the question's time. */
  signal: AbortSignal;
  backend: Backend;
  /** The chosen devices; experiments on one device take the first. */
  devices: DeviceFacts[];
  /** The user's torch, which starts on first use. */
  torch: TorchBench;
  /** Describes the current activity. */
  onActivity: (text: string) => void;
  /**
   * Measures like `pinbench run`, in this process, by default on the first device. Rejects with a PinbenchError if it
   * cannot be planned, the run fails or is cut short, or data came back wrong.
   */
  run(request: RunRequest): Promise<ResultDocument>;
  /** The same in a process of its own, with a new context. */
  runInFreshProcess(request: RunRequest): Promise<ResultDocument>;
  /** Calls `work` with its own session on the first device; the session's memory is freed afterwards. */
  inSession<Result>(work: (session: NativeSession) => Promise<Result>): Promise<Result>;
  commandFor(request: RunRequest): string;
}

/** The measurements for a question, and the verdict. */
export type Answer = Pick<ExplainedAnswer, "verdict" | "figures" | "sentences" | "command"> &
  Partial<Pick<ExplainedAnswer, "parts">>;

/** The result of a question's pure function: verdict, figures and sentences. */
export type Conclusion = Omit<Answer, "command">;

/** One of the experiments that articles make, or should make. */
export interface Question extends QuestionText {
  /** After this time the experiment is stopped, and the claim is inconclusive. */
  mostMs: number;
  /** Rejects with any failure. Missing hardware is an answer: "inconclusive", with the reason. */
  answer(tools: Tools): Promise<Answer>;
}

export function commandOf(request: RunRequest, isEmulated: boolean): string {
  const flags = Object.entries(request).flatMap(([key, value]) => {
    const [name] = runSettings[key as keyof typeof runSettings].flag.split(" ");
    if (value === true) return [name];
    const write = (one: unknown) =>
      key === "sizesBytes"
        ? sizeText(one as number)
        : key === "budgetNs"
          ? formatDuration(one as number).replace(" ", "")
          : String(one);
    return [name, [value].flat().map(write).join(",")];
  });
  return ["pinbench run", ...(isEmulated ? ["--backend emulated"] : []), ...flags].join(" ");
}

/** A size for a flag: decimal if only that is a round number, as in 40MB. */
function sizeText(bytes: number): string {
  const isDecimal = bytes % 1e6 === 0 && bytes % KiB !== 0;
  return isDecimal ? `${bytes / 1e6}MB` : formatSize(bytes).replace(" ", "");
}

/** The `pinbench explain` command for a question. */
export function explainCommand(
  { name, needs }: Pick<Question, "name" | "needs">,
  {
    backend,
    devices: [first],
    torch: { python },
  }: Pick<Tools, "devices"> & {
    backend: Pick<Tools["backend"], "name">;
    torch: Pick<Tools["torch"], "python">;
  },
): string {
  const isOther = first !== undefined && first.ordinal !== 0;
  const isPlain = /^[\w@%+=:,./-]+$/.test(python);
  return [
    `pinbench explain ${name}`,
    ...(backend.name === "emulated" ? ["--backend emulated"] : []),
    ...(needs === "devices" ? ["--device all"] : isOther ? [`--device ${first.ordinal}`] : []),
    // Quoted, so that a shell takes any path unchanged.
    ...(needs !== "torch" || python === "python3"
      ? []
      : [`--python ${isPlain ? python : `'${python.replaceAll("'", "'\\''")}'`}`]),
  ].join(" ");
}
