import { describe, expect, it } from "vitest";
import { type DeviceChange, rates } from "../helpers/examination.js";
import { healthyExamination, healthyPath, noHealth, saysOf, slow, slowText, unseen } from "./cause-case.js";

/** Findings on the platform of devices: their wording and their thresholds. */

/** Health that NVML reported only under load. */
const underLoadOnly = (more: object): DeviceChange => {
  const { underLoad } = healthyExamination().devices[0]!.health;
  return { other: { health: { ...noHealth, underLoad: { ...underLoad!, ...more } } } };
};

describe("a GPU that is divided by MIG", () => {
  it("is recognized by its mode or its name, and may lose any share of its rate", () => {
    const mig = (change: DeviceChange) => saysOf("mig", {}, change);
    expect(mig({ health: { migEnabled: true } })).toMatchObject([{ evidence: ["MIG is enabled"] }]);
    expect(mig({ health: { migEnabled: true } })[0]).not.toHaveProperty("claim");
    expect(mig({ facts: { name: "NVIDIA A100 MIG 1g.10gb" }, measured: slow })).toMatchObject([
      {
        evidence: ["its name: NVIDIA A100 MIG 1g.10gb", slowText("the whole device's rate")],
        claim: { leaves: { h2d: 0, d2h: 0 }, bound: "open" },
      },
    ]);
    expect(mig(underLoadOnly({ migEnabled: true }))).toHaveLength(1);
    for (const none of [{}, unseen, { health: { migEnabled: null } }]) expect(mig(none)).toEqual([]);
  });
});

describe("a virtual machine", () => {
  it.each([
    ["kvm", 1],
    ["wsl2", 0],
    [null, 0],
  ])("of the kind %s leads to %d findings", (virtualization, times) => {
    expect(saysOf("virtual-machine", { host: { virtualization } })).toHaveLength(times);
  });

  it("that is WSL is reported with the refused registration", () => {
    const registered = { rates: rates(null, null), refused: "no memory" };
    const windows = { host: { virtualization: "wsl2", kernel: "5.15" } };
    expect(saysOf("wsl", windows, { measured: { registered } })).toMatchObject([
      { evidence: ["kernel: 5.15", "registering memory: no memory"] },
    ]);
    expect(saysOf("wsl", windows)[0]!.evidence).toHaveLength(1);
    expect(saysOf("wsl", { host: { virtualization: "kvm" } })).toEqual([]);
  });
});

describe("confidential computing", () => {
  const confidential = (change: DeviceChange, platform: object = {}) =>
    saysOf("confidential-computing", { platform }, change);
  const on = { health: { confidentialComputing: true } };

  it("is reported by the driver or the machine, with the measured rates", () => {
    const measured = [
      "pinned: 55.6 GB/s to the device, 55.2 GB/s back",
      expect.stringContaining("pageable: "),
    ];
    expect(confidential(on)).toMatchObject([
      { evidence: ["NVML: confidential computing is on", ...measured] },
    ]);
    expect(confidential(on)[0]).not.toHaveProperty("claim");
    expect(confidential({}, { confidentialGuest: "Intel TDX" })).toMatchObject([
      { evidence: ["this is a confidential virtual machine (Intel TDX)", ...measured] },
    ]);
    expect(confidential({ ...on, measured: slow })).toMatchObject([
      { claim: { leaves: { h2d: 0, d2h: 0 }, bound: "open" } },
    ]);
    expect(confidential(underLoadOnly({ confidentialComputing: true }))).toHaveLength(1);
    for (const none of [{}, unseen]) expect(confidential(none)).toEqual([]);
  });

  it("explains calls that wait for their copies, which are a risk on other machines", () => {
    const wait = (change: DeviceChange, platform: object = {}) => saysOf("copies-wait", { platform }, change);
    const share = (h2d: number | null, d2h: number | null, pinned = rates(55, 55)) => ({
      measured: { hostShare: { h2d, d2h }, pinned },
    });
    expect(wait(share(0.5, null))).toMatchObject([
      {
        weight: "risk",
        summary:
          "Asynchronous copies of pinned memory to the device block here: the calls return only when the copy is done.",
        evidence: ["share of a pinned copy's time spent in its call: 50 % to the device and 0 % back"],
      },
    ]);
    expect(wait(share(0.5, 0.5))[0]!.summary).toMatch(/^Asynchronous copies of pinned memory block here: /);
    const explained = { weight: "explains", summary: expect.stringContaining("done, as with confidential") };
    expect(wait({ ...share(0.1, 0.9), ...on })).toMatchObject([explained]);
    expect(wait(share(0.9, 0.9), { confidentialGuest: "Intel TDX" })).toMatchObject([explained]);
    const late = { ...share(0.9, 0.9), ...underLoadOnly({ confidentialComputing: true }) };
    expect(wait(late)).toMatchObject([explained]);
    expect(wait({ ...share(0.9, 0.9), ...unseen })).toMatchObject([{ weight: "risk" }]);
    for (const none of [share(0.49, 0.49), share(0.9, 0.1, rates(null, 55)), {}])
      expect(wait(none)).toEqual([]);
  });
});

