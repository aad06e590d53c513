import type { Backend } from "../native/backend.js";
import type { NativeSession } from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import type { ResultDocument } from "../results/schema.js";
import type { Given } from "../settings/setting.js";
import { runSettings } from "../settings/table.js";
import { formatDuration, formatSize, KiB } from "../settings/units.js";
import type { ExplainedAnswer, QuestionText } from "./explanation.js";
import type { TorchBench } from "./torch/torch-bench.js";

/** What an experiment measures: given as to `pinbench run`, but for the backend, which is that of all questions. */
export type RunRequest = Omit<Given<typeof runSettings>, "backend">;

/** What questions measure with. All calls end early where `signal` is aborted. */
export interface Tools {
  /** Ends the experiment: an interruption, or the end of the question's time. */
  signal: AbortSignal;
  backend: Backend;
  /** The devices that were asked for; experiments on one device take the first. */
  devices: DeviceFacts[];
  /** The user's torch, which starts when it is asked for the first time. */
  torch: TorchBench;
  /** What is being done, in words. */
  onActivity: (text: string) => void;
  /**
   * Measures as `pinbench run` does, in this process, on the first device unless the request says otherwise. Rejects with
   * a PinbenchError where it cannot be planned, the run failed or is cut short, or data came back wrong.
   */
  run(request: RunRequest): Promise<ResultDocument>;
  /** The same in a process of its own, which creates its own context. */
  runInFreshProcess(request: RunRequest): Promise<ResultDocument>;
  /** Does `work` in a session of its own on the first device, whose memory is given back with it. */
  inSession<Result>(work: (session: NativeSession) => Promise<Result>): Promise<Result>;
  /** `pinbench run` with the flags that ask for the same. */
  commandFor(request: RunRequest): string;
}

/** What was measured for a question, and what that makes of its claim. */
export type Answer = Pick<ExplainedAnswer, "verdict" | "figures" | "sentences" | "command"> &
  Partial<Pick<ExplainedAnswer, "parts">>;

/** What figures make of a claim: what a question's pure function returns. */
export type Conclusion = Omit<Answer, "command">;

/** One of the experiments that articles make, or ought to. */
export interface Question extends QuestionText {
  /** After so long the experiment is ended, and the claim cannot be told. */
  mostMs: number;
  /** Rejects with whatever failed; what this machine lacks is an answer, "inconclusive" with its reason. */
  answer(tools: Tools): Promise<Answer>;
}

const inBytes: readonly string[] = ["sizesBytes", "lastLevelCacheBytes", "stagingChunkBytes"];
const inNanoseconds: readonly string[] = ["budgetNs"];

/** `pinbench run` with the flags of a request. */
export function commandOf(request: RunRequest, isEmulated: boolean): string {
  const flags = Object.entries(request).flatMap(([key, value]) => {
    const [name] = runSettings[key as keyof typeof runSettings].flag.split(" ");
    if (value === true) return [name];
    const write = (one: unknown) =>
      inBytes.includes(key)
        ? sizeText(one as number)
        : inNanoseconds.includes(key)
          ? formatDuration(one as number).replace(" ", "")
          : String(one);
    return [name, [value].flat().map(write).join(",")];
  });
  return ["pinbench run", ...(isEmulated ? ["--backend emulated"] : []), ...flags].join(" ");
}

/** A size as a flag has it: decimal where it was meant so, as in 40MB. */
function sizeText(bytes: number): string {
  const isDecimal = bytes % 1e6 === 0 && bytes % KiB !== 0;
  return isDecimal ? `${bytes / 1e6}MB` : formatSize(bytes).replace(" ", "");
}

/** `pinbench explain` with the flags that ask a question again. */
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
    // Whatever a path has in it, a shell takes it as it is.
    ...(needs !== "torch" || python === "python3"
      ? []
      : [`--python ${isPlain ? python : `'${python.replaceAll("'", "'\\''")}'`}`]),
  ].join(" ");
}
