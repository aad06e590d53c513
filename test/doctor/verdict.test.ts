import { describe, expect, it } from "vitest";
import { diagnose } from "../../src/doctor/diagnose.js";
import type { Diagnosis } from "../../src/doctor/diagnosis.js";
import type { Examination } from "../../src/doctor/examination.js";
import { type DeviceChange, deviceWith, healthyHealth, otherProgram, rates } from "../helpers/examination.js";
import {
  diagnosisContext,
  healthyExamination,
  link,
  noHealth,
  unseen as noNvml,
  slow as slowMeasured,
} from "./cause-case.js";

/** Sentences of a diagnosis, and which of several devices decides the verdict. */

function diagnosed(changes: readonly DeviceChange[], more: Partial<Examination> = {}): Diagnosis {
  const { devices } = healthyExamination();
  const changed = changes.map((change, i) => deviceWith(devices[i]!.path, i, change));
  return diagnose({ ...healthyExamination(), devices: changed, ...more }, diagnosisContext);
}

const slow: DeviceChange = { measured: slowMeasured };
const unmeasured: DeviceChange = { measured: { pinned: rates(null, 55), nodes: [] } };
const unknown: DeviceChange = { other: { expected: rates(55, null) } };
const ecc: DeviceChange = { after: { eccErrors: 1 } };
const unseen = (facts: object = {}): DeviceChange => ({ ...noNvml, facts: { link: null, ...facts } });

