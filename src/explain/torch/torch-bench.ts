import { fileURLToPath } from "node:url";
import { PinbenchError } from "../../errors.js";
import { type Exit, ProbeProcess, type SpokenProgram } from "../../tune/torch/probe-process.js";
import { describeExit } from "../../tune/torch/torch-failures.js";
import { cannotBeStarted, pythonHint } from "../../tune/torch/torch-probe.js";
import {
  type ExperimentName,
  type ProgramCommand,
  type ProgramMessage,
  readProgramMessage,
  type TorchExperiments,
  type TorchFacts,
} from "./program-messages.js";

/** The Python program; its path is the same in src/ and in dist/. */
const explainProgram: SpokenProgram<ProgramMessage> = {
  path: fileURLToPath(new URL("program/main.py", import.meta.url)),
  read: readProgramMessage,
};

type ProgramProcess = ProbeProcess<ProgramMessage, ProgramCommand>;

/**
 * The user's torch, in one process for all questions, because importing it takes seconds: started on first use, and
 * again if it was cut short.
 */
export class TorchBench {
  /** The Python: a path, or a name in PATH. */
  readonly python: string;
  readonly #device: number;
  #open: { process: ProgramProcess; facts: TorchFacts } | null = null;
  /** Why there is no torch, or not in time: it is not tried again. */
  #missing: PinbenchError | null = null;

  /** `device`: its number in torch, which is the driver's. */
  constructor(python: string, device: number) {
    this.python = python;
    this.#device = device;
  }

  /**
   * The facts on this torch. Rejects with a PinbenchError of the kind `unavailable` if there is none, and with the
   * signal's reason.
   */
  async facts(signal: AbortSignal): Promise<TorchFacts> {
    return (await this.#ready(signal)).facts;
  }

  /**
   * The figures of an experiment. Rejects with a PinbenchError if it fails, and like facts(); after the signal, all of
   * its processes have ended.
   */
  async measure<Name extends ExperimentName>(
    experiment: Name,
    options: TorchExperiments[Name]["options"],
    signal: AbortSignal,
  ): Promise<TorchExperiments[Name]["figures"]> {
    const { process } = await this.#ready(signal);
    const said = await this.#said(process, signal, () =>
      process.send({ type: "measure", experiment, options } as ProgramCommand),
    );
    if (said.type === "figures" && said.experiment === experiment) {
      return said.figures as TorchExperiments[Name]["figures"];
    }
    const { kind, message, hint } =
      said.type === "failed"
        ? said
        : ({ kind: "measurement", message: `it said "${said.type}"`, hint: null } as const);
    throw new PinbenchError(kind, `${message}.`, hint === null ? {} : { hint });
  }

  /** Ends the process, by force if necessary. */
  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.process.close();
  }

  async #ready(signal: AbortSignal): Promise<{ process: ProgramProcess; facts: TorchFacts }> {
    if (this.#missing !== null) throw this.#missing;
    if (this.#open?.process.ended === null) return this.#open;
    await this.close();
    signal.throwIfAborted();
    const process = this.#start();
    const said = await this.#said(process, signal, () =>
      process.send({ type: "open", device: this.#device }),
    ).catch((error: unknown) => {
      // The next question would wait just as long for nothing.
      if (signal.aborted) {
        this.#missing = new PinbenchError(
          "measurement",
          `${this.python} had not imported torch within the first question's time.`,
          { hint: pythonHint },
        );
      }
      throw error;
    });
    if (said.type === "ready") {
      const { type: _, ...facts } = said;
      this.#open = { process, facts };
      return this.#open;
    }
    await process.kill();
    const [message, hint] =
      said.type === "refused" ? [said.message, said.hint] : [`It said "${said.type}".`, null];
    throw this.#isMissing(message, hint ?? pythonHint);
  }

  #start(): ProgramProcess {
    try {
      return new ProbeProcess<ProgramMessage, ProgramCommand>(this.python, explainProgram);
    } catch (error) {
      if (error instanceof PinbenchError) throw error;
      throw this.#isMissing(cannotBeStarted(this.python, error as NodeJS.ErrnoException).message, pythonHint);
    }
  }

  #isMissing(message: string, hint: string): PinbenchError {
    this.#missing = new PinbenchError("unavailable", message, { hint });
    return this.#missing;
  }

  /** The next message after `ask`. If the process ends instead, or the signal comes first, nothing of it is left. */
  async #said(process: ProgramProcess, signal: AbortSignal, ask: () => void): Promise<ProgramMessage> {
    let abort = () => {};
    try {
      return await new Promise<ProgramMessage>((resolve, reject) => {
        abort = () => reject(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        process.onMessage = resolve;
        process.exit.then((exit) => reject(this.#endedError(process, exit)));
        if (signal.aborted) abort();
        else ask();
      });
    } catch (error) {
      if (this.#open?.process === process) this.#open = null;
      await process.kill();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #endedError(process: ProgramProcess, exit: Exit): PinbenchError {
    if (exit.error !== null) {
      return this.#isMissing(cannotBeStarted(this.python, exit.error).message, pythonHint);
    }
    const lastWords = process.stderrTail?.split("\n").at(-1);
    const said = lastWords === undefined ? "" : ` Its last output: ${lastWords}`;
    return new PinbenchError("measurement", `${this.python} ${describeExit(exit)}.${said}`);
  }
}
