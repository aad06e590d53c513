import type { DeviceSharing } from "../host/device-sharing.js";
import type { PreparedRun } from "../measure/prepare.js";
import type { Labels } from "../settings/labels.js";
import { diagnose } from "./diagnose.js";
import type { Diagnosis } from "./diagnosis.js";
import { examine } from "./examine.js";
import type { SiteReference } from "./expectation.js";

/** What is diagnosed, since when, and who hears of it. */
export interface DiagnosisRequest {
  prepared: PreparedRun;
  /** Who else uses the devices, of a process that has announced itself; null where nobody else can. */
  sharing: DeviceSharing | null;
  isQuick: boolean;
  /** The site's own reference; null without one. */
  reference: SiteReference | null;
  labels: Labels;
  /** When the caller began, as a date and on the clock of performance.now(). */
  startedAt: Date;
  startedMs: number;
  /** On the same clock: when its time began to count, which is later where it has waited for its turn. */
  countedFromMs: number;
  signal: AbortSignal;
  /** What is being done, in words. */
  onActivity: (text: string) => void;
}

/** So long after the beginning nothing is begun that would end later: with what is over by itself, 20 s. */
const budgetMs = 17_000;

/** Examines a machine's devices and says what that comes to. Rejects as examine() does. */
export async function diagnoseMachine(request: DiagnosisRequest): Promise<Diagnosis> {
  const {
    prepared,
    sharing,
    isQuick,
    reference,
    labels,
    startedAt,
    startedMs,
    countedFromMs,
    signal,
    onActivity,
  } = request;
  const { backend, plan } = prepared;
  const examination = await examine({
    prepared,
    sharing,
    root: rootOf(prepared),
    isQuick,
    reference,
    endMs: countedFromMs + budgetMs,
    signal,
    onActivity,
  });
  return diagnose(examination, {
    backend: backend.name,
    sizeBytes: plan.cells[0]!.sizeBytes,
    createdAt: startedAt,
    wallNs: (performance.now() - startedMs) * 1e6,
    labels,
  });
}

/** Where the machine of these devices has its /proc and /sys. Of an emulated device the rest of the machine can be made up as well: a folder with its /proc and /sys. */
export function rootOf({ backend }: PreparedRun): string {
  return (backend.facts.emulated && process.env.PINBENCH_EMULATED_ROOT) || "/";
}
