import { PinbenchError } from "../../errors.js";
import type { ProbeFacts } from "../probe.js";
import type { Message } from "./messages.js";
import { pythonHint, type TorchProbeOptions } from "./options.js";
import { type Exit, ProbeProcess } from "./process.js";
import { describeExit, exitHint } from "./trial-failures.js";
import { whereItHangs } from "./whereabouts.js";

export interface Opened {
  process: ProbeProcess;
  facts: ProbeFacts;
}

/**
 * Starts the Python program and has it make the data set and a first batch. Rejects with a PinbenchError, having left
 * nothing behind. `link`: time bare copies as well, for the facts.
 */
export async function open(options: TorchProbeOptions, { link }: { link: boolean }): Promise<Opened> {
  if (options.signal.aborted) throw interrupted();
  const { python, timeoutNs, signal, ...rest } = options;
  const probe = start(python);
  let abort = () => undefined as unknown;
  try {
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(interrupted());
      signal.addEventListener("abort", abort, { once: true });
    });
    // Of the device's measuring a step is a part, which may take longer than all else may.
    const stepNs = options.step === null || options.step === "auto" ? 0 : options.step.durationNs;
    const ready = waitUntilReady(probe, options, timeoutNs + stepNs);
    probe.send({ type: "open", link, ...rest });
    const facts = await Promise.race([ready, aborted]);
    return { process: probe, facts: { kind: "torch", source: options.target, ...facts } };
  } catch (error) {
    await probe.kill();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function start(python: string): ProbeProcess {
  try {
    return new ProbeProcess(python);
  } catch (error) {
    if (error instanceof PinbenchError) throw error;
    throw notStarted(python, error as NodeJS.ErrnoException);
  }
}

type Facts = (Message & { type: "ready" })["facts"];

function waitUntilReady(probe: ProbeProcess, options: TorchProbeOptions, timeoutNs: number): Promise<Facts> {
  let phase: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const result = new Promise<Facts>((resolve, reject) => {
    const giveUp = () => {
      hung(probe, phase, timeoutNs).then(reject, reject);
    };
    const waitOn = () => {
      clearTimeout(timer);
      if (!isSettled) timer = setTimeout(giveUp, timeoutNs / 1e6);
    };
    waitOn();
    probe.onMessage = (message) => {
      if (message.type === "phase") {
        phase = message.phase;
        waitOn();
      } else if (message.type === "ready") resolve(message.facts);
      else if (message.type === "refused") reject(refusal(message));
    };
    probe.exit.then((exit) => reject(ended(probe, exit, phase, options.python)));
  });
  return result.finally(() => {
    isSettled = true;
    clearTimeout(timer);
  });
}

function refusal({ kind, message, hint, traceback }: Message & { type: "refused" }): PinbenchError {
  return new PinbenchError(kind, message, {
    ...(hint === null ? {} : { hint }),
    ...(traceback === null ? {} : { cause: new Error(traceback) }),
  });
}

async function hung(probe: ProbeProcess, phase: string | null, timeoutNs: number): Promise<PinbenchError> {
  const where = await whereItHangs(probe);
  const at = where === null ? "" : ` (at ${where.place})`;
  const doing = phase ?? "Python was being started";
  return new PinbenchError(
    "measurement",
    `Nothing happened for ${timeoutNs / 1e9} s while ${doing}${at}.`,
    where === null ? {} : { cause: new Error(where.traceback) },
  );
}

/** Why a program that ended by itself has not become ready. */
function ended(probe: ProbeProcess, exit: Exit, phase: string | null, python: string): PinbenchError {
  if (exit.error !== null) return notStarted(python, exit.error);
  const tail = probe.stderrTail;
  const cause = tail === "" ? {} : { cause: new Error(tail) };
  if (phase === null) {
    const said = tail === "" ? "" : ` It said: ${tail.split("\n").at(-1)}`;
    return new PinbenchError(
      "usage",
      `${python} ${describeExit(exit)} instead of running the probe.${said}`,
      {
        hint: pythonHint,
        ...cause,
      },
    );
  }
  const said = tail === "" ? "" : ` Its last words: ${tail.split("\n").at(-1)}`;
  return new PinbenchError("measurement", `Python ${describeExit(exit)} while ${phase}.${said}`, {
    hint: exitHint(exit) ?? "The same must happen in a script that makes one batch without workers.",
    ...cause,
  });
}

function notStarted(python: string, error: NodeJS.ErrnoException): PinbenchError {
  const message =
    error.code === "ENOENT"
      ? `There is no ${python}.`
      : `${python} cannot be run (${error.code ?? error.message}).`;
  return new PinbenchError("usage", message, { hint: pythonHint, cause: error });
}

function interrupted(): PinbenchError {
  return new PinbenchError("measurement", "Opening the data set was interrupted.");
}
