import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorKind, ExitCode, errorCode, PinbenchError, signalExitCodes } from "../errors.js";
import { hasRoomForProcesses, noRoomForProcesses } from "../host/processes.js";
import { shortageOf } from "../machine-shortage.js";
import { parseResult } from "../results/parse.js";
import type { ResultDocument } from "../results/schema.js";
import type { RunSettings } from "../settings/table.js";

interface FreshProcessOptions {
  /** The program to run, bin/pinbench.js. */
  entry: string;
  /** Ends the measurement early, with the results so far. */
  signal: AbortSignal;
}

export type SeriesEvent =
  | { kind: "start"; run: number }
  | { kind: "result"; run: number; document: ResultDocument };

/**
 * Measures the same settings in `runs` fresh processes, one after the other. The consumer may stop after any event. An
 * abort ends it and drops the unfinished result. Rejects with the PinbenchError of a process without a result.
 */
export async function* measureInFreshProcesses(
  settings: RunSettings,
  runs: number,
  options: FreshProcessOptions,
): AsyncGenerator<SeriesEvent, void> {
  const { signal } = options;
  for (let run = 0; run < runs && !signal.aborted; ++run) {
    yield { kind: "start", run };
    const document = await measureInFreshProcess(settings, options).catch((error) => {
      // Drops a process that was aborted before it had a result.
      if (signal.aborted) return null;
      throw error;
    });
    if (document === null || signal.aborted) return;
    yield { kind: "result", run, document };
  }
}

/** Kills a process that still runs this long after an abort. Normally it ends within 2 s (cli/interruption.ts). */
const forceMs = 2500;

/**
 * Measures in a new process with the same environment: `pinbench measure`, which reads settings as JSON from stdin.
 * Resolves with its document whatever its status and outcomes; without one, rejects with a PinbenchError in its own
 * words. An IPC channel connects both processes, and carries no messages: an abort closes it, which asks the process to
 * end with its results, and the kernel closes it if this process dies. An abort must not use SIGINT: Ctrl-C at the
 * terminal has sent one already, and a second one ends a run without a document.
 */
export async function measureInFreshProcess(
  settings: RunSettings,
  { entry, signal }: FreshProcessOptions,
): Promise<ResultDocument> {
  if (signal.aborted) throw interrupted();
  // Without room for its threads the process may hang.
  if (!hasRoomForProcesses(1)) throw notStarted(noRoomForProcesses());
  const child = startMeasuring(entry);
  let force: NodeJS.Timeout | undefined;
  const abort = () => {
    if (child.connected) child.disconnect();
    force = setTimeout(() => child.kill("SIGKILL"), forceMs);
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    const finished = await finish(child, settings);
    // Ctrl-C reaches both processes; the other one's end may be noticed before this one's own signal.
    if (wasInterrupted(finished)) {
      await sleep(ownSignalMs, undefined, { signal }).catch(() => undefined);
    }
    return documentOf(finished, signal.aborted);
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(force);
  }
}

function startMeasuring(entry: string): ChildProcess {
  try {
    return spawn(process.execPath, [entry, "measure"], { stdio: ["pipe", "pipe", "pipe", "ipc"] });
  } catch (error) {
    throw notStarted(error);
  }
}

function notStarted(cause: unknown): PinbenchError {
  const what = "A measuring process did not start";
  return (
    shortageOf(cause, what) ?? measurementError(`${what} (${errorCode(cause) ?? String(cause)}).`, cause)
  );
}

/** How long to wait for this process' own signal after an interrupted process has ended. */
const ownSignalMs = 500;

/** The exit code is null if a signal ended it. */
type Finished = Awaited<ReturnType<typeof finish>>;

/** Sends the settings, and collects the output until the process ends. */
async function finish(child: ChildProcess, settings: RunSettings) {
  // If the process ends without reading them (EPIPE), it reports why itself.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(JSON.stringify(settings));
  // The event "close" never comes after this side has closed the channel.
  const exit = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    child.on("error", (cause) => reject(notStarted(cause)));
  });
  // Without free descriptors there are no streams, only the error.
  const all = (stream: Readable | null) => (stream ? text(stream) : "");
  const [ended, stdout, stderr] = await Promise.all([exit, all(child.stdout), all(child.stderr)]);
  return { ...ended, stdout, stderr };
}

const signalCodes: readonly (number | null)[] = Object.values(signalExitCodes);

/** Exit codes of processes with a document. */
const withDocument: readonly (number | null)[] = [
  ExitCode.ok,
  ExitCode.measurement,
  ExitCode.wrongData,
  ...signalCodes,
];

function wasInterrupted({ exitCode, signal }: Finished): boolean {
  return signalCodes.includes(exitCode) || (signal !== null && signal in signalExitCodes);
}

function documentOf(finished: Finished, wasAborted: boolean): ResultDocument {
  const { exitCode, stdout } = finished;
  // A process that was aborted may be killed after printing, because freeing pinned memory can take a while.
  if (stdout === "" || !(withDocument.includes(exitCode) || wasAborted)) {
    throw wasAborted ? interrupted() : failureOf(finished);
  }
  try {
    return parseResult(stdout, "what a measuring process printed");
  } catch (cause) {
    throw wasAborted ? interrupted() : measurementError((cause as Error).message, cause);
  }
}

const kinds: Readonly<Record<number, ErrorKind>> = {
  [ExitCode.usage]: "usage",
  [ExitCode.unavailable]: "unavailable",
};

/** The error for a missing document, from the process' stderr. */
function failureOf({ exitCode, signal, stderr }: Finished): PinbenchError {
  if (signal !== null) {
    return new PinbenchError("measurement", `A measuring process was killed (${signal}).`, {
      hint:
        signal === "SIGKILL"
          ? "Most likely the system ran out of memory, see the kernel log (dmesg); ask for smaller sizes."
          : "Node ends like this if it gets no memory or thread (ulimit -v, ulimit -u); else see the kernel log (dmesg).",
    });
  }
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  // Continuation lines of a message are indented.
  const ours =
    stderr.match(/^pinbench: .*(\n {2}.*)*/gm)?.map((text) => text.slice(10).replaceAll(/\s*\n\s*/g, " ")) ??
    [];
  const message = ours.length > 0 ? ours.join(" ") : lines.map((line) => line.trim()).join(" ");
  return new PinbenchError(
    kinds[exitCode ?? ExitCode.measurement] ?? "measurement",
    message || `A measuring process ended with exit code ${exitCode} and no output.`,
  );
}

function interrupted(): PinbenchError {
  return measurementError("Measuring was interrupted before there was a result.");
}

function measurementError(message: string, cause?: unknown): PinbenchError {
  return new PinbenchError("measurement", message, { cause });
}
