import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorKind, ExitCode, PinbenchError } from "../errors.js";
import { parseResult } from "../results/parse.js";
import type { RepeatSettings } from "../results/repeat-settings.js";
import type { ResultDocument } from "../results/schema.js";
import { repeatFlags } from "./repeat-flags.js";

export interface FreshProcessOptions {
  /** Path of bin/pinbench.js. */
  entry: string;
  /** Ends the measurement with what there is. */
  signal: AbortSignal;
}

/** A process that does not end by itself when it is asked to, ends by force. */
const forceMs = 5000;

/**
 * Measures these cells in a process of its own: `pinbench run`, in this one's environment. Resolves with its document
 * whatever its status and outcomes; rejects with a PinbenchError where there is none, in the process' own words.
 *
 * The process is tied to this one by an IPC channel over which nothing is sent. Closing it is how an abort asks the
 * process to end with what it has, and the kernel closes it when this process dies of whatever: none is left behind.
 * A SIGINT would not do for the abort, as the terminal's Ctrl-C has sent one already and the second one ends a run
 * without a document.
 */
export async function measureInFreshProcess(
  cellIds: readonly string[],
  settings: RepeatSettings,
  { entry, signal }: FreshProcessOptions,
): Promise<ResultDocument> {
  if (signal.aborted) throw interrupted();
  const args = [entry, "run", "--json", "--quiet", "--no-config", "--cells", "-", ...repeatFlags(settings)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe", "ipc"] });
  let force: NodeJS.Timeout | undefined;
  const abort = () => {
    if (child.connected) child.disconnect();
    force = setTimeout(() => child.kill("SIGKILL"), forceMs);
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    const finished = await finish(child, cellIds);
    // A Ctrl-C reaches both processes, and the end of that one may be seen before this one's own signal.
    if (wasInterrupted(finished)) {
      await sleep(ownSignalMs, undefined, { signal }).catch(() => undefined);
    }
    return documentOf(finished, signal.aborted);
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(force);
  }
}

/** How long after the end of an interrupted process its signal may take to be seen here. */
const ownSignalMs = 500;

interface Finished {
  /** Null for a process that a signal ended. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Hands the ids over and collects what the process says until it has ended. */
async function finish(child: ChildProcess, cellIds: readonly string[]): Promise<Finished> {
  // A process that ends without reading them (EPIPE) says itself what is wrong.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(`${cellIds.join("\n")}\n`);
  // Not "close", which never comes once this side has closed the channel.
  const exit = new Promise<Pick<Finished, "exitCode" | "signal">>((resolve, reject) => {
    child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    child.on("error", (cause: NodeJS.ErrnoException) => {
      reject(measurementError(`A measuring process did not start (${cause.code ?? cause.message}).`, cause));
    });
  });
  // Without descriptors to spare the process has no streams, only its error.
  const all = (stream: Readable | null) => (stream ? text(stream) : "");
  const [ended, stdout, stderr] = await Promise.all([exit, all(child.stdout), all(child.stderr)]);
  return { ...ended, stdout, stderr };
}

/** Exit codes that come with a document. */
const withDocument: readonly (number | null)[] = [
  ExitCode.ok,
  ExitCode.measurement,
  ExitCode.interrupted,
  ExitCode.terminated,
];

function wasInterrupted({ exitCode, signal }: Finished): boolean {
  if (signal === "SIGINT" || signal === "SIGTERM") return true;
  return exitCode === ExitCode.interrupted || exitCode === ExitCode.terminated;
}

function documentOf(finished: Finished, wasAborted: boolean): ResultDocument {
  const { exitCode, stdout } = finished;
  // One that was aborted may be killed after it has printed: giving back pinned memory can take a while.
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

/** Why there is no document, as the process said on stderr. */
function failureOf({ exitCode, signal, stderr }: Finished): PinbenchError {
  if (signal !== null) {
    return new PinbenchError("measurement", `A measuring process was killed (${signal}).`, {
      hint:
        signal === "SIGKILL"
          ? "Most likely the system ran out of memory, which the kernel log tells (dmesg); ask for smaller sizes."
          : "See the kernel log (dmesg).",
    });
  }
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  // What takes several lines goes on with indented ones.
  const ours =
    stderr.match(/^pinbench: .*(\n {2}.*)*/gm)?.map((text) => text.slice(10).replaceAll(/\s*\n\s*/g, " ")) ??
    [];
  const said = ours.length > 0 ? ours.join(" ") : lines.map((line) => line.trim()).join(" ");
  return new PinbenchError(
    kinds[exitCode ?? ExitCode.measurement] ?? "measurement",
    said || `A measuring process ended with exit code ${exitCode} and no output.`,
  );
}

function interrupted(): PinbenchError {
  return measurementError("Measuring was interrupted before there was a result.");
}

function measurementError(message: string, cause?: unknown): PinbenchError {
  return new PinbenchError("measurement", message, { cause });
}
