import { describe, expect, it } from "vitest";
import { nodeState } from "../../src/doctor/automation.js";
import { healthyMeasurements, otherProgram, rates } from "../helpers/examination.js";
import { busy, diagnosisOf, measured } from "./diagnosed.js";

describe("what a verdict claims", () => {
  const ofNoKind = { reference: { source: "its link alone", tolerance: 0.2, isOfKind: false } };

  it("of a kind that was never recorded is no health", () => {
    const { verdict, reason, devices } = diagnosisOf({
      facts: { name: "NVIDIA A100-SXM4-80GB" },
      other: { ...ofNoKind, expected: rates(27.1, 27.3), limitGBps: 31.507 },
      ...measured({ ...healthyMeasurements, pinned: rates(21.9, 24.1) }),
    });
    expect({ verdict, reason }).toEqual({
      verdict: "inconclusive",
      reason:
        "No reference for device 0 (NVIDIA A100-SXM4-80GB): pinned copies reach 21.9 GB/s and 24.1 GB/s. The link alone allows 31.5 GB/s.",
    });
    expect(devices[0]!.isOfKind).toBe(false);
  });

  it("leaves out pageable copies, of which nothing is known", () => {
    const pageable = rates(0.4, 0.7);
    expect(diagnosisOf(measured({ ...healthyMeasurements, pageable })).reason).toBe(
      "Pinned copies are as fast as on healthy machines of this kind. Pageable copies reach 0.40 GB/s; there is no reference for them.",
    );
  });

  it("is faulty if a finding asks to drain the node, however fast its copies are", () => {
    const diagnosis = diagnosisOf({ after: { eccErrors: 3 } });
    expect(diagnosis).toMatchObject({
      verdict: "faulty",
      reason: "Copies are as fast as they should be, but the device's memory had uncorrectable errors.",
      findings: [{ cause: "memory-errors", action: "reset", fix: expect.stringContaining("Drain the node") }],
    });
    expect(nodeState(diagnosis)).toBe("critical");
  });

  it("accuses no node of what it has no reference or no memory for", () => {
    const slow = diagnosisOf({
      other: { ...ofNoKind },
      ...measured({ ...healthyMeasurements, pinned: rates(30, 30), nodes: [] }),
    });
    expect(slow.findings[0]).toMatchObject({ cause: "unexplained", action: "monitor", sureness: "possible" });
    const failure = "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2)";
    const full = diagnosisOf({ other: { failure, outOfMemory: true } });
    expect([nodeState(slow), nodeState(full)]).toEqual(["warning", "unknown"]);
    expect(nodeState(diagnosisOf({ other: { failure: "lost" } }))).toBe("critical");
  });

  it("is no ground to drain a node if it only cannot tell, or somebody else copies", () => {
    expect(nodeState(diagnosisOf({ other: { expected: rates(null, null), reference: null } }))).toBe(
      "unknown",
    );
    const shared = diagnosisOf({
      other: { others: [otherProgram({})], activityBefore: busy },
      ...measured({ ...healthyMeasurements, pinned: rates(27, 27), nodes: [] }),
    });
    expect([shared.verdict, nodeState(shared)]).toEqual(["costs", "warning"]);
    expect(nodeState(diagnosisOf({ other: { wrongCopies: 1 } }))).toBe("critical");
    expect(nodeState(diagnosisOf())).toBe("ok");
  });
});
