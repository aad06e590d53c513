import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { DevicesReport } from "../../src/report/describe-devices.js";
import { devicesReport } from "../../src/report/devices-report.js";
import { emulatedNotice } from "../../src/results/device-facts.js";
import { buildDeviceEntry, buildHost, buildLink, GiB } from "../helpers/result-document.js";

const report: DevicesReport = {
  backend: "cuda",
  notice: null,
  driver: { library: "libcuda.so.1", version: "580.159.04", cudaVersion: "13.0", nvmlError: null },
  devices: [
    buildDeviceEntry({ link: buildLink({ maxGeneration: 6, maxWidth: 32 }) }),
    buildDeviceEntry({ ordinal: 1, link: null, numaNode: null, linkLimitGBps: null }),
  ],
  host: buildHost({ cgroupMemoryLimitBytes: 64 * GiB, cpuQuota: 8 }),
  features: [
    { name: "link and clocks (NVML)", on: true, reason: null },
    { name: "kernels", on: false, reason: "this build was made without nvcc: mapped memory is skipped" },
  ],
  build: { version: "0.1.0", compiler: "gcc 12.2.0", kernels: false, sanitizer: null },
};

const text = devicesReport(report, fileScreen());
describe("the output of pinbench devices", () => {
  it("has a row for each device, with its link now and at most", () => {
    const rows = text
      .split("\n")
      .filter((line) => line.includes("NVIDIA H200"))
      .map((line) => line.trim().split(/\s{2,}/));
    expect(rows).toEqual([
      ["0", "NVIDIA H200", "0000:00:06.0", "139.8 GiB", "0", "gen5 x16, 63.0 GB/s", "gen6 x32"],
      ["1", "NVIDIA H200", "0000:00:06.0", "139.8 GiB", "-", "-", "-"],
    ]);
  });

  it("shows unknown facts and the host's limits", () => {
    const other = devicesReport(
      {
        ...report,
        driver: { ...report.driver, version: null, nvmlError: "it is not installed" },
        host: buildHost({ memlockLimitBytes: null, governor: "powersave" }),
        build: { ...report.build, kernels: true, sanitizer: "thread" },
      },
      fileScreen({ columns: 200 }),
    );
    for (const part of [
      "version not known, CUDA 13.0, from libcuda.so.1\n",
      "gcc 12.2.0, thread sanitizer\n",
      "unlimited (NVIDIA's driver",
      "CPU governor powersave",
      "available, no cgroup limit\n",
    ])
      expect(other).toContain(part);
  });

  it("reports which NUMA node devices share, and nothing for a single device", () => {
    const sharedOf = (count: number) => {
      const devices = report.devices.slice(0, count).map((device) => ({ ...device, numaNode: 1 }));
      const text = devicesReport({ ...report, devices }, fileScreen({ columns: 200 }));
      return /^ {2}Shared +(.*)$/m.exec(text)?.[1];
    };
    expect(sharedOf(2)).toBe("devices 0 and 1: NUMA node 1 (as this virtual machine shows it)");
    expect(sharedOf(1)).toBeUndefined();
  });

  it("announces the emulated device first", () => {
    const emulated = devicesReport({ ...report, backend: "emulated", notice: emulatedNotice }, fileScreen());
    expect(emulated.split("\n")[0]).toBe(`! ${emulatedNotice}`);
  });

  it("has colours only if the screen allows them, and is no wider than the screen", () => {
    expect(text).not.toContain("\u001b");
    const coloured = devicesReport(report, fileScreen({ chalk: new Chalk({ level: 1 }), columns: 60 }));
    // Only the state is coloured, not the reason after it.
    expect(coloured.match(/\[3[23]m/g)).toHaveLength(2);
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(100);
  });
});
