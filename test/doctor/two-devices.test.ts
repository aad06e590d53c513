import { describe, expect, it } from "vitest";
import { diagnose } from "../../src/doctor/diagnose.js";
import type { Examination } from "../../src/doctor/examination.js";
import { type DeviceChange, examinationOf, otherProgram, rates } from "../helpers/examination.js";
import { errorCounts, gpuNames, machineTree, pciFile, type TreeFiles } from "../helpers/machine-tree.js";
import { busy, diagnosisContext, foundIn, link, slow } from "./cause-case.js";

/** Two devices of one machine, each with a change of its own. */
function examine(first: DeviceChange, second: DeviceChange, files: TreeFiles = {}): Examination {
  const root = machineTree(files);
  const [examination, other] = [first, second].map((change) => examinationOf(root, change, { devices: 2 }));
  return { ...examination!, devices: [examination!.devices[0]!, other!.devices[1]!] };
}

const found = (examination: Examination) => foundIn(examination).map(({ cause, device }) => [cause, device]);

const secondGpu = gpuNames[1];
const narrow = {
  health: { link: { ...link, width: 8 } },
  measured: { pinned: rates(27.7, 27.6), nodes: [] },
};

describe("a fault of the second of two devices is reported for that one alone", () => {
  it.each<[string, DeviceChange, TreeFiles?]>([
    ["link-narrow", narrow],
    ["clocks-held", { health: { clockReasons: ["sw-power-cap"] } }],
    ["memory-errors", { after: { eccErrors: 3 } }],
    ["link-errors", { before: { replays: 3 }, after: { replays: 5000 } }],
    ["device-shared", { measured: slow, other: { others: [otherProgram({ pid: 4711 })] } }],
    ["iommu-translates", { measured: slow }, { [pciFile(secondGpu, "iommu_group/type")]: "DMA\n" }],
    ["link-uncorrected", {}, { [pciFile(secondGpu, "aer_dev_fatal")]: errorCounts("FATAL", 2) }],
    ["xid-errors", {}, { "dev/kmsg": "4,900,5000,-;NVRM: Xid (PCI:0000:19:00): 79, pid=2\n" }],
  ])("%s", (cause, change, files) => {
    const all = found(examine({}, change, files));
    expect(all).toContainEqual([cause, 1]);
    expect(all).not.toContainEqual([cause, 0]);
  });
});

describe("a diagnosis of two devices", () => {
  const wakesAfter = (afterRestUs: number) => ({ measured: { latency: { backToBackUs: 8, afterRestUs } } });

  it.each([
    [96, 250, 1, "242.0 us"],
    [250, 96, 0, "242.0 us"],
    [15, 96, 1, "88.0 us"],
  ])(
    "with copies of %d us and %d us after a rest, names device %d as slower to wake",
    (first, second, device, longer) => {
      const [finding] = foundIn(examine(wakesAfter(first), wakesAfter(second)));
      expect(finding!.cause).toBe("wakes-slowly");
      expect(finding!.summary).toContain(`takes ${longer} longer`);
      expect(finding!.evidence[0]).toContain(`device ${device}, copies of 4 KiB: 8.00 us`);
    },
  );

  it("attributes slow copies to another program that uses the same device", () => {
    const uneven = { slowShare: { h2d: 0.3, d2h: 0 } };
    const used = { measured: uneven, other: { others: [otherProgram({ pid: 4711 })] } };
    const other = { ...used.other, activityBefore: busy };
    const { findings, unseen } = diagnose(
      examine({}, { ...used, health: { replays: null }, other }),
      diagnosisContext,
    );
    expect(findings).toMatchObject([{ cause: "device-shared", device: 1, weight: "costs" }]);
    // Facts that only the second device lacks are listed too.
    expect(unseen).toContain("replay counters: NVML does not report them");
  });

  it("does not excuse the loss of one device by a program on the other", () => {
    const shared = { other: { others: [otherProgram({ pid: 4711 })], activityBefore: busy } };
    const lost = { measured: { pinned: rates(40, 40), nodes: [] } };
    const { findings } = diagnose(examine(shared, lost), diagnosisContext);
    expect(findings.map(({ cause, device }) => [cause, device])).toContainEqual(["device-shared", 0]);
    expect(findings.find(({ cause }) => cause === "unexplained")).toMatchObject({
      device: 1,
      action: "isolate",
    });
  });

  it("begins with the device that loses more", () => {
    const narrower = {
      health: { link: { ...link, width: 4 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
    };
    expect(found(examine(narrow, narrower))).toEqual([
      ["link-narrow", 1],
      ["link-narrow", 0],
    ]);
    expect(found(examine(narrower, narrow))).toEqual([
      ["link-narrow", 0],
      ["link-narrow", 1],
    ]);
  });

  it("reports one device for a shared uplink and the other for slow simultaneous copies", () => {
    const shares = { measured: { together: rates(28, 28) } };
    const isSlow = {
      measured: { pinned: rates(30, 30), together: rates(28, 28), nodes: [] },
      other: { expectedTogether: rates(52, 51) },
    };
    const { findings } = diagnose(examine(shares, isSlow), diagnosisContext);
    const together = ["slow-together", "uplink-shared"].map((name) =>
      findings.flatMap(({ cause, device }) => (cause === name ? [device] : [])),
    );
    expect(together).toEqual([[1], [0]]);
  });

  it("reports a shared uplink only for devices that slow down when both copy", () => {
    const shared = { measured: { together: rates(28.1, 27.9) } };
    const kept = { measured: { together: rates(55, 54.8) } };
    expect(found(examine(kept, shared))).toEqual([["uplink-shared", 1]]);
    expect(found(examine(shared, kept))).toEqual([["uplink-shared", 0]]);
    const slower = { measured: { together: rates(20.1, 19.9) } };
    expect(foundIn(examine(shared, slower)).map(({ device, evidence }) => [device, evidence[1]])).toEqual([
      [0, "all devices together: 28.1 GB/s to the device, 27.9 GB/s back"],
      [1, "all devices together: 20.1 GB/s to the device, 19.9 GB/s back"],
    ]);
  });
});
