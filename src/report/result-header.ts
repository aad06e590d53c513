import { roundDown } from "../draw/numbers.js";
import { type Fact, type Note, note } from "../draw/report.js";
import { counted } from "../draw/words.js";
import { describeSharing } from "../host/other-programs.js";
import type { CellResult } from "../results/cell-schema.js";
import { countedCpus, guestOf, labelsLine, pcieLink, unitsNote } from "../results/naming/wording.js";
import type { DeviceRecord, ResultDocument } from "../results/schema.js";
import type { LinkRecord } from "../settings/schema-parts.js";
import { formatSizeRounded } from "../settings/units.js";

/** The conditions of the measurement: device, link, driver, host, cache, timing and units. */
export function headerFacts(document: ResultDocument): Fact[] {
  const { devices, importedFrom, cells } = document;
  const labels = labelsLine(document);
  const wasMeasured: Fact[] = [
    ["Cache", cacheOf(cells)],
    ["Timing", timingOf(document)],
  ];
  return [
    ...(importedFrom == null ? [] : [["Measured by", describeImport(importedFrom)] as const]),
    ...devices.flatMap((device) => deviceFacts(device, document)),
    ["Driver", driverOf(document)],
    ["Host", hostOf(document)],
    ...(labels === null ? [] : [["Labels", labels] as const]),
    ...(cells.length === 0 ? [] : wasMeasured),
    ["Units", unitsNote],
  ];
}

export function headerAlerts(document: ResultDocument): Note[] {
  const { notice, run } = document;
  return [
    ...(notice === null ? [] : [note(notice, "warning")]),
    ...statusAlerts(run),
    ...(run.sharing ?? []).flatMap(describeSharing).map((text) => note(text, "warning")),
  ];
}

function statusAlerts({ status, error }: ResultDocument["run"]): Note[] {
  switch (status) {
    case "complete":
      return [];
    case "aborted":
      return [note("interrupted: these figures were measured before that", "warning")];
    case "running":
      return [note("unfinished: these figures are from the rounds so far", "warning")];
    case "failed": {
      const reason = error === null ? "" : ` (${error.message})`;
      return [note(`the run failed${reason}: these figures were measured before that`, "failure")];
    }
  }
}

function describeImport({ tool, version, file }: NonNullable<ResultDocument["importedFrom"]>): string {
  return `another tool: imported from ${tool} ${version ?? "(version not known)"}, file ${file}`;
}

function deviceFacts(device: DeviceRecord, { devices, backend }: ResultDocument): Fact[] {
  const suffix = devices.length > 1 ? ` ${device.ordinal}` : "";
  return [
    [`Device${suffix}`, describeDevice(device)],
    [`Link${suffix}`, describeLink(device, backend)],
  ];
}

export function briefFacts({ devices, run, importedFrom }: ResultDocument): Fact[] {
  const named = labelsLine({ run });
  return [
    ...(importedFrom == null ? [] : [["Measured by", describeImport(importedFrom)] as const]),
    ...devices.map(({ ordinal, name, link, linkLimitGBps }): Fact => {
      const pcie =
        link === null || link.generation === null || link.width === null
          ? []
          : [`PCIe ${pcieLink(link.generation, link.width)}${betterLink(link)}`];
      const limit = linkLimitGBps === null ? [] : [`limit ${roundDown(linkLimitGBps, 1)} GB/s each way`];
      const label = devices.length > 1 ? `Device ${ordinal}` : "Device";
      return [label, [name, ...pcie, ...limit].join(", ")];
    }),
    ...(named === null ? [] : [["Labels", named] as const]),
  ];
}

function describeDevice({ name, totalMemoryBytes, pciBusId, numaNode }: DeviceRecord): string {
  const memory = totalMemoryBytes === null ? "memory not known" : formatSizeRounded(totalMemoryBytes);
  const node = numaNode === null ? "NUMA node not known" : `NUMA node ${numaNode}`;
  return [name, memory, pciBusId ?? "PCI bus id not known", node].join(", ");
}

