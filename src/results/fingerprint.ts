import type { HostRecord, ResultDocument } from "./schema.js";

/** The parts of a result document that its fingerprint is taken from. */
export type FingerprintParts = Pick<
  ResultDocument,
  "backend" | "devices" | "driverVersion" | "cudaVersion" | "host"
> & {
  /** Null where another tool measured. */
  pinbenchVersion: string | null;
};

/**
 * What two results must share to be compared, one string a fact; null where the fact is not known. It names no
 * single machine (no host name, no UUID): two equal nodes have equal fingerprints.
 */
export function fingerprint(parts: FingerprintParts): Record<string, string | null> {
  const { devices, host } = parts;
  return {
    backend: parts.backend,
    gpu: distinct(devices.map((device) => device.name)),
    gpuCount: String(devices.length),
    driver: parts.driverVersion,
    cuda: parts.cudaVersion,
    linkUnderLoad: distinct(devices.map(({ link }) => describeLink(link?.generation, link?.width))),
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

function describeLink(
  generation: number | null | undefined,
  width: number | null | undefined,
): string | null {
  return generation == null || width == null ? null : `gen${generation} x${width}`;
}

function describeCpus({ cpusAllowed, cpuQuota }: HostRecord): string {
  return cpuQuota === null ? String(cpusAllowed.length) : `${cpusAllowed.length}, quota ${cpuQuota}`;
}

/** Equal facts of several devices once, different ones in order; null as soon as one is not known. */
function distinct(facts: readonly (string | null)[]): string | null {
  if (facts.length === 0 || facts.includes(null)) return null;
  return [...new Set(facts)].join(", ");
}
