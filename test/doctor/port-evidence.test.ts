import { describe, expect, it } from "vitest";
import type { DeviceExamination } from "../../src/doctor/examination.js";
import type { PciPort } from "../../src/doctor/facts/pci-path.js";
import { type DeviceChange, healthyHealth, rates } from "../helpers/examination.js";
import {
  deviceOnly,
  downstream,
  gpu,
  healthyExamination,
  healthyPath,
  root,
  saysOf,
  slow,
  upstream,
  withPorts,
} from "./cause-case.js";

/** What is said of the ports between a device and the CPU, and of the window to its memory. */

const settings = (changes: object) => ({ settings: { ...gpu.settings!, ...changes } });

describe("ports of a path", () => {
  const small = (change: DeviceChange) => saysOf("payload-small", {}, change);
  const below = { measured: { pinned: rates(51, 50.9), nodes: [] } };

  it("carry small packets, if all of them could do more", () => {
    const payload = (own: number, ...supported: number[]) =>
      withPorts(
        supported.map((maxPayloadSupportedBytes) =>
          settings({ maxPayloadBytes: own, maxPayloadSupportedBytes }),
        ),
        below,
      );
    expect(small(payload(128, 512, 256, 512, 512))).toMatchObject([
      {
        weight: "costs",
        summary: "Packets carry at most 128 bytes, but all ports of the path support 256.",
        evidence: [`Max_Payload_Size of ${gpu.name}: 128 of 256 bytes`],
        claim: { leaves: { h2d: expect.closeTo(128 / 152 / (256 / 280)) }, bound: "limit" },
      },
    ]);
    expect(small(payload(256, 512, 256, 512, 512))).toEqual([]);
    expect(small(deviceOnly(settings({ maxPayloadBytes: 128 }), below))).toEqual([]);
    expect(small(withPorts([settings({ maxPayloadBytes: 128 }), { settings: null }], below))).toEqual([]);
    expect(small(withPorts([{ settings: null }], below))).toEqual([]);
    const unknown = { ...below, other: { expected: rates(null, null) } };
    const [risk] = small(withPorts([settings({ maxPayloadBytes: 128 })], unknown));
    expect(risk).toMatchObject({ weight: "risk" });
    expect(risk).not.toHaveProperty("claim");
  });

  it("are suspected of small read requests, ordered writes and translation, if copies are slow", () => {
    const of = (cause: string, own: Partial<PciPort>, more: DeviceChange = { measured: slow }) =>
      saysOf(cause, { platform: { iommuArguments: ["amd_iommu=on"] } }, withPorts([own], more));
    expect(of("read-request-small", settings({ maxReadRequestBytes: 256 }))).toMatchObject([
      { evidence: [`Max_Read_Request_Size of ${gpu.name}: 256 bytes`] },
    ]);
    expect(of("read-request-small", settings({ maxReadRequestBytes: 512 }))).toEqual([]);
    expect(of("read-request-small", settings({ maxReadRequestBytes: 256 }), {})).toEqual([]);
    expect(of("relaxed-ordering-off", settings({ relaxedOrdering: false }))).toHaveLength(1);
    expect(of("relaxed-ordering-off", {})).toEqual([]);
    for (const cause of ["read-request-small", "relaxed-ordering-off"]) {
      expect(of(cause, { settings: null })).toEqual([]);
    }
    const iommu = (iommuType: string | null) =>
      saysOf(
        "iommu-translates",
        { platform: { iommuArguments: ["amd_iommu=on"] } },
        { measured: slow, other: { path: { ...healthyPath, iommuType } } },
      );
    expect(iommu("DMA")).toMatchObject([
      { evidence: ["type of its IOMMU group: DMA", "kernel argument: amd_iommu=on"] },
    ]);
    for (const type of ["identity", null]) expect(iommu(type)).toEqual([]);
    const unseen = { measured: slow, other: { path: { ...healthyPath, ports: [], iommuType: "DMA" } } };
    expect(saysOf("iommu-translates", {}, unseen)).toEqual([]);
  });

  it("send copies between devices up to the CPU, if one above both redirects", () => {
    const second = healthyExamination().devices[1]!;
    const redirecting = (more: Partial<DeviceExamination["path"]> = {}) => {
      const { other } = withPorts([{}, settings({ redirectsPeers: true })]);
      const own: DeviceChange = { other: { path: { ...other!.path!, ...more } } };
      return saysOf("peers-redirected", {}, [own, { other: { path: second.path } }]);
    };
    expect(redirecting()).toMatchObject([
      {
        device: 0,
        evidence: [
          "behind the same switch: device 1",
          `ACS redirects at ${downstream.name}`,
          "type of the IOMMU group: identity",
        ],
      },
    ]);
    expect(redirecting({ iommuType: null })[0]!.evidence).toHaveLength(2);
    expect(redirecting({ ports: [gpu, { ...downstream, settings: null }, upstream, root] })).toEqual([]);
    const alone = { ...downstream, settings: { ...downstream.settings!, redirectsPeers: true } };
    expect(redirecting({ ports: [gpu, alone] })).toEqual([]);
  });
});

describe("the window to a device's memory", () => {
  const memory = 80e9;
  const window = (before: object | null, underLoad: object = {}) =>
    saysOf(
      "window-small",
      {},
      {
        facts: { totalMemoryBytes: memory },
        other: { health: { before, underLoad, after: null } } as never,
      },
    );

  it("is small below half of it", () => {
    const nvml = (bar1TotalBytes: number | null, more: object = {}) => ({
      ...healthyHealth,
      bar1TotalBytes,
      ...more,
    });
    expect(window(nvml(40e9 - 1))).toHaveLength(1);
    expect(window(nvml(256 * 2 ** 20))).toMatchObject([
      { evidence: ["window: 256 MiB; memory: 74.5 GiB"], weight: "explains" },
    ]);
    expect(window(null, nvml(1e9))).toHaveLength(1);
    for (const none of [40e9, 0, null]) expect(window(nvml(none))).toEqual([]);
    expect(window(nvml(1e9, { migEnabled: true }))).toEqual([]);
    expect(window(nvml(1e9, { c2cLinks: 2 }))).toEqual([]);
  });
});
