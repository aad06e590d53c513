import { PinbenchError } from "../errors.js";
import { readCount } from "../host/files.js";
import { memoryAvailableBytes } from "../host/memory.js";
import { choosePlacement } from "../host/topology.js";
import { machineRoot, openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import type { pinSettings } from "../settings/pin-settings.js";
import type { Values } from "../settings/setting.js";
import { MiB } from "../settings/units.js";
import { poolSizes } from "./pool-shapes.js";

export type PinRequest = Values<typeof pinSettings>;

/** An existing device, sizes that fit the machine, and sizes skipped from the start. */
export type PreparedPools = Awaited<ReturnType<typeof preparePools>>;

/** Checks a request before measuring, and opens the driver. Rejects with a PinbenchError. `root` has /proc and /sys. */
export async function preparePools(request: PinRequest, root = "/") {
  if (request.numa === "all") {
    throw new PinbenchError("usage", "pin measures one NUMA node at a time.", {
      hint: "Compare the nodes with `pinbench run --numa all`.",
    });
  }
  const { addon, emulatedLibraryPath, passedOver } = loadAddon();
  const backend = await openBackend(request.backend, { addon, emulatedLibraryPath });
  const device = backend.facts.devices.find(({ ordinal }) => ordinal === request.device);
  if (device === undefined) {
    throw new PinbenchError("unavailable", `There is no device ${request.device}.`, {
      hint: "pinbench devices lists them.",
    });
  }
  const availableBytes = memoryAvailableBytes(root);
  const { emulated } = backend.facts;
  const limits = {
    memoryAvailableBytes: availableBytes,
    maxPinnedBytes: request.maxPinnedBytes,
    emulated,
  };
  const { sizesBytes, omitted } = poolSizes(request.sizesBytes, limits);
  const placedRoot = root === "/" ? machineRoot(backend) : root;
  const placement = choosePlacement(device.pciBusId, request.numa, placedRoot);
  const resources = { cpusUsable: placement.threads, hugetlbFreeBytes: hugetlbFreeBytes(root) };
  return {
    ...{ request, backend, passedOver, placement, resources, sizesBytes, omitted, root },
    devices: [device] as const,
    memoryAvailableBytes: availableBytes,
  };
}

/** Free huge pages of 2 MiB, in bytes; null if the kernel has none. */
function hugetlbFreeBytes(root: string): number | null {
  const pages = readCount(root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  return pages === null ? null : pages * 2 * MiB;
}
