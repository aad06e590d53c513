import { describe, expect, it } from "vitest";
import { asBuilt, comparedWith } from "../../src/doctor/examined-device.js";
import { linkLimitGBps } from "../../src/results/device-facts.js";
import { type DeviceChange, deviceWith, healthyHealth, rates } from "../helpers/examination.js";
import { healthyExamination, link } from "./cause-case.js";

/** The link for which a device's rate is expected. */

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

/** A site's reference, valid for any link. */
const listed = { alone: { h2d: 0.9, d2h: 0.9 }, together: null, tolerance: 0.05, sources: ["a test"] };

/** The rate expected by that reference over this link. */
const over = (generation: number, width: number) => 0.9 * linkLimitGBps(generation, width)!;

describe("the link for which doctor expects a rate", () => {
  it("is NVML's under load, else NVML's before the copies, else the driver's", () => {
    const at = (maxGeneration: number, maxWidth: number) => ({ ...link, maxGeneration, maxWidth });
    const before = { ...healthyHealth, link: at(4, 8) };
    const none = { before: null, underLoad: null };
    expect(expectedOf({ health: { link: at(5, 8) } }, { health: { before } }).expected.h2d).toBe(over(5, 8));
    expect(expectedOf({}, { health: { before, underLoad: null } }).expected.h2d).toBe(over(4, 8));
    expect(expectedOf({ facts: { link: at(3, 4) } }, { health: none }).expected.h2d).toBe(over(3, 4));
    expect(expectedOf({}, { health: none }).expected.h2d).toBe(over(5, 16));
  });

  it("is the card's maximum in sysfs, if neither NVML nor the driver reports one", () => {
    const none = { before: null, underLoad: null };
    // The card's port comes first, the root's last.
    const card = [{ ...port, maxGeneration: 4, maxWidth: 8 }, port];
    expect(expectedOf({}, { health: none, ports: card }).expected.h2d).toBe(over(4, 8));
    for (const ports of [[], [{ ...port, ...unknown }]]) {
      expect(expectedOf({}, { health: none, ports })).toMatchObject({
        expected: rates(null, null),
        reference: null,
      });
    }
  });

  it("is the card's maximum, if copies are faster than the reported link allows", () => {
    const told = { link: { ...link, maxGeneration: 3, maxWidth: 16 }, cardMaxGeneration: 4 };
    const fast = { pinned: rates(26, 26), nodes: [] };
    expect(expectedOf({ health: told }).expected.h2d).toBe(over(3, 16));
    expect(expectedOf({ health: told, measured: fast }).expected.h2d).toBe(over(4, 16));
    // If NVML does not report the card's maximum, sysfs' value counts.
    const unsaid = { health: { ...told, cardMaxGeneration: null }, measured: fast };
    expect(expectedOf(unsaid).expected.h2d).toBe(over(5, 16));
    const narrow = { health: { ...told, link: { ...told.link, maxWidth: 8 } }, measured: fast };
    expect(expectedOf(narrow, { ports: [] })).toMatchObject({ reference: null });
    expect(expectedOf({ ...narrow, measured: { pinned: rates(999, 1), nodes: [] } }).reference).toBeNull();
  });
});

describe("doctor expects no rate", () => {
  it.each<[string, DeviceChange]>([
    ["of a GPU that is a part of the CPU's chip", { facts: { integrated: true } }],
    ["of a GPU whose memory is coherent with the CPU's", { facts: { coherent: true } }],
    ["of a GPU with another link to the CPU than PCIe", { before: { c2cLinks: 1 } }],
    ["of a GPU in MIG mode", { before: { migEnabled: true } }],
    ["of a MIG instance, known by its name", { facts: { name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb" } }],
  ])("%s", (_, change) => {
    expect(expectedOf(change)).toMatchObject({ expected: rates(null, null), reference: null });
    expect(expectedOf({ before: { c2cLinks: null, migEnabled: null } }).reference).not.toBeNull();
  });
});

describe("the rate that doctor expects", () => {
  it("exists for recorded GPU models and for the emulated device", () => {
    expect(expectedOf({}, { kind: null }).reference).toMatchObject({ tolerance: 0.15 });
    expect(expectedOf({ facts: { name: "NVIDIA X1" } }, { kind: null }).reference).toBeNull();
    expect(expectedOf({}, { emulated: true, kind: null }).reference!.source).toContain("emulated link");
  });

  it.each([
    ["is for 8 lanes if no slot is seen and recordings have 8", "NVIDIA L4", false, 8],
    ["is for 16 lanes if no slot is seen and no recording has 8", "NVIDIA A100 80GB PCIe", false, 16],
    ["is for the 16 lanes of a slot that is seen", "NVIDIA L4", true, 16],
  ])("%s", (_, name, isSeen, maxWidth) => {
    const health = { ...healthyHealth, link: { ...link, generation: 4, width: 8, maxGeneration: 4 } };
    const ports = isSeen ? path.ports : [port];
    const subject = {
      facts: { name },
      path: { before: { ports } },
      measured: { pinned: rates(13, 13), nodes: [] },
    };
    expect(asBuilt(health, subject as never)!.link).toMatchObject({ width: 8, maxWidth });
  });

  it("for simultaneous copies exists only for the recorded number of GPUs: two H200s", () => {
    const h200 = { facts: { name: "NVIDIA H200" } };
    const { expectedTogether } = expectedOf(h200, { copying: 2 });
    expect(expectedTogether!.h2d).toBeCloseTo(52.3, 1);
    expect(expectedTogether!.d2h).toBeCloseTo(51.7, 1);
    for (const copying of [0, 1, 3])
      expect(expectedOf(h200, { copying })).not.toHaveProperty("expectedTogether");
    expect(expectedOf({}, { copying: 0 })).not.toHaveProperty("expectedTogether");
  });
});
