import { describe, expect, it } from "vitest";
import { diagnosisSchema } from "../../src/doctor/diagnosis.js";
import { type DoctorOptions, doctor } from "../../src/index.js";

const small: DoctorOptions = { backend: "emulated", llc: "1MiB", quick: true };

describe("doctor() of the library", () => {
  it("returns the document that --json prints", async () => {
    const diagnosis = await doctor(small);
    expect(diagnosisSchema.parse(diagnosis)).toEqual(diagnosis);
    // Of an emulated device without a link nothing is known to compare it with.
    expect(diagnosis).toMatchObject({
      kind: "diagnosis",
      verdict: "inconclusive",
      backend: "emulated",
      labels: {},
    });
    expect(diagnosis.devices).toHaveLength(1);
  });

  it("rejects if it is aborted", async () => {
    await expect(doctor({ ...small, signal: AbortSignal.abort() })).rejects.toThrow();
  });

  it("says what is wrong with an option", async () => {
    const misspelt = { ...small, fast: true } as DoctorOptions;
    await expect(doctor(misspelt)).rejects.toMatchObject({
      kind: "usage",
      hint: "The options are backend, device, quick, reference, llc.",
    });
    await expect(doctor({ ...small, device: [7] })).rejects.toMatchObject({ kind: "unavailable" });
  });
});