function describeLink({ link, linkLimitGBps }: DeviceRecord, backend: ResultDocument["backend"]): string {
  // An emulated device has a link only if the emulated NVML reports one.
  if (backend === "emulated" && link === null) return "none, so no share of a link is shown";
  if (link === null || link.generation === null || link.width === null) {
    return "not known, so no share of it is shown";
  }
  const now = `PCIe ${pcieLink(link.generation, link.width)} under load${betterLink(link)}`;
  return linkLimitGBps === null
    ? `${now}, limit not known`
    : `${now}, limit ${roundDown(linkLimitGBps, 1)} GB/s each way (packet overhead not subtracted)`;
}

/** The better link that the device supports; empty if it has it. Otherwise a slot, a riser or a setting limits it. */
function betterLink({ generation, width, maxGeneration, maxWidth }: LinkRecord): string {
  const below = (now: number | null, most: number | null) => now !== null && most !== null && now < most;
  if (!below(generation, maxGeneration) && !below(width, maxWidth)) return "";
  return ` (the device can do ${pcieLink(maxGeneration ?? generation, maxWidth ?? width)})`;
}

function driverOf({ backend, driverVersion, cudaVersion, tool }: ResultDocument): string {
  const driver =
    backend === "emulated" ? "pinbench's emulated driver" : (driverVersion ?? "version not known");
  const kernels = tool.kernels === false ? "; this build has no kernels" : "";
  return `${driver}, CUDA ${cudaVersion ?? "version not known"}${kernels}`;
}

function hostOf({ host, cells }: ResultDocument): string {
  if (host === null) return "not known";
  const nodes = new Set(cells.map(({ placement }) => placement?.numaNode));
  const [node] = nodes;
  const placed = nodes.size === 1 && node != null ? `, buffers on node ${node}` : "";
  return [
    host.cpuModel,
    countedCpus(host.cpusAllowed.length, host.cpuQuota),
    `${counted(host.numaNodes, "NUMA node")}${placed}`,
    ...guestOf(host),
  ].join(", ");
}

function cacheOf(cells: readonly CellResult[]): string {
  const cold = cells.filter(({ cache }) => cache === "cold");
  return [
    ...(cold.length === 0 ? [] : [describeColdPool(cold)]),
    ...(cold.length === cells.length ? [] : ["warm: each worker copies one buffer again and again"]),
  ].join("; ");
}

function describeColdPool(cells: readonly CellResult[]): string {
  const pools = cells.flatMap(({ cachePool }) => cachePool ?? []);
  const sizesBytes = pools.map(({ totalBytes }) => totalBytes).filter((bytes) => bytes > 0);
  const [pool] = pools;
  if (sizesBytes.length === 0 || pool === undefined) return "cold: buffers are rotated";
  const least = formatSizeRounded(Math.min(...sizesBytes));
  const most = formatSizeRounded(Math.max(...sizesBytes));
  const span = least === most ? least : `${least} to ${most}`;
  const cache = `${formatSizeRounded(pool.lastLevelCacheBytes)}, from ${pool.lastLevelCacheSource}`;
  // No reported cache does not mean a cache of 0 B.
  const than = pool.lastLevelCacheBytes > 0 ? `last-level cache ${cache}` : "the cache's size is not known";
  return `cold: buffers rotated through ${span} (${than})`;
}

/** How samples were timed, and what figures and intervals mean. */
function timingOf({ importedFrom, run: { runs } }: ResultDocument): string {
  if (importedFrom != null) return "events on the GPU; one published figure a cell";
  const clock = "wall clock, from release to last completion";
  if (runs == null || runs.length === 0) {
    return `${clock}; medians ± half of their 95 % interval (this run only)`;
  }
  return `${clock}; medians of ${counted(runs.length, "process", "processes")}, ± half the 95 % interval between them`;
}