describe("a GPU with a direct link to its CPU (Grace)", () => {
  const joined = (change: DeviceChange) => saysOf("grace", {}, change);
  const near = { measured: { pageable: rates(50, 10) } };

  it("is recognized by its links, and reported with the rate of pageable copies", () => {
    const links = "links to the CPU other than PCIe: 10 (NVML)";
    expect(joined({ health: { c2cLinks: 10 }, ...near })).toMatchObject([
      { evidence: [links, "pageable: 50.0 GB/s to the device, 10.0 GB/s back"] },
    ]);
    expect(joined(underLoadOnly({ c2cLinks: 1 }))).toHaveLength(1);
    expect(joined(near)).toEqual([]);
    expect(joined(unseen)).toEqual([]);
  });
});

describe("copies that share a path", () => {
  const both = (bothWays: ReturnType<typeof rates>, pinned = rates(40, 20), ports = 4) =>
    saysOf(
      "both-ways-shared",
      {},
      {
        measured: { bothWays, pinned },
        other: { path: { ...healthyPath, ports: healthyPath.ports.slice(0, ports) } },
      },
    );

  it("are reported if both directions at once leave one less than 60 % of its rate", () => {
    const [, ...bridges] = healthyPath.ports.map(({ name }) => name);
    // As people report of A100s behind switches (nvbandwidth issues 11 and 53).
    expect(both(rates(11, 24.9), rates(26, 26))).toMatchObject([
      {
        summary:
          "Copies to the device keep only 42 % of their rate while others go the other way; the device is behind a switch.",
        evidence: [
          "one way at a time: 26.0 GB/s to the device, 26.0 GB/s back",
          "both ways at once: 11.0 GB/s to the device, 24.9 GB/s back",
          `bridges above it: ${bridges.join(", ")}`,
        ],
        fix: expect.stringContaining("below another switch or none"),
      },
    ]);
    const [direct] = both(rates(20, 20), rates(20, 40), 2);
    expect(direct).toMatchObject({
      summary: "Copies from the device keep only 50 % of their rate while others go the other way.",
      fix: expect.stringContaining("host memory, or bridges that are not shown"),
    });
    expect(direct!.evidence).toHaveLength(2);
    expect(both(rates(null, 1))).toHaveLength(1);
    for (const none of [
      both(rates(24, 12)),
      both(rates(null, null)),
      both(rates(1, 1), rates(null, null)),
      both(rates(1, 1), rates(0, 0)),
    ]) {
      expect(none).toEqual([]);
    }
  });

  it("are not reported for both directions on devices without PCIe", () => {
    const measured = { bothWays: rates(20, 20), pinned: rates(40, 40) };
    expect(saysOf("both-ways-shared", {}, { measured, facts: { integrated: true } })).toEqual([]);
    expect(saysOf("both-ways-shared", {}, { measured, health: { c2cLinks: 1 } })).toEqual([]);
  });

  it("are reported for two devices below one switch that lose more than a tenth of their rate", () => {
    const together = (h2d: number | null, d2h: number | null, more: DeviceChange = {}): DeviceChange => ({
      ...more,
      measured: { pinned: rates(50, 50), together: rates(h2d, d2h), ...more.measured },
    });
    const shared = (one: DeviceChange, other: DeviceChange = { measured: { together: null } }) =>
      saysOf("uplink-shared", {}, [one, other]);
    expect(shared(together(44.9, 45))).toMatchObject([
      {
        device: 0,
        summary: "The device shares a way to the CPU with device 1, and is slower when all copy at once.",
        evidence: [
          "alone: 50.0 GB/s to the device, 50.0 GB/s back",
          "all devices together: 44.9 GB/s to the device, 45.0 GB/s back",
          "shared: 0000:16:00.0",
        ],
        sureness: "likely",
      },
    ]);
    expect(shared(together(30, 30, { other: { expected: rates(50, 50) } }))[0]!.sureness).toBe("certain");
    expect(shared(together(45, 45))).toEqual([]);
    expect(shared(together(null, null))).toEqual([]);
    expect(shared(together(null, 1))).toHaveLength(1);
    expect(saysOf("uplink-shared", {}, together(1, 1))).toEqual([]);
    const elsewhere = { other: { path: { ...healthyPath, ports: healthyPath.ports.slice(0, 1) } } };
    expect(shared(together(1, 1), elsewhere)).toEqual([]);
  });
});
