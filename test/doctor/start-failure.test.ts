import { describe, expect, it } from "vitest";
import { nvidiaGpus, startFailure } from "../../src/doctor/start-failure.js";
import { PinbenchError } from "../../src/errors.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

/** Installed drivers that do not start. */

const failed = (code: string, cudaResult: number | null = null) =>
  new PinbenchError("unavailable", "The driver cannot be used.", { cause: { code, cudaResult } });
const gpu = (name: string, vendor: string, kind: string) => ({
  [`sys/bus/pci/devices/${name}/vendor`]: `${vendor}\n`,
  [`sys/bus/pci/devices/${name}/class`]: `${kind}\n`,
});
const withGpu = fixtureRoot({
  ...gpu("0000:17:00.0", "0x10de", "0x030200"),
  ...gpu("0000:17:00.1", "0x10de", "0x040300"),
  ...gpu("0000:05:00.0", "0x1a03", "0x030000"),
});
const without = fixtureRoot();

describe("a failure to start CUDA", () => {
  it.each([
    [802, "fabric manager", "nvidia-fabricmanager"],
    [999, "nvidia_uvm", "modprobe nvidia_uvm"],
    [803, "differ in version", "Reboot"],
    [804, "cuda-compat", "LD_LIBRARY_PATH"],
  ])("with error %d is reported with a remedy", (result, summary, fix) => {
    expect(startFailure(failed(`CUDA_ERROR_${result}`, result), "cuda", without, {})).toMatchObject({
      ...{
        cause: "cuda-fails",
        summary: expect.stringContaining(summary),
        fix: expect.stringContaining(fix),
      },
      evidence: ["The driver cannot be used."],
    });
  });

  it("is reported if no device is found, but the machine has a GPU that is not hidden", () => {
    const none = failed("CUDA_ERROR_NO_DEVICE");
    expect(nvidiaGpus(withGpu)).toEqual(["0000:17:00.0"]);
    expect(startFailure(none, "cuda", withGpu, {})!.evidence[1]).toContain("0000:17:00.0");
    expect(startFailure(none, "auto", withGpu, { CUDA_VISIBLE_DEVICES: "" })).toBeNull();
    expect(startFailure(none, "auto", withGpu, { NVIDIA_VISIBLE_DEVICES: "void" })).toBeNull();
    expect(startFailure(none, "cuda", without, {})).toBeNull();
  });

  it.each([
    ["a missing driver", failed("LIBRARY_NOT_FOUND"), "cuda"],
    ["a device in use", failed("CUDA_ERROR_DEVICE_UNAVAILABLE", 46), "cuda"],
    ["a library without a driver", failed("CUDA_ERROR_STUB_LIBRARY", 34), "cuda"],
    ["a lack of memory", failed("CUDA_ERROR_OUT_OF_MEMORY", 2), "cuda"],
    ["an operating system error", failed("CUDA_ERROR_OPERATING_SYSTEM", 304), "cuda"],
    ["an emulated device", failed("CUDA_ERROR_UNKNOWN", 999), "emulated"],
    ["another error", new Error("x"), "cuda"],
  ] as const)("is not reported for %s", (_, error, backend) => {
    expect(startFailure(error, backend, withGpu, {})).toBeNull();
  });
});
