import { PinbenchError } from "../errors.js";
import type { NativeError } from "../native/contract.js";
import type { ErrorRecord, ResultDocument } from "../results/schema.js";
import { type CellProgress, toErrorRecord } from "./cell-progress.js";
import { type DeviceRun, measureDevice, startDeviceRun } from "./device-run.js";
import { buildDocument, type RunIdentity } from "./document.js";
import { choosePlacement, type NumaChoice } from "./placement.js";

export interface RunHooks {
  onActivity(activity: string): void;
  onCell(progress: CellProgress, round: number, all: readonly CellProgress[]): void;
  /** After each round, with the document so far. */
  onRound(document: () => ResultDocument): Promise<void>;
}

/**
 * Carries out a plan, one device after the other, and returns the finished document: "complete", "aborted" when
 * `signal` was, or "failed" where a device could not be measured at all. What the user can put right
 * (a NUMA node, too little free device memory) rejects as a PinbenchError.
 */
export async function runPlan(
  identity: RunIdentity,
  options: { numa: NumaChoice },
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<ResultDocument> {
  const { plan, backend } = identity;
  const wanted = new Set(plan.cells.map((cell) => cell.device));
  const devices: DeviceRun[] = backend.facts.devices
    .filter(({ ordinal }) => wanted.has(ordinal))
    .map((device) => startDeviceRun(device, choosePlacement(device.pciBusId, options.numa), plan));
  const all = devices.flatMap(({ cells }) => cells);
  const documentOf = (
    status: ResultDocument["run"]["status"],
    error: ResultDocument["run"]["error"] = null,
  ) => buildDocument(identity, { status, error, numa: options.numa, devices });

  // A device that fails leaves the others to be measured, unless the error is the process' own.
  let failure: ErrorRecord | null = null;
  const startedMs = performance.now();
  for (const [i, device] of devices.entries()) {
    const leftNs = plan.stopping.budgetNs - (performance.now() - startedMs) * 1e6;
    // A device that needed more than its share takes from those after it, which still get their least samples.
    const budgetNs = i === 0 ? plan.stopping.budgetNs / devices.length : leftNs / (devices.length - i);
    try {
      await measureDevice(
        device,
        backend.driver,
        plan,
        backend.facts.initNs,
        budgetNs,
        options.numa !== "local",
        {
          onActivity: hooks.onActivity,
          onCell: (progress, round) => hooks.onCell(progress, round, all),
          onRound: (round) => {
            device.rounds = round + 1;
            return hooks.onRound(() => documentOf("running"));
          },
        },
        signal,
      );
    } catch (error) {
      if (error instanceof PinbenchError) throw error;
      failure ??= toErrorRecord(error as NativeError);
    }
    if (signal.aborted) return documentOf("aborted");
    const lost = device.cells.find(({ error }) => error?.sticky)?.error ?? null;
    if (lost !== null || failure?.sticky) return documentOf("failed", lost ?? failure);
  }
  return failure === null ? documentOf("complete") : documentOf("failed", failure);
}
