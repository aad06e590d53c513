import { describe, expect, it } from "vitest";
import { type DeviceChange, otherProgram, rates } from "../helpers/examination.js";
import { gpuNames } from "../helpers/machine-tree.js";
import { healthyExamination, link, noHealth, saysOf, slow, slowText, unseen } from "./cause-case.js";

/** Findings on devices: their wording and their thresholds. */

describe("a device that another process uses", () => {
  const shared = (change: DeviceChange) => saysOf("device-shared", {}, change);
  const activity = (
    computePercent: number | null,
    toDeviceBytesPerSecond: number | null,
    fromDeviceBytesPerSecond: number | null,
    limitGBps: number | null = 63,
  ): DeviceChange => ({
    other: {
      limitGBps,
      activityBefore: { computePercent, toDeviceBytesPerSecond, fromDeviceBytesPerSecond },
    },
  });

  it("is reported from 5 % of kernel time on, or above 1 % of the link's limit", () => {
    expect(shared(activity(5, 0.63e9, null))).toMatchObject([
      {
        weight: "risk",
        summary: "Another process used the device before the examination.",
        evidence: ["kernels ran 5 % of the time before the examination"],
        sureness: "likely",
      },
    ]);
    expect(shared(activity(null, 0.64e9, 12e9))).toMatchObject([
      {
        evidence: [
          "link before the examination: 0.64 GB/s to the device",
          "link before the examination: 12.0 GB/s back",
        ],
      },
    ]);
    for (const none of [activity(4, 0.63e9, 0), activity(null, null, null), activity(0, 0.3e9, 0, null)]) {
      expect(shared(none)).toEqual([]);
    }
    // An unknown link counts as one of generation 4.
    expect(shared(activity(0, 0.4e9, 0, null))).toHaveLength(1);
    expect(shared({ other: { activityBefore: null } })).toEqual([]);
  });

  it("is reported, if it is slow, with the names of at most five programs", () => {
    const others = Array.from({ length: 7 }, (_, i) => otherProgram({ pid: 100 + i }));
    const [found] = shared({ measured: slow, other: { others } });
    expect(found).toMatchObject({
      weight: "costs",
      summary: "Another process has the device open, and copies are slower than expected.",
      claim: { leaves: { h2d: 1 / 8, d2h: 1 / 8 }, bound: "open" },
      sureness: "possible",
    });
    expect(found!.evidence).toHaveLength(7);
    expect(found!.evidence[4]).toContain("104");
    expect(found!.evidence.slice(5)).toEqual(["2 more programs", slowText()]);
    const [five] = shared({ measured: slow, other: { others: others.slice(0, 5) } });
    expect(five!.evidence).toHaveLength(6);
    expect(shared({ measured: slow, other: { others: [] } })).toEqual([]);
    expect(shared({ measured: slow, other: { others: null } })).toEqual([]);
  });

  it("may have lost all of the missing bandwidth to the copies of that process", () => {
    const claimOf = (...seen: Parameters<typeof activity>) =>
      shared({ measured: slow, other: { ...activity(...seen).other, others: null } })[0]!.claim;
    const all = { leaves: { h2d: 0, d2h: 0 }, bound: "open" };
    expect(claimOf(90, 9e9, 0)).toEqual(all);
    expect(claimOf(null, 0, 9e9)).toEqual(all);
    // Unknown activity may be copies.
    expect(claimOf(6, null, 0)).toEqual(all);
    expect(claimOf(6, 0, null)).toEqual(all);
  });

  it("loses to kernels that run without copies at most their share of the time", () => {
    const [found] = shared({ measured: slow, other: { ...activity(90, 0, 0).other, others: null } });
    expect(found).toMatchObject({
      claim: { leaves: { h2d: expect.closeTo(0.1), d2h: expect.closeTo(0.1) }, bound: "at most" },
      evidence: [expect.stringContaining("kernels ran 90 %"), slowText()],
    });
  });
});

describe("a device that was slow at first", () => {
  const first = (firstLook: ReturnType<typeof rates>, pinned = rates(55.6, 55.2)) =>
    saysOf("slow-at-first", {}, { measured: { firstLook, pinned } });

  it("is reported if one direction was no longer slow when measured again", () => {
    expect(first(rates(55, 40))).toMatchObject([
      { evidence: ["first look: 55.0 GB/s to the device, 40.0 GB/s back", expect.any(String)] },
    ]);
    expect(first(rates(40, 40), rates(41, 55.2))).toHaveLength(1);
    expect(first(rates(40, 55), rates(41, 55.2))).toEqual([]);
    expect(first(rates(55, 55))).toEqual([]);
  });
});

