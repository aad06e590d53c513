import { describe, expect, it } from "vitest";
import { type DeviceChange, rates } from "../helpers/examination.js";
import { deviceOnly, gpu, healthyPath, saysOf, slow, withPorts } from "./cause-case.js";

/** Findings on the ports between a device and the CPU. */

const settings = (changes: object) => ({ settings: { ...gpu.settings!, ...changes } });

describe("the PCIe ports of a device's path", () => {
  const small = (change: DeviceChange) => saysOf("payload-small", {}, change);
  const below = { measured: { pinned: rates(51, 50.9), nodes: [] } };

  it("are reported for small packets if all of them support larger ones", () => {
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

  it("are suspected of translation by the IOMMU if copies are slow", () => {
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
  });
});
