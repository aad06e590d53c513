import { describe, expect, it } from "vitest";
import { healthCheckCodes, healthCheckLine, nodeState } from "../../src/doctor/automation.js";
import { diagnose } from "../../src/doctor/diagnose.js";
import type { Diagnosis } from "../../src/doctor/diagnosis.js";
import { diagnosisKind } from "../../src/doctor/diagnosis-report.js";
import { comparedWith } from "../../src/doctor/examined-device.js";
import { readMachineFacts } from "../../src/doctor/facts/machine-facts.js";
import { readPciPath } from "../../src/doctor/facts/pci-path.js";
import { fileScreen } from "../../src/draw/screen.js";
import { drawn } from "../helpers/drawn.js";
import { type DeviceChange, deviceWith, otherProgram, rates } from "../helpers/examination.js";
import { gpuNames, machineTree, type TreeFiles } from "../helpers/machine-tree.js";
import { seeded } from "../helpers/seeded.js";
import { busy, link } from "./cause-case.js";
import { virtualMachine } from "./device-cases.js";

/*
 * Machines with wrong readings, or with several faults at once. No finding on them is false, and no node is drained for a
 * fault of something else. Expected rates are pinbench's own references.
 */

function examined(changes: readonly DeviceChange[], files: TreeFiles = {}) {
  const root = machineTree(files);
  const devices = changes.map((change, i) => {
    const path = readPciPath(gpuNames[i % gpuNames.length]!, root);
    const device = deviceWith(path, i, change);
    const subject = { ...device, path: { before: path, underLoad: path }, site: null };
    return { ...device, ...comparedWith(subject as never, false), ...change.other };
  });
  const machine = readMachineFacts(root, null);
  const diagnosis = diagnose(
    { emulated: false, machine, devices },
    { backend: "cuda", sizeBytes: 2 ** 26, createdAt: new Date(0), wallNs: 9e9, labels: {} },
  );
  const state = nodeState(diagnosis);
  return { ...diagnosis, state, drains: healthCheckCodes[state] === 1 };
}

const causeOf = ({ findings }: Diagnosis, cause: string) => findings.find((one) => one.cause === cause);
const half: DeviceChange["measured"] = { pinned: rates(27.2, 27.1), nodes: [] };
const gen4 = { ...link, generation: 4, maxGeneration: 4 };
const gen4Card = { cardMaxGeneration: 4 };
const ecc = { eccErrors: 1 };

describe("a counter of packets sent again", () => {
  it("explains nothing if it exceeds the number of packets", () => {
    const found = examined([{ after: { replays: 4_294_967_295 }, measured: half }]);
    expect(found.findings[0]!.cause).toBe("unexplained");
    expect(causeOf(found, "link-errors")).toBeUndefined();
    expect(found.unseen).toContain(
      "replay counter of device 0: it rose by 4294967292, more than there were packets, so the counter is wrong",
    );
  });

  it("explains no more than all of the time, however high it is", () => {
    const found = examined([{ after: { replays: 3 + 300_000 }, measured: half }]);
    expect(causeOf(found, "link-errors")).toMatchObject({
      weight: "costs",
      evidence: expect.arrayContaining(["these errors take at most 94 % of the time"]),
    });
  });

  it("is not called impossible on a link that copies do not use", () => {
    const health = { c2cLinks: 10, link: { ...link, generation: 1, width: 1 } };
    const found = examined([{ health, measured: { pinned: rates(369, 297), nodes: [] } }]);
    expect(found.unseen).toEqual([]);
  });
});