describe("a verdict", () => {
  it("counts the further findings after the one that it names", () => {
    const narrow: DeviceChange = {
      health: { link: { ...link, width: 8 } },
      measured: { pinned: rates(27.7, 27.6), nodes: [] },
    };
    const wakes: DeviceChange = { measured: { latency: { backToBackUs: 8, afterRestUs: 96 } } };
    expect(diagnosed([wakes, slow])).toMatchObject({
      verdict: "costs",
      reason: expect.stringMatching(/explains it\. One thing is worth a look\.$/),
    });
    expect(diagnosed([slow, slow]).reason).toMatch(/explains it\. 1 more cause\./);
    expect(
      diagnosed([narrow, { ...slow, measured: { ...slow.measured, slowShare: { h2d: 0.5, d2h: 0.5 } } }])
        .reason,
    ).toMatch(/ 2 more causes\./);
  });

  it("on a slow device adds that another device was not measured", () => {
    expect(diagnosed([slow, unmeasured]).reason).toMatch(
      /explains it\..* It is not known whether device 1 is healthy: there was no time left to measure\.$/,
    );
    expect(diagnosed([slow, {}]).reason).not.toContain("not known");
    // A device with a fault is known to be faulty.
    expect(diagnosed([slow, { ...unmeasured, ...ecc }]).reason).not.toContain("not known");
  });

  it("on single slow copies calls the median unaffected only if it is normal", () => {
    const slowShare = { h2d: 0.9, d2h: 0.9 };
    const summaryOf = (pinned: ReturnType<typeof rates>, share: Partial<typeof slowShare> = {}) =>
      diagnosed([{ measured: { pinned, slowShare: { ...slowShare, ...share }, nodes: [] } }]).findings.find(
        ({ cause }) => cause === "slow-copies",
      )!.summary;
    expect(summaryOf(rates(54, 54))).toMatch(/ 90 % of the time of .*, while its median is not affected\.$/);
    expect(summaryOf(rates(54, 27))).toMatch(/ 90 % of the time of .*, besides what its median loses\.$/);
    expect(summaryOf(rates(54, 27), { d2h: 0 })).toMatch(/, while its median is not affected\.$/);
  });

  it("names the devices that were not measured in both directions", () => {
    const reason = (...changes: DeviceChange[]) => diagnosed(changes).reason;
    expect(reason({}, unmeasured)).toContain(
      "It is not known whether device 1 is healthy: there was no time",
    );
    expect(reason(unmeasured, unmeasured)).toContain("It is not known whether devices 0, 1 are healthy");
    expect(diagnosed([])).toMatchObject({
      verdict: "inconclusive",
      findings: [],
      reason: "There was no device to examine.",
    });
  });

  it("without a reference has the measured rates, their share of the link, and why there is no reference", () => {
    const none = { other: { expected: rates(null, null), reference: null, limitGBps: 63.015 } };
    const reason = (change: DeviceChange) => diagnosed([{ ...none, ...change }]).reason;
    const measured = "Pinned copies of device 0 reach 55.6 GB/s and 55.2 GB/s";
    const ofLink = "88 and 87 % of PCIe gen5 x16; 83 to 91 % is usual";
    expect(reason({})).toBe(
      `${measured}, ${ofLink}. There is no reference for the NVIDIA H100 80GB HBM3 over this link.`,
    );
    const part = `${measured}, ${ofLink}. There is no reference for a part of a GPU, which shares its link with others. One`;
    expect(reason({ facts: { name: "NVIDIA A10-8Q" } })).toContain(part.slice(0, -5));
    expect(reason({ health: { migEnabled: true } })).toContain(part.slice(0, -5));
    const bare = { other: { ...none.other, limitGBps: null } };
    const past = `${measured}. There is no reference for copies that do not go over PCIe.`;
    expect(reason({ ...bare, facts: { integrated: true } })).toBe(past);
    expect(reason({ ...bare, health: { c2cLinks: 1 } })).toBe(past);
    expect(reason(bare)).toBe(`${measured}. There is no reference for an unknown link.`);
    expect(diagnosed([{}, none]).reason).toMatch(/^Pinned copies of device 1 /);
  });

  it("is the worst of all devices: costs, then faulty, then unmeasured, then unknown", () => {
    const verdictOf = (...changes: DeviceChange[]) => diagnosed(changes).verdict;
    const reasonOf = (...changes: DeviceChange[]) => diagnosed(changes).reason;
    expect(verdictOf(slow, unmeasured)).toBe("costs");
    expect(verdictOf(ecc, unmeasured)).toBe("faulty");
    expect(reasonOf(ecc, unmeasured)).toMatch(
      /^Device 0: the device's memory had uncorrectable errors\. It is not known whether device 1 is healthy/,
    );
    expect(reasonOf(unmeasured, unknown)).toContain("no time left");
    expect(reasonOf(ecc, slow)).toMatch(
      /explains it\. Device 0: the device's memory had uncorrectable errors\.$/,
    );
    expect(verdictOf(ecc, unknown)).toBe("faulty");
    expect(reasonOf(ecc, unknown)).toBe("Device 0: the device's memory had uncorrectable errors.");
    expect(reasonOf(ecc, {})).toBe(
      "Copies are as fast as they should be, but device 0: the device's memory had uncorrectable errors.",
    );
    expect(verdictOf(unknown, {})).toBe("no-reference");
  });

  it("stays healthy with findings that are only to be watched, and counts them", () => {
    const watched = diagnosed([{ health: { clockReasons: ["sw-power-cap"] } }]);
    expect(watched.findings[0]!.action).toBe("monitor");
    expect(watched).toMatchObject({
      verdict: "healthy",
      reason: expect.stringMatching(/ One thing is worth a look\.$/),
    });
    const two = diagnosed([
      { health: { clockReasons: ["sw-power-cap"] } },
      { other: { correctableErrors: 99 } },
    ]);
    expect(two.reason).toMatch(/ 2 things are worth a look\.$/);
  });

  it("of a healthy machine has the slowest pageable rate of all devices, if any was measured", () => {
    const pageable = (h2d: number | null, d2h: number | null): DeviceChange => ({
      measured: { pageable: rates(h2d, d2h) },
    });
    expect(diagnosed([pageable(9, 8), pageable(7, null)]).reason).toContain(
      "Pageable copies reach 7.00 GB/s",
    );
    expect(diagnosed([pageable(null, null)]).reason).toBe(
      "Pinned copies are as fast as on healthy machines of this kind.",
    );
  });

  it("is healthy if a finding explains slow copies", () => {
    const divided = { ...slow, health: { migEnabled: true } };
    expect(diagnosed([divided])).toMatchObject({
      verdict: "healthy",
      reason:
        "Copies are slower than on other machines of this kind, as expected here: the findings say why.",
    });
  });
});

