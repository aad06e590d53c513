import type { PreparedRun } from "../measure/prepare.js";
import type { NativeSession } from "../native/contract.js";
import type { ResultDocument } from "../results/schema.js";
import type { QuestionName } from "../settings/choices.js";
import type { Given } from "../settings/setting.js";
import type { runSettings } from "../settings/table.js";
import type { ExplainedAnswer } from "./explanation.js";
import type { TorchBench } from "./torch/torch-bench.js";

/** What an experiment measures: given as to `pinbench run`, but for the backend, which is that of all questions. */
export type RunRequest = Omit<Given<typeof runSettings>, "backend">;

/** What questions measure with. All calls end early where `signal` is aborted. */
export interface Tools {
  /** Ends the experiment: an interruption, or the end of the question's time. */
  signal: AbortSignal;
  backend: PreparedRun["backend"];
  /** The devices that were asked for; experiments on one device take the first. */
  devices: PreparedRun["devices"];
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
export interface Question {
  name: QuestionName;
  /** One line for a list: a question. */
  title: string;
  /** What articles say. */
  claim: string;
  /** What there must be: a device, several, or the user's Python with torch. */
  needs: "device" | "devices" | "torch";
  /** After so long the experiment is ended, and the claim cannot be told. */
  mostMs: number;
  /** Rejects with whatever failed; what this machine lacks is an answer, "cannot be told" with its reason. */
  answer(tools: Tools): Promise<Answer>;
}