describe("a machine is not blamed for", () => {
  it("a disturbance while its own NUMA node was measured", () => {
    const nodes = [
      { node: 0, rates: rates(20, 20) },
      { node: 1, rates: rates(54, 54) },
    ];
    const found = examined([{ measured: { pinned: rates(44, 44), nodes } }]);
    // The gain is over 44 GB/s, not over 20.
    expect(causeOf(found, "numa-far")!.cost!.gigabytesPerSecond).toBeCloseTo(10, 1);
  });

  it("a loss while another program runs kernels, even if these do not explain all of it", () => {
    const seen = { computePercent: 6, toDeviceBytesPerSecond: 0, fromDeviceBytesPerSecond: 0 };
    const found = examined([{ measured: half, other: { others: [otherProgram({})], activityBefore: seen } }]);
    expect(causeOf(found, "device-shared")!.cost!.gigabytesPerSecond).toBeLessThan(3);
    expect(found.findings[0]).toMatchObject({
      cause: "unexplained",
      sureness: "possible",
      action: "monitor",
      fix: "Examine the device again when no other program uses it or the CPUs.",
    });
    expect({ state: found.state, drains: found.drains }).toEqual({ state: "warning", drains: false });
  });

  it("half of its lanes, if it is a virtual machine whose GPU model has no reference", () => {
    const narrow: DeviceChange = {
      facts: { name: "NVIDIA RTX A6000", computeCapability: "8.6" },
      health: { ...gen4Card, link: { ...gen4, width: 8 } },
      measured: { pinned: rates(13.5, 13.4), nodes: [] },
    };
    const found = examined([narrow], virtualMachine);
    expect(found).toMatchObject({ verdict: "no-reference", state: "warning", drains: false });
    expect(causeOf(found, "link-narrow")).toMatchObject({
      sureness: "likely",
      action: "monitor",
      weight: "risk",
    });
    // It is a fault if both ends are seen, or if all recordings of the model have all lanes.
    expect(examined([narrow]).drains).toBe(true);
    const h100 = { health: { link: { ...link, width: 8 } }, measured: half };
    expect(examined([h100], virtualMachine).drains).toBe(true);
  });

  it("a slot with fewer lanes than the card, which may be by design", () => {
    const health = { link: { ...link, width: 8, maxWidth: 8 } };
    const found = examined([{ health, measured: { pinned: rates(27.6, 27.5), nodes: [] } }]);
    expect(causeOf(found, "slot-narrow")).toMatchObject({ weight: "costs", action: "none" });
    expect({ state: found.state, drains: found.drains }).toEqual({ state: "warning", drains: false });
  });

  it("the failure of another device, which ended the examination", () => {
    const lost = {
      failure: "not measured, as the process lost its contexts",
      failureKind: "another" as const,
    };
    const unmeasured = { measured: { pinned: rates(null, null), nodes: [] }, other: lost };
    const { findings, verdict } = examined([{ other: { failure: "cuMemcpyHtoDAsync failed" } }, unmeasured]);
    expect(findings.map(({ device, action }) => [device, action])).toEqual([
      [0, "reset"],
      [1, "monitor"],
    ]);
    expect(findings[1]!.fix).toBe("Examine this device by itself: pinbench doctor --device 1.");
    expect(verdict).toBe("inconclusive");
  });
});

describe("the fault that requires a reset", () => {
  const lineOf = (diagnosis: Diagnosis) => healthCheckLine(diagnosis, fileScreen({ columns: 100 }));

  it("is named even if another process causes a cost", () => {
    const found = examined([{ after: ecc, measured: half, other: { activityBefore: busy } }]);
    expect(found.reason).toBe(
      "Another process used the device before the examination. The device's memory had uncorrectable errors.",
    );
    expect(lineOf(found)).toBe(
      "ERROR:  nhc:  Health check failed:  pinbench doctor:  The device's memory had uncorrectable errors.\n",
    );
  });
});

describe("the first 20 lines of doctor's output in 80 columns", () => {
  const ill: readonly DeviceChange[] = [
    { measured: half },
    { after: ecc },
    { after: ecc, measured: half },
    { measured: half, other: { others: [otherProgram({})], activityBefore: busy } },
    { health: { link: { ...link, width: 8 } }, measured: half },
    { health: { link: { ...link, width: 8, maxWidth: 8 } }, measured: half },
    { health: { clockReasons: ["hw-thermal-slowdown"] }, measured: half },
    { other: { failure: "cuMemcpyHtoDAsync failed: CUDA_ERROR_LAUNCH_FAILED" } },
    { other: { wrongCopies: 3 } },
    { measured: { pinned: rates(55, 55), together: rates(20, 20) } },
  ];

  it("name the host, the worst finding, its cost and what to do, for eight devices", () => {
    const { uniform } = seeded(29);
    const one = <T>(some: readonly T[]) => some[Math.floor(some.length * uniform())]!;
    for (let machine = 0; machine < 60; ++machine) {
      const changes = Array.from({ length: 8 }, () => (uniform() < 0.4 ? one(ill) : {}));
      const found = examined([one(ill), ...changes.slice(1)].sort(() => uniform() - 0.5));
      const asking = found.findings.filter(({ action }) => action === "isolate" || action === "reset");
      const [first] = [...asking, ...found.findings.filter(({ weight }) => weight === "costs")];
      const lines = drawn(diagnosisKind, found, "table", fileScreen({ columns: 80 })).split("\n");
      const screen = lines.slice(0, 20).join(" ").replaceAll(/\s+/g, " ");
      expect(screen).toContain(` Host ${found.host} `);
      if (first === undefined) continue;
      expect(screen.toLowerCase()).toContain(first.summary.toLowerCase());
      const action = first.action === "none" ? "do" : first.action;
      expect(screen.toLowerCase()).toContain(`${action}: ${first.fix!.replace(/\.$/, "")}`.toLowerCase());
      if (first.cost !== null) expect(screen).toMatch(/costs [\d.]+ GB\/s /);
    }
  });
});
