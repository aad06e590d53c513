// Opens a session on a real or emulated device, for benchmarks that call the engine directly.
import { hostRecord } from "../../dist/host/machine-load.js";
import { choosePlacement } from "../../dist/host/topology.js";
import { openBackend } from "../../dist/native/backend.js";
import { loadAddon } from "../../dist/native/load.js";

export const KiB = 1024;
export const MiB = 1024 * KiB;
export const GiB = 1024 * MiB;

export async function openSession(backendName) {
  const backend = await openBackend(backendName, loadAddon());
  const [device] = backend.facts.devices;
  const openAnother = () =>
    backend.driver.openSession({
      device: device.ordinal,
      seed: 1,
      ...choosePlacement(device.pciBusId, "local"),
    });
  return { backend, device, session: await openAnother(), openAnother, host: hostRecord() };
}

/** A request with defaults for most benchmarks. */
export function request(fields) {
  return {
    mode: "throughput",
    cache: "warm",
    workers: 1,
    buffers: 1,
    firstBuffer: 0,
    warmupCopies: 4,
    warmupBytes: Math.min(fields.sizeBytes, 4 * MiB),
    samples: 10,
    verify: "last",
    readLink: false,
    ...fields,
  };
}

/** Throws on wrong data, because the figures would be meaningless. */
export async function measure(session, fields) {
  const result = await session.measure(request(fields));
  if (result.verification.mismatches.length > 0) {
    throw new Error(`data came back wrong: ${JSON.stringify(result.verification.mismatches[0])}`);
  }
  return result.columns.map(({ durationNs }) => Array.from(durationNs));
}
