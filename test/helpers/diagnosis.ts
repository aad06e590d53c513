import type { Diagnosis, Finding } from "../../src/doctor/diagnosis.js";

/** A finding; by default it costs bandwidth on device 1. */
export function buildFinding(part: Partial<Finding> = {}): Finding {
  return {
    cause: "link-narrow",
    device: 1,
    weight: "costs",
    summary: "The link of device 1 has 4 lanes of the 16 that both its ends support.",
    evidence: [
      "NVML, while copies ran: gen5 x4, at most gen5 x16",
      "0000:15:01.0, the port above it: x4 of x16",
    ],
    cost: { direction: "both", gigabytesPerSecond: 41.46, basis: "estimated", copies: "pinned" },
    fix: "Reseat the card and its riser, and look for dust or damage in the slot.",
    sureness: "certain",
    action: "isolate",
    ...part,
  };
}

const rates = (h2d: number, d2h: number, together: boolean, expected: number | null) =>
  [["h2d", h2d] as const, ["d2h", d2h] as const].map(([direction, gigabytesPerSecond]) => ({
    direction,
    together,
    gigabytesPerSecond,
    shareOfLimit: gigabytesPerSecond / 63.015,
    expectedGigabytesPerSecond: expected,
  }));

const device = (ordinal: number): Diagnosis["devices"][number] => ({
  ordinal,
  name: "NVIDIA H200",
  uuid: null,
  pciBusId: `0000:1${8 + ordinal}:00.0`,
  link: "PCIe gen5 x16",
  limitGigabytesPerSecond: 63.015,
  reference: "recordings of the NVIDIA H200",
  rates: rates(55.37, 55.21, false, 55.26),
});

/** A diagnosis; by default of a healthy machine. */
export function buildDiagnosis(part: Partial<Diagnosis> = {}): Diagnosis {
  return {
    schemaVersion: 1,
    kind: "diagnosis",
    tool: { name: "pinbench", version: "0.1.0" },
    createdAt: "2026-11-22T10:00:00.000Z",
    wallNs: 9.1e9,
    backend: "cuda",
    notice: null,
    host: "node-17",
    sizeBytes: 2 ** 26,
    labels: {},
    devices: [device(0)],
    findings: [],
    unseen: ["payload and read request sizes, relaxed ordering, ACS: only root may read them"],
    verdict: "healthy",
    reason: "Pinned copies are as fast as on healthy machines of this kind.",
    ...part,
  };
}

/** Two devices, one with a narrow link; with a risk and an explanation. */
export function buildSlowDiagnosis(): Diagnosis {
  const narrow = {
    ...device(1),
    link: "PCIe gen5 x4",
    limitGigabytesPerSecond: 15.75,
    rates: [...rates(13.8, 13.7, false, 55.26), ...rates(13.6, 13.5, true, 52.3)],
  };
  return buildDiagnosis({
    labels: { rack: "7", room: "north" },
    devices: [{ ...device(0), rates: [...device(0).rates, ...rates(52.8, 52.1, true, 52.3)] }, narrow],
    findings: [
      buildFinding(),
      buildFinding({
        cause: "window-small",
        device: 0,
        weight: "risk",
        summary: "Others reach the memory of device 0 through a window of 256 MiB.",
        evidence: ["BAR1 has 256 MiB, the device 139.8 GiB"],
        cost: null,
        fix: "Switch on Resizable BAR (also: Above 4G decoding) in the firmware's settings.",
        action: "none",
      }),
      buildFinding({
        cause: "virtual-machine",
        device: null,
        weight: "explains",
        summary: "This is a virtual machine, which hides bridges, NUMA nodes and power states.",
        evidence: ["the CPU names a hypervisor: kvm"],
        cost: null,
        fix: null,
        action: "none",
      }),
    ],
    verdict: "costs",
    reason: buildFinding().summary,
  });
}
