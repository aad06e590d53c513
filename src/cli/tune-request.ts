import { machineLimits } from "../tune/machine-limits.js";
import type { TuneRequest } from "../tune/tune-loader.js";
import type { TuneFlags } from "./tune-options.js";

/** The request of the flags; `identity` is whose it is and when it began. */
export function tuneRequest(
  flags: TuneFlags,
  identity: Pick<TuneRequest, "version" | "argv" | "startedAt" | "startedMs">,
): TuneRequest {
  return {
    limits: machineLimits(flags.ranks),
    maxWorkers: flags.maxWorkers ?? null,
    budgetNs: flags.budget,
    epochBatches: flags.epochBatches ?? null,
    timeoutNs: flags.timeout,
    exhaustive: flags.exhaustive ?? false,
    ...identity,
  };
}
