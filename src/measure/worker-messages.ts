import type {
  ArenaGeometry,
  ArenaKind,
  ArenaReport,
  MeasureRequest,
  MeasureResult,
  NativeError,
  SessionOpening,
  SessionOptions,
  StagingRing,
} from "../native/contract.js";
import type { BackendName, WatchedCall } from "../settings/choices.js";

/*
 * What a pool and its worker processes say to each other over the IPC channel, in Node's "advanced" serialization, which
 * keeps typed arrays.
 */

/** What a worker process is to measure on. */
export interface WorkerOptions {
  backend: BackendName;
  session: SessionOptions;
}

/** Where the calls of several processes meet: the path of a rendezvous of the pool's process, and the first flow. */
export interface RemoteCompany {
  path: string;
  flow: number;
}

/** What a worker process can be asked for: the arguments and the result of each call. */
export interface WorkerCalls {
  open: { args: [WorkerOptions]; result: SessionOpening };
  reserveDevice: { args: [ArenaGeometry]; result: ArenaReport };
  reserveHost: { args: [ArenaKind, ArenaGeometry]; result: ArenaReport };
  reserveStaging: { args: [StagingRing]; result: ArenaReport };
  measure: { args: [Omit<MeasureRequest, "company">, RemoteCompany]; result: MeasureResult };
  /** Makes the watched calls from now on, those that the machine has. */
  watch: { args: []; result: undefined };
  /** Ends them, and tells when each was answered; `atNs` of LoadCompletions. */
  endWatch: { args: []; result: Partial<Record<WatchedCall, Float64Array>> };
  /** Gives everything back; nothing is asked for after that. */
  close: { args: []; result: undefined };
}

/** The names of the calls. */
export type WorkerCallName = keyof WorkerCalls;

/** A call as it is sent; answered in the order of arrival. `abort` is not: it is obeyed at once, and not answered. */
export type WorkerCall =
  | { [Name in WorkerCallName]: { call: Name; args: WorkerCalls[Name]["args"] } }[WorkerCallName]
  | { call: "abort" };

/** An answer, to the oldest call that has none. */
export type WorkerAnswer = { result: WorkerCalls[WorkerCallName]["result"] } | { error: SentError };

/** A failed call's error without what only its own process can use. */
export type SentError = Pick<NativeError, "message" | "code" | "cudaResult" | "call" | "location" | "sticky">;

/** The same error as an object of this process. */
export function receivedError({ message, ...details }: SentError): NativeError {
  return Object.assign(new Error(message), details);
}

/** An error of any kind as it is sent; what has no code is a fault in pinbench, or a message for the user. */
export function sentError(error: unknown): SentError {
  const { message, code, cudaResult, call, location, sticky } = Object(error) as Partial<NativeError>;
  return {
    message: message ?? String(error),
    code: code ?? "INTERNAL",
    cudaResult: cudaResult ?? null,
    call: call ?? null,
    location: location ?? "",
    sticky: sticky ?? false,
  };
}
