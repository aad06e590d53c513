import type { HostRecord, ResultDocument } from "./schema.js";

export type FingerprintParts = Pick<
  ResultDocument,
  "backend" | "devices" | "driverVersion" | "cudaVersion" | "host"
> & {
  /** Null if another tool measured. */
  pinbenchVersion: string | null;
};

/**
 * Facts in which comparisons look for differences, one string each; null if unknown. They identify no machine
 * (no host name, no UUID), so equal nodes have equal fingerprints.
 */
export function fingerprint(parts: FingerprintParts): Record<string, string | null> {
  const { devices, host } = parts;
  const { gpu, linkUnderLoad } = deviceFacts(devices);
  return {
    backend: parts.backend,
    gpu,
    gpuCount: String(devices.length),
    driver: parts.driverVersion,
    cuda: parts.cudaVersion,
    linkUnderLoad,
    cpu: host?.cpuModel ?? null,
    usableCpus: host === null ? null : describeCpus(host),
    numaNodes: host === null ? null : String(host.numaNodes),
    kernel: host?.kernel ?? null,
    transparentHugePages: host?.transparentHugePages ?? null,
    governor: host?.governor ?? null,
    virtualization: host?.virtualization ?? null,
    container: host?.container ?? null,
    pinbench: parts.pinbenchVersion,
  };
}

export function deviceFacts(
  devices: readonly {
    name: string;
    link: { generation: number | null; width: number | null } | null;
  }[],
): Record<"gpu" | "linkUnderLoad", string | null> {
  return {
    gpu: distinct(devices.map(({ name }) => name)),
    linkUnderLoad: distinct(devices.map(({ link }) => describeLink(link?.generation, link?.width))),
  };
}

function describeLink(
  generation: number | null | undefined,
  width: number | null | undefined,
): string | null {
  return generation == null || width == null ? null : `gen${generation} x${width}`;
}

function describeCpus({ cpusAllowed, cpuQuota }: HostRecord): string {
  return cpuQuota === null ? String(cpusAllowed.length) : `${cpusAllowed.length}, quota ${cpuQuota}`;
}

/** The distinct facts of several devices in order; null if one is unknown. */
function distinct(facts: readonly (string | null)[]): string | null {
  if (facts.length === 0 || facts.includes(null)) return null;
  return [...new Set(facts)].join(", ");
}
