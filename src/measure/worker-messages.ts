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
import type { WeightsPass, WeightsRequest } from "../native/loader-contract.js";
import type { BackendName } from "../settings/choices.js";

/* Messages between a pool and its worker processes over IPC. Node's "advanced" serialization keeps typed arrays. */

/** The device, CPUs and NUMA node of a worker process. */
export interface WorkerOptions {
  backend: BackendName;
  session: Omit<SessionOptions, "seed" | "reportsNodes">;
}

/** Where calls of several processes meet: path of the pool's rendezvous, and this call's first flow. */
interface RemoteCompany {
  path: string;
  flow: number;
}

export interface WorkerCalls {
  open: { args: [WorkerOptions]; result: SessionOpening };
  reserveDevice: { args: [ArenaGeometry]; result: undefined };
  reserveHost: { args: [ArenaKind, ArenaGeometry]; result: ArenaReport };
  reserveStaging: { args: [StagingRing]; result: undefined };
  measure: { args: [Omit<MeasureRequest, "company">, RemoteCompany]; result: MeasureResult };
  loadWeights: { args: [WeightsRequest]; result: WeightsPass };
  /** Frees everything; no call follows. */
  close: { args: []; result: undefined };
}

export type WorkerCallName = keyof WorkerCalls;

/** A call as a message; calls are answered in order. `abort` takes effect at once and has no answer. */
export type WorkerCall =
  | { [Name in WorkerCallName]: { call: Name; args: WorkerCalls[Name]["args"] } }[WorkerCallName]
  | { call: "abort" };

/** An answer to the oldest unanswered call. */
export type WorkerAnswer = { result: WorkerCalls[WorkerCallName]["result"] } | { error: SentError };

/** The error of a failed call, without fields that only its own process can use. */
type SentError = Pick<NativeError, "message" | "code" | "cudaResult" | "call" | "location" | "sticky">;

/** The same error as an object of this process. */
export function receivedError({ message, ...details }: SentError): NativeError {
  return Object.assign(new Error(message), details);
}

/** Any error as a message. One without a code is a bug in pinbench, or a message for the user. */
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
