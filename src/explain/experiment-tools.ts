import { PinbenchError } from "../errors.js";
import type { DeviceSharing } from "../host/device-sharing.js";
import { choosePlacement } from "../host/placement.js";
import { measureInFreshProcess } from "../measure/fresh-process.js";
import { type PreparedRun, prepareRun } from "../measure/prepare.js";
import { Run } from "../measure/run.js";
import { openBackend } from "../native/backend.js";
import type { NativeSession } from "../native/contract.js";
import { loadAddon } from "../native/load.js";
import { programPath } from "../package-facts.js";
import { selectDevices } from "../plan/facts.js";
import type { ResultDocument } from "../results/schema.js";
import type { BackendChoice } from "../settings/choices.js";
import { fillRunSettings } from "../settings/settings.js";
import type { RunSettings } from "../settings/table.js";
import { formatSize } from "../settings/units.js";
import { commandOf, type RunRequest, type Tools } from "./question.js";
import type { TorchBench } from "./torch/torch-bench.js";

/** On what all questions are answered. */
export interface Bench {
  prepared: Pick<PreparedRun, "backend" | "devices">;
  sharing: DeviceSharing | null;
  torch: TorchBench;
  /** As the caller chose. */
  settings: { backend: BackendChoice; lastLevelCacheBytes: number | null; python: string | null };
  onActivity: (text: string) => void;
}

/**
 * Opens a driver, and says which of its devices are asked. Rejects with a PinbenchError where there is no such driver or
 * device.
 */
export async function openDevices({
  backend: choice,
  devices: wanted,
}: {
  backend: BackendChoice;
  devices: readonly number[] | "all";
}): Promise<Pick<PreparedRun, "backend" | "devices" | "passedOver">> {
  const loaded = loadAddon();
  const backend = await openBackend(choice, loaded);
  const { devices } = backend.facts;
  const ordinals = selectDevices(
    { devices: devices.map((device) => ({ ...device, freeMemoryBytes: null })) },
    wanted,
  ).map(({ ordinal }) => ordinal);
  const { passedOver } = loaded;
  return { backend, passedOver, devices: devices.filter(({ ordinal }) => ordinals.includes(ordinal)) };
}

/** The tools of one question, which end with `signal`. */
export function toolsOn(bench: Bench, signal: AbortSignal): Tools {
  const { prepared, onActivity } = bench;
  return {
    signal,
    onActivity,
    backend: prepared.backend,
    devices: prepared.devices,
    torch: bench.torch,
    run: async (request) => {
      const call = { argv: [], startedAt: new Date(), startedMs: performance.now() };
      const planned = await prepareRun(settingsOf(bench, request));
      const run = new Run({ ...call, ...planned, sharing: bench.sharing });
      for await (const event of run.measure(signal)) {
        if (event.kind !== "visit") continue;
        const { memory, sizeBytes } = event.progress.cell;
        onActivity(`${memory} copies of ${formatSize(sizeBytes)}`);
      }
      return wholeResult(run.document());
    },
    runInFreshProcess: async (request) =>
      wholeResult(await measureInFreshProcess(settingsOf(bench, request), { entry: programPath, signal })),
    inSession: (work) => inSession(prepared, signal, work),
    commandFor: (request) => commandOf(withBench(bench, request), prepared.backend.name === "emulated"),
  };
}

async function inSession<Result>(
  { backend, devices: [device] }: Bench["prepared"],
  signal: AbortSignal,
  work: (session: NativeSession) => Promise<Result>,
): Promise<Result> {
  if (device === undefined) throw new PinbenchError("unavailable", "there is no device.");
  const { cpus, threads } = choosePlacement(device.pciBusId, "local");
  const options = { device: device.ordinal, cpus, threads, numaNode: null, seed: 1 };
  const session = await backend.driver.openSession(options);
  const abort = () => session.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    return await work(session);
  } finally {
    signal.removeEventListener("abort", abort);
    await session.close();
  }
}

/**
 * Holds the contexts of devices open while questions are answered, so that each of their runs need not create one anew.
 * Resolves with what lets go of them. A device that cannot be opened is the run's to report.
 */
export async function keepContexts(
  backend: PreparedRun["backend"],
  devices: PreparedRun["devices"],
): Promise<() => Promise<void>> {
  const sessions: NativeSession[] = [];
  for (const { ordinal, pciBusId } of devices) {
    const { cpus } = choosePlacement(pciBusId, "local");
    const options = { device: ordinal, cpus, threads: 1, numaNode: null, seed: 1 };
    const session = await backend.driver.openSession(options).catch(() => null);
    if (session !== null) sessions.push(session);
  }
  return async () => {
    await Promise.allSettled(sessions.map((session) => session.close()));
  };
}

function settingsOf(bench: Bench, request: RunRequest): RunSettings {
  const { backend } = bench.settings;
  return fillRunSettings({ origin: "caller", given: { backend, ...withBench(bench, request) } });
}

/** The request on the devices and with the cache that were asked for. */
function withBench({ prepared, settings }: Bench, request: RunRequest): RunRequest {
  const [first] = prepared.devices;
  const { lastLevelCacheBytes } = settings;
  return {
    ...(first === undefined || first.ordinal === 0 ? {} : { devices: [first.ordinal] }),
    ...(lastLevelCacheBytes === null ? {} : { lastLevelCacheBytes }),
    ...request,
  };
}

/** The document, where it is whole, and nothing in it failed or came back wrong. Throws a PinbenchError. */
export function wholeResult(document: ResultDocument): ResultDocument {
  const { status, error } = document.run;
  if (status === "aborted") throw new PinbenchError("measurement", "the measurement was cut short.");
  if (error !== null) throw new PinbenchError("measurement", error.message);
  for (const cell of document.cells) {
    if (cell.outcome === "mismatch") {
      throw new PinbenchError("measurement", `data came back wrong from ${cell.id}.`);
    }
    if (cell.error !== null) throw new PinbenchError("measurement", cell.error.message);
  }
  return document;
}
