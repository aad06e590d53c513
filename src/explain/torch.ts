import { fileURLToPath } from "node:url";
import { z } from "zod";
import { PinbenchError } from "../errors.js";
import { describeExit } from "../host/child.js";
import { type Exit, PythonProcess, type SpokenProgram } from "../host/python/python-process.js";
import { cannotBeStarted, pythonHint, readLine } from "../host/python/python-programs.js";
import type { QuestionName } from "../settings/choices.js";

/** Requests a question's experiment on a device, numbered as in torch. */
interface Command {
  type: "measure";
  question: QuestionName;
  device: number;
}

const measuredSchema = z.object({
  type: z.literal("measured"),
  /** "torch 2.11.0 of /usr/bin/python3, NVIDIA H200". */
  torch: z.string(),
  /** In ns, one per round. */
  times: z.record(z.string(), z.array(z.number().nonnegative())),
  facts: z.record(z.string(), z.union([z.number(), z.boolean()])),
});

const messageSchema = z.union([
  measuredSchema,
  /** Why it failed; "unavailable" if the machine lacks something. */
  z.object({
    type: z.literal("failed"),
    kind: z.enum(["unavailable", "measurement"]),
    message: z.string(),
    hint: z.string().nullable(),
  }),
]);

type Message = z.infer<typeof messageSchema>;

/** The Python program; the same path in src/ and dist/. */
const program: SpokenProgram<Message> = {
  path: fileURLToPath(new URL("program/main.py", import.meta.url)),
  read: (line) => readLine(line, messageSchema),
};

/**
 * The user's torch, in one process for all questions, because importing it takes seconds. Starts on first use, and
 * again after a question was cut short or the process ended.
 */
export class Torch {
  /** Path of the Python, or its name in PATH. */
  readonly python: string;
  readonly #device: number;
  #process: PythonProcess<Message, Command> | null = null;

  /** `device`: its number in torch, equal to the driver's. */
  constructor(python: string, device: number) {
    this.python = python;
    this.#device = device;
  }

  /**
   * Runs the question's module in program/pinbench_explain/. Rejects with a PinbenchError ("unavailable"
   * without a suitable torch or GPU) or the signal's reason; after an abort, nothing of it still runs.
   */
  async measure(question: QuestionName, signal: AbortSignal): Promise<z.infer<typeof measuredSchema>> {
    signal.throwIfAborted();
    if (this.#process === null || this.#process.ended !== null) {
      await this.close();
      this.#process = this.#start();
    }
    const reply = await this.#ask(this.#process, question, signal);
    if (reply.type === "measured") return reply;
    throw new PinbenchError(reply.kind, reply.message, reply.hint === null ? {} : { hint: reply.hint });
  }

  /** Ends the process, by force if necessary. */
  async close(): Promise<void> {
    const process = this.#process;
    this.#process = null;
    await process?.close();
  }

  async #ask(
    process: PythonProcess<Message, Command>,
    question: QuestionName,
    signal: AbortSignal,
  ): Promise<Message> {
    let abort = () => {};
    try {
      return await new Promise<Message>((resolve, reject) => {
        abort = () => reject(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        process.onMessage = resolve;
        process.exit.then((exit) => reject(this.#endedError(process, exit)));
        process.send({ type: "measure", question, device: this.#device });
      });
    } catch (error) {
      this.#process = null;
      await process.kill();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #start(): PythonProcess<Message, Command> {
    try {
      return new PythonProcess(this.python, program);
    } catch (error) {
      throw error instanceof PinbenchError ? error : this.#notStarted(error as NodeJS.ErrnoException);
    }
  }

  #notStarted(error: NodeJS.ErrnoException): PinbenchError {
    return new PinbenchError("unavailable", cannotBeStarted(this.python, error).message, {
      hint: pythonHint,
    });
  }

  #endedError(
    { stderrTail }: Pick<PythonProcess<Message, Command>, "stderrTail">,
    exit: Exit,
  ): PinbenchError {
    if (exit.error !== null) return this.#notStarted(exit.error);
    const output = stderrTail === null ? "" : ` Its last output: ${stderrTail.split("\n").at(-1)}`;
    return new PinbenchError("measurement", `${this.python} ${describeExit(exit)}.${output}`);
  }
}
