import { describe, expect, it } from "vitest";
import { asBuilt, comparedWith } from "../../src/doctor/examined-device.js";
import { linkLimitGBps } from "../../src/results/device-facts.js";
import { type DeviceChange, deviceWith, healthyHealth, rates } from "../helpers/examination.js";
import { healthyExamination, link } from "./cause-case.js";

/** Which link a device's copies are compared with. */

const { path } = healthyExamination().devices[0]!;
const [port] = path.ports;
const unknown = { generation: null, width: null, maxGeneration: null, maxWidth: null };

function expectedOf(
  change: DeviceChange,
  {
    ports = path.ports as readonly unknown[],
    health = {},
    emulated = false,
    copying = 0,
    kind = "NVIDIA H100 80GB HBM3" as string | null,
  } = {},
) {
  const device = deviceWith(path, 0, { measured: { pinned: rates(1, 1), nodes: [] }, ...change });
  const subject = {
    ...device,
    health: { ...device.health, ...health },
    path: { before: { ...path, ports }, underLoad: null },
    site: kind === null ? null : { listed: [{ ...listed, gpu: kind }] },
  };
  return comparedWith(subject as never, emulated, copying);
}

/** A site's reference, which holds for any link. */
const listed = { alone: { h2d: 0.9, d2h: 0.9 }, together: null, tolerance: 0.05, sources: ["a test"] };

/** Its expectation over this link. */
const over = (generation: number, width: number) => 0.9 * linkLimitGBps(generation, width)!;

describe("the best link of a device", () => {
  it("is that of NVML under load, or before the copies, or else the driver's", () => {
    const at = (maxGeneration: number, maxWidth: number) => ({ ...link, maxGeneration, maxWidth });
    const before = { ...healthyHealth, link: at(4, 8) };
    const none = { before: null, underLoad: null };
    expect(expectedOf({ health: { link: at(5, 8) } }, { health: { before } }).expected.h2d).toBe(over(5, 8));
    expect(expectedOf({}, { health: { before, underLoad: null } }).expected.h2d).toBe(over(4, 8));
    expect(expectedOf({ facts: { link: at(3, 4) } }, { health: none }).expected.h2d).toBe(over(3, 4));
    expect(expectedOf({}, { health: none }).expected.h2d).toBe(over(5, 16));
  });

  it("is that of the card in sysfs, if nothing else reports it", () => {
    const none = { before: null, underLoad: null };
    const card = [{ ...port, maxGeneration: 4, maxWidth: 8 }];
    expect(expectedOf({}, { health: none, ports: card }).expected.h2d).toBe(over(4, 8));
    for (const ports of [[], [{ ...port, ...unknown }]]) {
      expect(expectedOf({}, { health: none, ports })).toMatchObject({
        expected: rates(null, null),
        reference: null,
      });
    }
  });

  it("is the card's own, if copies are faster than the reported link allows", () => {
    const told = { link: { ...link, maxGeneration: 3, maxWidth: 16 }, cardMaxGeneration: 4 };
    const fast = { pinned: rates(26, 26), nodes: [] };
    expect(expectedOf({ health: told }).expected.h2d).toBe(over(3, 16));
    expect(expectedOf({ health: told, measured: fast }).expected.h2d).toBe(over(4, 16));
    // Without NVML's word on the card, sysfs' counts.
    const unsaid = { health: { ...told, cardMaxGeneration: null }, measured: fast };
    expect(expectedOf(unsaid).expected.h2d).toBe(over(5, 16));
    const narrow = { health: { ...told, link: { ...told.link, maxWidth: 8 } }, measured: fast };
    expect(expectedOf(narrow, { ports: [] })).toMatchObject({ reference: null });
    expect(expectedOf({ ...narrow, measured: { pinned: rates(999, 1), nodes: [] } }).reference).toBeNull();
  });
});

describe("no rate is expected", () => {
  it.each<[string, DeviceChange]>([
    ["of a part of the CPU's chip", { facts: { integrated: true } }],
    ["of a device whose memory is one with the CPU's", { facts: { coherent: true } }],
    ["of a device that is joined to the CPU otherwise", { before: { c2cLinks: 1 } }],
    ["of a divided device", { before: { migEnabled: true } }],
    ["of an instance, by its name", { facts: { name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb" } }],
  ])("%s", (_, change) => {
    expect(expectedOf(change)).toMatchObject({ expected: rates(null, null), reference: null });
    expect(expectedOf({ before: { c2cLinks: null, migEnabled: null } }).reference).not.toBeNull();
  });
});

describe("an expectation", () => {
  it("exists for recorded kinds and for the emulated device", () => {
    expect(expectedOf({}, { kind: null }).reference).toMatchObject({ tolerance: 0.15 });
    expect(expectedOf({ facts: { name: "NVIDIA X1" } }, { kind: null }).reference).toBeNull();
    expect(expectedOf({}, { emulated: true, kind: null }).reference!.source).toContain("emulated link");
  });

  it.each([
    ["unknown, and machines of the kind have as many lanes", "NVIDIA L4", false, 8],
    [
      "unknown, but no machine of the kind was recorded with so few lanes",
      "NVIDIA A100 80GB PCIe",
      false,
      16,
    ],
    ["known", "NVIDIA L4", true, 16],
  ])("is for the lanes in use if the slot is %s", (_, name, isSeen, maxWidth) => {
    const health = { ...healthyHealth, link: { ...link, generation: 4, width: 8, maxGeneration: 4 } };
    const ports = isSeen ? path.ports : [port];
    const subject = {
      facts: { name },
      path: { before: { ports } },
      measured: { pinned: rates(13, 13), nodes: [] },
    };
    expect(asBuilt(health, subject as never)!.link).toMatchObject({ width: 8, maxWidth });
  });

  it("for several devices holds for as many as were recorded: two H200s", () => {
    const h200 = { facts: { name: "NVIDIA H200" } };
    const { expectedTogether } = expectedOf(h200, { copying: 2 });
    expect(expectedTogether!.h2d).toBeCloseTo(52.3, 1);
    expect(expectedTogether!.d2h).toBeCloseTo(51.7, 1);
    for (const copying of [0, 1, 3])
      expect(expectedOf(h200, { copying })).not.toHaveProperty("expectedTogether");
    expect(expectedOf({}, { copying: 0 })).not.toHaveProperty("expectedTogether");
  });
});