describe("the sentence on a finding", () => {
  it("begins with its device if there are several, unless it is about the host", () => {
    const together = { measured: { together: rates(28, 28) } };
    expect(diagnosed([together, together]).findings.map(({ summary }) => summary.slice(0, 60))).toEqual([
      "Device 0: the device shares a way to the CPU with device 1, ",
      "Device 1: the device shares a way to the CPU with device 0, ",
    ]);
    expect(diagnosed([{}, ecc]).findings[0]!.summary).toBe(
      "Device 1: the device's memory had uncorrectable errors.",
    );
    expect(diagnosed([ecc]).findings[0]!.summary).toBe("The device's memory had uncorrectable errors.");
    expect(diagnosed([slow, {}]).findings[0]!.summary).toMatch(
      /^Device 0 \(NVIDIA H100 80GB HBM3\) copies slower/,
    );
    const rest = diagnosed([{ measured: { latency: { backToBackUs: 8, afterRestUs: 96 } } }, {}]);
    expect(rest.findings[0]!.summary).toMatch(/^A small copy takes/);
  });

  it("names the device that failed and what to do, if it is the second one", () => {
    const { findings } = diagnosed([{}, { other: { failure: "it fell off the bus" } }]);
    expect(findings[0]).toMatchObject({
      cause: "device-fails",
      device: 1,
      summary: "Device 1 (NVIDIA H100 80GB HBM3) could not be measured completely.",
      fix: "Check the kernel log and nvidia-smi, then reset the device or reboot.",
      action: "reset",
    });
  });

  it("advises to examine the device again if stolen CPU time may have caused its loss", () => {
    const { machine } = healthyExamination();
    const load = { stealShare: 0.1, otherCpuShare: null, memoryPressureShare: 0 };
    const activity = { load, swappedPages: 0 } as unknown as Examination["machine"]["activity"];
    const lossOf = (...[changes, more]: Parameters<typeof diagnosed>) =>
      diagnosed(changes, more).findings.find(({ cause }) => cause === "unexplained");
    expect(lossOf([slow], { machine: { ...machine, activity } })).toMatchObject({
      ...{ action: "monitor", sureness: "possible", fix: expect.stringMatching(/^Examine the device again/) },
    });
  });

  it("on devices that copy together reports losses of more than twice the tolerance", () => {
    const ports = (i: number) => [
      { ...healthyExamination().devices[i]!.path.ports[0]!, name: `0000:0${i}:00.0` },
      { ...healthyExamination().devices[i]!.path.ports[1]!, name: `0000:1${i}:00.0` },
    ];
    const together = (h2d: number, d2h: number, i: number): DeviceChange => ({
      measured: { together: rates(h2d, d2h) },
      other: {
        expectedTogether: rates(50, 50),
        path: { ...healthyExamination().devices[i]!.path, ports: ports(i) },
      },
    });
    const { findings } = diagnosed([together(44.9, 45, 0), together(45, 45, 1)]);
    expect(findings).toMatchObject([
      {
        cause: "slow-together",
        device: 0,
        evidence: ["to the device: 44.9 GB/s with the others, instead of the expected 50.0 GB/s"],
        cost: { direction: "h2d", gigabytesPerSecond: expect.closeTo(5.1), copies: "together" },
        fix: expect.stringContaining("memory modules are missing or all on one node"),
      },
    ]);
    expect(diagnosed([together(50, 50, 0), together(40, 39, 1)]).findings).toMatchObject([
      {
        ...{ device: 1, cost: { direction: "both", gigabytesPerSecond: expect.closeTo(10) } },
        evidence: ["to", "from"].map((way) => expect.stringMatching(`^${way} the device: .* expected 50`)),
      },
    ]);
  });
});

