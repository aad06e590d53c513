import { PinbenchError } from "../errors.js";
import { usableCpuCount } from "../host/cpus.js";
import { DeviceSharing, type SharingOptions } from "../host/device-sharing.js";
import { checkFileFolder } from "../host/file-folder.js";
import { exists } from "../host/files.js";
import { hostRecord } from "../host/machine-load.js";
import { placementAt, placementsOn, readNumaNodes } from "../host/numa-nodes.js";
import { hasRoomForProcesses, noRoomForProcesses } from "../host/processes.js";
import { choosePlacement, numaNodes } from "../host/topology.js";
import { shortageOf } from "../machine-shortage.js";
import { type Backend, machineRoot, openBackend, sharedDevices } from "../native/backend.js";
import type { BuildInfo, DeviceFacts } from "../native/device-contract.js";
import { loadAddon } from "../native/load.js";
import { devicesOf } from "../plan/cells.js";
import type { PlanFacts } from "../plan/facts.js";
import { arenaBytes } from "../plan/geometry.js";
import { placementsOf } from "../plan/numa.js";
import { type Plan, plan } from "../plan/plan.js";
import { parseCellId } from "../results/cell-id.js";
import type { Cell } from "../results/cell-schema.js";
import type { HostRecord } from "../results/schema.js";
import type { RunSettings } from "../settings/table.js";
import { MiB } from "../settings/units.js";
import { sumOf } from "../stats/variance.js";

/** A run that is ready to measure. */
export type PreparedRun = Awaited<ReturnType<typeof prepareRun>>;

/** Does everything that comes before measuring, so that wrong settings fail early. Throws PinbenchError. */
export async function prepareRun(settings: RunSettings) {
  // Malformed ids are wrong on any machine, so they are reported first.
  for (const id of settings.cells ?? []) parseCellId(id);
  const { addon, emulatedLibraryPath, passedOver } = loadAddon();
  const backend = await openBackend(settings.backend, { addon, emulatedLibraryPath });
  const { build } = addon;
  // The folder with the machine's /proc and /sys.
  const root = machineRoot(backend);
  const cache = backend.facts.emulated ? emulatedCache : {};
  const host: HostRecord = { ...hostRecord(), numaNodes: numaNodes(root).length, ...cache };
  const planned = plan(settings, planFacts(backend, build, host, root));
  refuseWithoutProcesses(planned);
  const fileBytes = fileNeedBytes(planned);
  if (fileBytes > 0) checkFileFolder(settings.fileFolder, fileBytes);
  const devices = devicesIn(planned.cells, backend);
  for (const { pciBusId } of devices) choosePlacement(pciBusId, settings.numa, root);
  for (const nodes of placementsOf(planned.cells)) if (nodes !== null) placementAt(nodes, root);
  const { createRendezvous } = addon;
  return { plan: planned, backend, build, createRendezvous, host, passedOver, devices, root };
}

/** Finds other users of a run's devices; null if there cannot be any. */
export function shareDevices(
  { backend, devices }: { backend: Backend; devices: readonly DeviceFacts[] },
  options: SharingOptions,
): DeviceSharing | null {
  const shared = sharedDevices(backend, devices);
  return shared.length === 0 ? null : new DeviceSharing(shared, options);
}

/** shareDevices() for settings that list cells, in a process that lets others measure them. Throws PinbenchError. */
export async function shareDevicesOfCells(
  { backend: choice, cells }: Pick<RunSettings, "backend"> & { cells: readonly string[] },
  options: SharingOptions,
): Promise<DeviceSharing | null> {
  const listed = cells.map(parseCellId);
  const backend = await openBackend(choice, loadAddon());
  return shareDevices({ backend, devices: devicesIn(listed, backend) }, options);
}

export function devicesIn(cells: readonly Cell[], { facts }: Backend): DeviceFacts[] {
  const ordinals = devicesOf(cells);
  return facts.devices.filter(({ ordinal }) => ordinals.includes(ordinal));
}

/** Without this check, worker processes would hang or fail without a visible reason. */
function refuseWithoutProcesses({ processArenas }: Plan): void {
  const count = processArenas.length;
  if (count === 0) return;
  if (!exists("/", "proc/self/fd")) {
    throw new PinbenchError("unavailable", "worker processes share memory through /proc, which is missing.", {
      hint: "Mount /proc, or measure with threads: --worker-kind thread.",
    });
  }
  if (hasRoomForProcesses(count)) return;
  const noRoom = noRoomForProcesses();
  throw shortageOf(noRoom, `${count} worker processes cannot be started`) ?? noRoom;
}

/** Bytes of the files that exist at one time, over all devices and processes. */
function fileNeedBytes({ arenas, processArenas, need }: Plan): number {
  const files = [arenas, ...processArenas].flatMap(({ host }) => [host.file, host["file-registered"]]);
  return need.devicesAtOnce * sumOf(files.map((file) => (file === undefined ? 0 : arenaBytes(file))));
}

/**
 * An emulated device's last-level cache: small, so that cold pools take little memory and time. Its figures describe no
 * GPU anyway.
 */
const emulatedCache = { lastLevelCacheBytes: MiB, lastLevelCacheSource: "the emulated device" };

/**
 * The plan's facts that are known without opening a device, so a dry run opens none. Whether a driver loads the kernels
 * shows only in an open context; cells that need them may be skipped then.
 */
function planFacts(backend: Backend, build: BuildInfo, host: HostRecord, root: string): PlanFacts {
  const { devices, emulated } = backend.facts;
  return {
    devices: devices.map((device) => ({ ...device, freeMemoryBytes: null })),
    cpusUsable: usableCpuCount(),
    lastLevelCacheBytes: host.lastLevelCacheBytes,
    memoryAvailableBytes: host.memoryAvailableBytes,
    emulated,
    kernelsOff: kernelsOff(backend, build),
    batchCopiesOff: batchCopiesOff(backend),
    numaPlacements: placementsOn(readNumaNodes(root)),
  };
}

/** Why this build has no kernels; null if it has them or needs none. */
export function kernelsOff({ facts }: Backend, build: BuildInfo): string | null {
  if (facts.emulated || build.kernels) return null;
  return "this build has no kernels: nvcc was not found when it was compiled";
}

/** Why this driver cannot copy blocks in one call; null if it can. */
export function batchCopiesOff({ facts }: Backend): string | null {
  return facts.missingSymbols.includes("cuMemcpyBatchAsync")
    ? "the driver lacks cuMemcpyBatchAsync, which came with CUDA 12.8"
    : null;
}

/**
 * Announces the library's measurement to other programs on its devices until it settles; `sharing` is null if there
 * cannot be any. The library never waits for others.
 */
export async function announced<Measured>(
  prepared: Parameters<typeof shareDevices>[0],
  measure: (sharing: ReturnType<typeof shareDevices>) => Promise<Measured>,
): Promise<Measured> {
  const sharing = shareDevices(prepared, { command: "library", ownerPid: null });
  try {
    await sharing?.begin();
    return await measure(sharing);
  } finally {
    await sharing?.release();
  }
}
