import { describe, expect, it } from "vitest";
import { nodeState } from "../../src/doctor/automation.js";
import { diagnose } from "../../src/doctor/diagnose.js";
import { type Diagnosis, diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { betterRates, type DeviceExamination, slowShareOf } from "../../src/doctor/examination.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { examinationOf, healthyMeasurements, otherProgram, rates } from "../helpers/examination.js";
import { busy } from "./cause-case.js";
import { context, diagnosisOf, measured, root } from "./diagnosed.js";

const causesOf = ({ findings }: Diagnosis) => findings.map(({ cause }) => cause);

describe("a diagnosis", () => {
  it("is a valid document with the machine's facts and the measured rates", () => {
    const diagnosis = diagnosisOf();
    expect(diagnosisSchema.parse(diagnosis)).toEqual(diagnosis);
    expect(diagnosis).toMatchObject({
      ...{ createdAt: "2026-11-22T10:00:00.000Z", wallNs: 9e9, backend: "cuda", notice: null },
      ...{ host: "node07", sizeBytes: 2 ** 26, labels: { rack: "7" } },
      devices: [
        {
          ordinal: 0,
          link: "PCIe gen5 x16",
          limitGigabytesPerSecond: expect.closeTo(63.015, 2),
          reference: "a test",
          rates: [
            { direction: "h2d", together: false, gigabytesPerSecond: 55.6, expectedGigabytesPerSecond: 55.4 },
            {
              direction: "d2h",
              together: false,
              gigabytesPerSecond: 55.2,
              shareOfLimit: expect.closeTo(0.876, 3),
            },
          ],
        },
      ],
    });
  });

  it("of an emulated device says that it is not a GPU", () => {
    expect(diagnose(examinationOf(root), { ...context, backend: "emulated" }).notice).toBe(emulatedNotice);
  });

  it("of a healthy machine has no finding", () => {
    expect(diagnosisOf()).toMatchObject({
      verdict: "healthy",
      findings: [],
      reason:
        "Pinned copies are as fast as on healthy machines of this kind. Pageable copies reach 11.3 GB/s; there is no reference for them.",
    });
  });
});

describe("with two measurements of the same copies", () => {
  it.each([
    ["both slow, though unequal", rates(30, 55), rates(44, 54), rates(44, 55)],
    ["the second one not slow", rates(30, 41), rates(55, 54), rates(55, 54)],
    ["one direction slow in each", rates(30, 55), rates(55, 30), rates(55, 55)],
    ["one without a rate, as data came back wrong", rates(null, 55), rates(50, null), rates(50, 55)],
  ])("the better rate of each direction counts: %s", (_, first, second, better) => {
    expect(betterRates(first, second)).toEqual(better);
    expect(betterRates(second, first)).toEqual(better);
  });

  it("a device that was slow in only one of them stays healthy, with a finding", () => {
    const firstLook = rates(30, 55.2);
    const pinned = betterRates(firstLook, rates(55.4, 30));
    const diagnosis = diagnosisOf(measured({ ...healthyMeasurements, firstLook, pinned }));
    expect(diagnosis.verdict).toBe("healthy");
    expect(causesOf(diagnosis)).toEqual(["slow-at-first"]);
  });
});

describe("slow copies that the median does not show", () => {
  const withShare = (h2d: number | null, d2h: number | null) =>
    diagnosisOf(measured({ ...healthyMeasurements, slowShare: { h2d, d2h } }));

  it("cost the difference between the median and the average rate", () => {
    const diagnosis = withShare(0.65, 0.01);
    expect(diagnosis).toMatchObject({
      verdict: "costs",
      reason: expect.stringMatching(/^Single slow copies take 65 % of the time of device 0/),
    });
    expect(diagnosis.findings).toMatchObject([
      {
        cause: "slow-copies",
        weight: "costs",
        evidence: ["to the device: the average is 19.4 GB/s, the median 55.6 GB/s"],
        cost: { direction: "h2d", gigabytesPerSecond: expect.closeTo(0.65 * 55.6, 6), basis: "measured" },
      },
    ]);
    expect(withShare(0.2, 0.3).findings[0]).toMatchObject({
      summary: expect.stringMatching(/ take 30 % of the time/),
      cost: { direction: "both" },
    });
  });

  it("cost nothing if they take less than 5 % of the time, or if their share is unknown", () => {
    for (const diagnosis of [withShare(0.049, 0), withShare(null, null)]) {
      expect(diagnosis).toMatchObject({ verdict: "healthy", findings: [] });
    }
  });

  it("are no finding on an emulated device, which copies with the CPU", () => {
    const change = {
      measured: { ...healthyMeasurements, slowShare: { h2d: 0.5, d2h: 0.5 } },
      other: { expected: rates(null, null) },
    };
    expect(causesOf(diagnosisOf(change, { emulated: true }))).not.toContain("slow-copies");
    expect(causesOf(diagnosisOf(change))).toContain("slow-copies");
  });

  it("count only if there are two or more, as a single one may be an interrupt", () => {
    const samples = (slow: number) => Array.from({ length: 27 }, (_, i) => (i < slow ? 55 / 20 : 55));
    expect(slowShareOf(samples(0))).toBe(0);
    expect(slowShareOf(samples(1))).toBe(0);
    expect(slowShareOf(samples(2))).toBeCloseTo(1 - 27 / (25 + 40), 6);
    expect(slowShareOf([])).toBeNull();
    expect(slowShareOf([55])).toBe(0);
  });
});

describe("a rate below the expectation", () => {
  it("that nothing explains is a finding of its own, with the loss", () => {
    const slow = diagnosisOf(measured({ ...healthyMeasurements, pinned: rates(44.3, 55.2), nodes: [] }));
    expect(slow.verdict).toBe("costs");
    expect(slow.findings.at(0)).toMatchObject({
      cause: "unexplained",
      weight: "costs",
      evidence: ["to the device: 44.3 GB/s, instead of the expected 55.4 GB/s"],
      cost: { direction: "h2d", gigabytesPerSecond: expect.closeTo(11.1, 1), basis: "measured" },
    });
    expect(slow.reason).toContain("none of the examined causes explains it");
  });

  it("is no reason to take the device out of use while another NUMA node may explain it", () => {
    const ofUntried = { ...healthyMeasurements, pinned: rates(44.3, 55.2), nodes: [], untriedNodes: [1, 2] };
    const [found] = diagnosisOf(measured(ofUntried)).findings;
    expect(found).toMatchObject({ cause: "unexplained", sureness: "possible", action: "monitor" });
    expect(found!.evidence.slice(1)).toEqual([1, 2].map((node) => `not tried: memory of NUMA node ${node}`));
    expect(found!.fix).toContain("--numa all");
  });

  const besideNode = (own: ReturnType<typeof rates>, other: ReturnType<typeof rates>) => {
    const nodes = [own, other].map((ofNode, node) => ({ node, rates: ofNode }));
    const { findings } = diagnosisOf(measured({ ...healthyMeasurements, pinned: own, nodes }));
    expect(findings.map(({ cause }) => cause)).toContain("numa-far");
    return findings.find(({ cause }) => cause === "unexplained")!;
  };

  it.each([
    ["to the host", rates(30, 54.5)],
    ["to the device", rates(54.5, 30)],
  ])("in one direction stays unexplained if a finding explains only copies %s", (_, other) => {
    const { summary, evidence } = besideNode(rates(30, 30), other);
    expect(evidence).toHaveLength(1);
    expect(summary).toContain("none of the examined causes explains it");
  });

  it("counts as partly explained if a finding explains a part of one direction", () => {
    const { summary, evidence } = besideNode(rates(20, 30), rates(35, 30));
    expect(summary).toContain("copies slower than the findings explain");
    expect(evidence).toEqual([
      expect.stringMatching(/^to the device: 20\.0 GB\/s, .* 55\.4 GB\/s; \d+\.\d+ GB\/s are explained$/),
      "from the device: 30.0 GB/s, instead of the expected 55.0 GB/s",
    ]);
  });

  it.each([
    { what: "lost in one direction only", pinned: rates(27, 55) },
    { what: "lost more in one direction", pinned: rates(22, 36) },
    { what: "lost far more in one direction", pinned: rates(20, 47) },
  ])("while another program copies is attributed to that program, $what", ({ pinned }) => {
    const change = {
      other: { others: [otherProgram({ pid: 4711 })], activityBefore: busy },
      ...measured({ ...healthyMeasurements, pinned, nodes: [] }),
    };
    const diagnosis = diagnosisOf(change);
    expect(causesOf(diagnosis)).toEqual(["device-shared"]);
    expect(diagnosis.reason).toBe(diagnosis.findings[0]!.summary);
  });
});

describe("devices that copy at the same time", () => {
  const together = (h2d: number, d2h: number) => ({
    ...measured({ ...healthyMeasurements, together: rates(h2d, d2h) }),
    other: { expectedTogether: rates(52, 51) },
  });

  it("have the rates of simultaneous copies in rows of their own", () => {
    const { devices } = diagnosisOf(together(52, 51), {}, 2);
    expect(devices[1]!.rates.map(({ together: atOnce }) => atOnce)).toEqual([false, false, true, true]);
    expect(devices[1]!.rates[2]).toMatchObject({ gigabytesPerSecond: 52, expectedGigabytesPerSecond: 52 });
  });

  it("are reported for a shared uplink if they are slow below one switch", () => {
    expect(causesOf(diagnosisOf(together(28, 28), {}, 2))).not.toContain("slow-together");
    expect(causesOf(diagnosisOf(together(28, 28), {}, 2))).toContain("uplink-shared");
  });

  /** Two devices with these ports each. */
  const slowWith = (portsOf: (device: number) => DeviceExamination["path"]["ports"], rate = 28) => {
    const examination = examinationOf(root, together(rate, rate), { devices: 2 });
    const devices = examination.devices.map((device, i) => ({
      ...device,
      path: { ...device.path, ports: portsOf(i) },
    }));
    return diagnose({ ...examination, devices }, context);
  };
  const port = examinationOf(root).devices[0]!.path.ports[0]!;
  const named = (name: string) => ({ ...port, name });

  it("are a risk if they are slow and share no known bridge, which a virtual machine may hide", () => {
    const diagnosis = slowWith((device) => [named(`0000:0${device}:01.0`)]);
    expect(diagnosis.findings.map(({ cause, weight }) => [cause, weight])).toEqual([
      ["slow-together", "risk"],
      ["slow-together", "risk"],
    ]);
    expect(diagnosis.verdict).toBe("healthy");
  });
});

describe("an inconclusive diagnosis", () => {
  it("begins with wrong data, whatever else was found", () => {
    const diagnosis = diagnosisOf({
      other: { wrongCopies: 2 },
      ...measured({ ...healthyMeasurements, pinned: rates(20, 20) }),
    });
    expect(causesOf(diagnosis)[0]).toBe("wrong-data");
    expect(diagnosis).toMatchObject({
      verdict: "inconclusive",
      reason: "Data came back wrong on device 0 (NVIDIA H100 80GB HBM3): do not trust this machine's copies.",
    });
  });

  it("asks for no reset if a device lacks memory, which other programs may hold", () => {
    const failure = "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2)";
    const { fix } = diagnosisOf({ other: { failure, failureKind: "memory" } }).findings[0]!;
    expect(fix).not.toContain("reset");
  });

  it("is given for an emulated device without an expected rate", () => {
    const unknown = { other: { expected: rates(null, null), reference: null } };
    expect(diagnosisOf(unknown, { emulated: true })).toMatchObject({
      verdict: "inconclusive",
      reason: "Cannot judge an emulated device without a link.",
    });
  });
});

describe("a verdict", () => {
  it("does not mark a node critical for a missing reference or for a lack of device memory", () => {
    const slow = diagnosisOf({
      other: { expected: rates(null, null), reference: null },
      ...measured({ ...healthyMeasurements, pinned: rates(20, 20), nodes: [] }),
    });
    expect(slow.findings).toEqual([]);
    const failure = "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2)";
    const full = diagnosisOf({ other: { failure, failureKind: "memory" } });
    expect([nodeState(slow), nodeState(full)]).toEqual(["ok", "unknown"]);
    expect(nodeState(diagnosisOf({ other: { failure: "lost" } }))).toBe("critical");
  });

  it("is only a warning if another program copies, and critical for wrong data", () => {
    const shared = diagnosisOf({
      other: { others: [otherProgram({})], activityBefore: busy },
      ...measured({ ...healthyMeasurements, pinned: rates(27, 27), nodes: [] }),
    });
    expect([shared.verdict, nodeState(shared)]).toEqual(["costs", "warning"]);
    expect(nodeState(diagnosisOf({ other: { wrongCopies: 1 } }))).toBe("critical");
    expect(nodeState(diagnosisOf())).toBe("ok");
  });
});