describe("a device's row in a diagnosis", () => {
  const rowOf = (change: DeviceChange) => diagnosed([change]).devices[0]!;
  const x4 = { generation: 4, width: 4, maxGeneration: 5, maxWidth: 16 } as never;

  it("has the link under load, or else the driver's or sysfs' link", () => {
    const slowest = { measured: { pinned: rates(5, 5), nodes: [] } };
    expect(rowOf({ ...slowest, health: { link: x4 } }).link).toBe("PCIe gen4 x4");
    const atRest = { facts: { link: { ...link, generation: 1, width: 16 } } };
    expect(rowOf({ ...slowest, ...atRest, health: { link: x4 } }).link).toBe("PCIe gen4 x4");
    expect(rowOf({ ...slowest, ...unseen({ link: x4 }) }).link).toBe("PCIe gen4 x4");
    expect(rowOf({ ...slowest, ...unseen() }).link).toBe("PCIe gen5 x16");
    const path = { ...healthyExamination().devices[0]!.path, ports: [] };
    expect(rowOf({ ...slowest, ...unseen(), other: { health: noHealth, path } }).link).toBeNull();
    for (const missing of [{ generation: null }, { width: null }]) {
      const port = { ...healthyExamination().devices[0]!.path.ports[0]!, ...missing };
      const other = { health: noHealth, path: { ...path, ports: [port] } };
      expect(rowOf({ ...slowest, ...unseen(), other }).link).toBeNull();
    }
  });

  it("has shares of the link's limit, if that and the rate are known", () => {
    expect(rowOf({ measured: { pinned: rates(31.5, null) }, other: { limitGBps: 63 } }).rates).toMatchObject([
      { direction: "h2d", gigabytesPerSecond: 31.5, shareOfLimit: 0.5, expectedGigabytesPerSecond: 55.4 },
      { direction: "d2h", gigabytesPerSecond: null, shareOfLimit: null },
    ]);
    expect(rowOf({ other: { limitGBps: null } }).rates[0]!.shareOfLimit).toBeNull();
    const together = rowOf({ measured: { together: rates(40, 40) } }).rates;
    expect(together[2]).toMatchObject({ together: true, expectedGigabytesPerSecond: null });
  });

  it("has the number of copies and of verified ones, if known", () => {
    const copied = { made: 9, proven: 4, provenH2d: 3, provenD2h: 1, bytes: 1 };
    expect(rowOf({ other: { copied } }).copies).toEqual({ made: 9, proven: 4, provenEachWay: 1 });
    const { copied: _, ...device } = deviceWith(healthyExamination().devices[0]!.path, 0, {});
    expect(diagnosed([], { devices: [device] }).devices[0]).not.toHaveProperty("copies");
  });
});

describe("a fact that NVML did not report", () => {
  const linesOf = (...changes: DeviceChange[]) => diagnosed(changes).unseen;
  const lines = {
    none: "link, clocks, ECC and other users of a device: there is no NVML",
    replays: "replay counters: NVML does not report them",
    clocks: "reasons for lower clocks: NVML does not report them",
    others: "other processes on the device: NVML does not list them here",
  };

  it("has a line of its own, even if only one of two devices lacks it", () => {
    expect(linesOf({}, {})).toEqual([]);
    expect(linesOf({}, unseen())).toEqual([lines.none]);
    expect(linesOf({}, { health: { replays: null } })).toEqual([lines.replays]);
    expect(linesOf({}, { health: { clockReasons: null } })).toEqual([lines.clocks]);
    expect(linesOf({}, { other: { others: null } })).toEqual([lines.others]);
    expect(linesOf({ other: { others: [otherProgram({})] } })).toEqual([]);
    expect(linesOf({ other: { health: noHealth, others: null } })).toEqual([lines.none]);
  });

  it("is listed by the reading before the copies, if there is none under load", () => {
    const before = { ...healthyHealth, replays: null };
    expect(linesOf({ other: { health: { ...noHealth, before } } })).toEqual([lines.replays]);
  });
});
