import { hostRecord } from "../host/host-record.js";
import { choosePlacement } from "../measure/placement.js";
import { planFacts } from "../measure/plan-facts.js";
import { type Backend, openBackend } from "../native/backend.js";
import type { BuildInfo, DeviceFacts } from "../native/contract.js";
import { loadAddon } from "../native/load.js";
import type { FailedCandidate } from "../native/load-failure.js";
import { type Plan, plan } from "../plan/plan.js";
import type { HostRecord } from "../results/schema.js";
import { readCells } from "./cells-option.js";
import type { LoadedConfig } from "./config.js";
import { type RunFlags, toPlanRequest } from "./run-options.js";

export interface PreparedPlan {
  plan: Plan;
  backend: Backend;
  build: BuildInfo;
  host: HostRecord;
  /** Compiled modules that are there and do not load. */
  passedOver: readonly FailedCandidate[];
  /** The devices that the plan measures. */
  devices: DeviceFacts[];
}

/** All that comes before measuring: what is wrong with a request is found here. Throws PinbenchError. */
export async function preparePlan(flags: RunFlags, config: LoadedConfig): Promise<PreparedPlan> {
  const cells = flags.cells === undefined ? null : await readCells(flags.cells);
  const loaded = loadAddon();
  const backend = await openBackend(flags.backend, loaded);
  const { build } = loaded.addon;
  const host = { ...hostRecord(), ...statedCache(flags, config) };
  const planned = plan(toPlanRequest(flags, cells), planFacts(backend, build, host, flags.device));
  const devices = backend.facts.devices.filter(({ ordinal }) =>
    planned.cells.some((cell) => cell.device === ordinal),
  );
  for (const { pciBusId } of devices) choosePlacement(pciBusId, flags.numa);
  return { plan: planned, backend, build, host, passedOver: loaded.passedOver, devices };
}

/** A cold pool that is sized by a wrong cache is either not cold or needlessly large. */
function statedCache({ llc }: RunFlags, config: LoadedConfig): Partial<HostRecord> {
  if (llc === undefined) return {};
  const lastLevelCacheSource = llc === config.plan.llc ? "configuration" : "--llc";
  return { lastLevelCacheBytes: llc, lastLevelCacheSource };
}
