import { describe, expect, it } from "vitest";
import { type FingerprintParts, fingerprint } from "../../src/results/fingerprint.js";
import { buildDevice, buildHost, buildLink } from "../helpers/result-document.js";

const parts: FingerprintParts = {
  backend: "cuda",
  devices: [buildDevice()],
  driverVersion: "580.159.04",
  cudaVersion: "13.0",
  host: buildHost(),
  pinbenchVersion: "0.1.0",
};

describe("the fingerprint of a machine", () => {
  it("has one string for each fact that comparable results share", () => {
    expect(fingerprint(parts)).toEqual({
      backend: "cuda",
      gpu: "NVIDIA H200",
      gpuCount: "1",
      driver: "580.159.04",
      cuda: "13.0",
      linkUnderLoad: "gen5 x16",
      cpu: "Intel(R) Xeon(R) Platinum 8480+",
      usableCpus: "16",
      numaNodes: "1",
      kernel: "6.1.0-28-amd64",
      transparentHugePages: "madvise",
      governor: null,
      virtualization: "kvm",
      container: null,
      pinbench: "0.1.0",
    });
  });

  it("is the same on another node of the same make", () => {
    const twin = {
      ...parts,
      host: buildHost({ hostname: "node-2" }),
      devices: [buildDevice({ uuid: "GPU-2" })],
    };
    expect(fingerprint(twin)).toEqual(fingerprint(parts));
  });

  it("names equal devices and links once, and different ones in order", () => {
    const slower = buildLink({ generation: 4, width: 8 });
    const devices = [buildDevice(), buildDevice({ ordinal: 1 }), buildDevice({ ordinal: 2, link: slower })];
    expect(fingerprint({ ...parts, devices })).toMatchObject({
      gpu: "NVIDIA H200",
      gpuCount: "3",
      linkUnderLoad: "gen5 x16, gen4 x8",
    });
  });

  it("has null for an unknown link, and includes the CPU quota", () => {
    const found = fingerprint({
      ...parts,
      devices: [buildDevice({ link: null })],
      host: buildHost({ cpuQuota: 4 }),
    });
    expect(found).toMatchObject({ linkUnderLoad: null, usableCpus: "16, quota 4" });
  });

  it("has null for the links of two devices if one link is unknown", () => {
    for (const devices of [
      [buildDevice(), buildDevice({ ordinal: 1, link: null })],
      [buildDevice({ link: null }), buildDevice({ ordinal: 1 })],
    ]) {
      expect(fingerprint({ ...parts, devices })).toMatchObject({ linkUnderLoad: null, gpuCount: "2" });
    }
  });
});