describe("GPU clocks that are held down", () => {
  const held = (change: DeviceChange) => saysOf("clocks-held", {}, change);
  const hot = { clockReasons: ["hw-slowdown", "sw-thermal-slowdown"], link: { ...link, smClockMHz: 990 } };

  it("are reported with NVML's reasons, and at half the clock explain at most half of the rate", () => {
    expect(held({ health: hot, measured: slow })).toMatchObject([
      {
        weight: "costs",
        summary: "The device holds its clocks down while it copies, because it is too hot.",
        evidence: [
          "reasons that NVML gives: sw-thermal-slowdown, hw-slowdown",
          "clock: 990 of 1980 MHz",
          "temperature: 36 °C",
          "power: 119 of 700 W",
        ],
        claim: { leaves: { h2d: 0.5, d2h: 0.5 }, bound: "at most" },
        fix: "Check this device's fans, air flow and heat sink.",
        sureness: "likely",
      },
    ]);
    const [risk] = held({ health: hot });
    expect(risk).toMatchObject({ weight: "risk", sureness: "certain" });
    expect(risk).not.toHaveProperty("claim");
  });

  it.each([
    ["hw-power-brake-slowdown", "the power supply asks for it", "power supplies"],
    ["sw-power-cap", "it is at its power limit", "power supplies"],
    ["hw-thermal-slowdown", "it is too hot", "fans"],
    ["hw-slowdown", "of heat or power", "fans"],
  ])("have an explanation and a remedy for the reason %s", (reason, because, fix) => {
    expect(held({ health: { clockReasons: [reason] } })).toMatchObject([
      { summary: expect.stringContaining(because), fix: expect.stringContaining(fix) },
    ]);
  });

  it("explain no loss if the clock rates are unknown", () => {
    const bare = { clockReasons: ["sw-power-cap"], temperatureC: null };
    const of = (more: object) => held({ health: { ...bare, ...more }, measured: slow })[0]!;
    const none = { leaves: { h2d: 1, d2h: 1 } };
    expect(of({ link: null, powerWatts: null })).toMatchObject({
      evidence: ["reasons that NVML gives: sw-power-cap"],
      claim: none,
    });
    expect(of({ maxSmClockMHz: null, powerLimitWatts: null })).toMatchObject({
      evidence: ["reasons that NVML gives: sw-power-cap"],
      claim: none,
    });
    expect(of({ maxSmClockMHz: 0 })).toMatchObject({ claim: none });
    expect(of({ link: { ...link, smClockMHz: 3000 } })).toMatchObject({ claim: none });
    expect(held({ health: { clockReasons: null } })).toEqual([]);
    expect(held(unseen)).toEqual([]);
  });
});

describe("errors of a device", () => {
  const memory = (change: DeviceChange) => saysOf("memory-errors", {}, change);

  it("in its memory are counted after the examination, or before it if NVML reports nothing later", () => {
    expect(memory({ before: { eccErrors: 0 }, after: { eccErrors: 2 } })).toMatchObject([
      {
        summary: "The device's memory had uncorrectable errors.",
        evidence: ["2 uncorrected errors since the driver was loaded (ECC)"],
      },
    ]);
    expect(memory({ health: { retirementPending: true } })).toMatchObject([
      {
        summary: "The next reset retires parts of the device's memory.",
        evidence: ["a reset is pending, to retire pages or to remap rows"],
      },
    ]);
    const { before } = healthyExamination().devices[0]!.health;
    const health = { ...noHealth, before: { ...before!, eccErrors: 1 } };
    expect(memory({ other: { health } })).toHaveLength(1);
    expect(memory(unseen)).toEqual([]);
    expect(memory({ health: { eccErrors: null, retirementPending: null } })).toEqual([]);
  });

  const xids = (...errors: [xid: number, text: string, pciName?: string][]) =>
    saysOf("xid-errors", {
      xidErrors: errors.map(([xid, text, pciName = gpuNames[0]]) => ({ pciName, xid, text })),
    });

  it("in the kernel log are reported by Xid number with the last text, without errors of programs", () => {
    const programs = [13, 31, 43, 45].map((xid): [number, string] => [xid, "a program's"]);
    const found = xids([79, "first"], [48, "x".repeat(130)], [79, "last"], ...programs, [
      62,
      "other",
      "0000:19:00.0",
    ]);
    expect(found).toMatchObject([
      {
        summary: "The driver logged 3 errors of this device since boot (Xid 48, 79).",
        evidence: [`Xid 48: ${"x".repeat(120)}`, "Xid 79, 2 times: last"],
        fix: expect.stringContaining("Look up Xid 48"),
      },
    ]);
    expect(xids([94, "one"])[0]!.summary).toBe(
      "The driver logged an error of this device since boot (Xid 94).",
    );
    expect(xids(...programs)).toEqual([]);
    expect(saysOf("xid-errors", { xidErrors: null })).toEqual([]);
  });
});
