import { Chalk } from "chalk";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { DeviceEntry, DevicesReport } from "../../src/report/describe-devices.js";
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
    { name: "event timer", on: true, reason: null },
    { name: "kernels", on: false, reason: "this build was made without nvcc: mapped memory is skipped" },
  ],
  build: { version: "0.1.0", compiler: "gcc 12.2.0", kernels: false, sanitizer: null },
};

const text = devicesReport(report, fileScreen());
const linesWith = (part: string) => text.split("\n").filter((line) => line.includes(part));

describe("devicesReport", () => {
  it("has a row for each device, with its link now and at most", () => {
    const rows = linesWith("NVIDIA H200").map((line) => line.trim().split(/\s{2,}/));
    expect(rows).toEqual([
      ["0", "NVIDIA H200", "0000:00:06.0", "139.8 GiB", "9.0", "0", "gen5 x16, 63.0 GB/s", "gen6 x32"],
      ["1", "NVIDIA H200", "0000:00:06.0", "139.8 GiB", "9.0", "-", "-", "-"],
    ]);
  });

  it("names driver, build and limits", () => {
    expect(linesWith("Driver")[0]).toContain("580.159.04, CUDA 13.0, from libcuda.so.1");
    expect(linesWith("Build")[0]).toContain("gcc 12.2.0, without kernels");
    expect(linesWith("CPU  ")[0]).toContain("16 CPUs (quota 8), 1 NUMA node");
    expect(linesWith("Memory")[0]).toContain("128 GiB, 120 GiB available, cgroup limit 64 GiB");
    expect(linesWith("Memlock")[0]).toContain("8 MiB");
    expect(linesWith("Huge pages")[0]).toContain("madvise");
    expect(linesWith("System")[0]).toContain("Linux 6.1.0-28-amd64, CPU governor not known, in kvm");
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
      "version not known, CUDA 13.0, from libcuda.so.1; NVML is not used: it is not installed\n",
      "gcc 12.2.0, with kernels, thread sanitizer\n",
      "unlimited (NVIDIA's driver",
      "CPU governor powersave",
      "available, no cgroup limit\n",
    ])
      expect(other).toContain(part);
  });

  it("says what the devices share if sysfs tells", () => {
    const sharedOf = (devices: DeviceEntry[], virtualization: string | null = null) => {
      const host = buildHost({ virtualization });
      const screen = fileScreen({ columns: 200 });
      const lines = devicesReport({ ...report, host, devices }, screen).split("\n");
      return lines.find((line) => line.startsWith("  Shared"))?.replace(/^ +Shared +/, "");
    };
    const [first, second] = report.devices as [DeviceEntry, DeviceEntry];
    const upstream = ["pci0000:00", "0000:00:01.0", "0000:01:00.0"];
    const behindSwitch = [first, second].map((device, port) => ({
      ...device,
      upstreamPath: [...upstream, `0000:02:0${port}.0`],
    }));
    const shared = "devices 0 and 1: PCIe switch 0000:01:00.0";
    expect(sharedOf(behindSwitch)).toBe(shared);
    expect(sharedOf(behindSwitch, "kvm")).toBe(`${shared} (as this virtual machine shows it)`);
    expect(
      sharedOf([...behindSwitch, { ...first, ordinal: 2, upstreamPath: ["pci0000:80", "0000:80:01.0"] }]),
    ).toBe(`${shared}; devices 0 and 2: NUMA node 0`);
    expect(sharedOf([first, second])).toBe(
      "not known: sysfs shows neither a bridge above several of them nor their NUMA nodes",
    );
    expect(sharedOf([first])).toBeUndefined();
  });

  it("says why a feature is off", () => {
    expect(text).toContain("on   event timer\n");
    expect(text).toContain("off  kernels      this build was made without nvcc");
  });

  it("announces the emulated device first", () => {
    const emulated = devicesReport({ ...report, backend: "emulated", notice: emulatedNotice }, fileScreen());
    expect(emulated.split("\n")[0]).toBe(`! ${emulatedNotice}`);
  });

  it("is coloured by chalk alone and no wider than the screen", () => {
    expect(text).not.toContain("\u001b");
    const coloured = devicesReport(report, fileScreen({ chalk: new Chalk({ level: 1 }), columns: 60 }));
    // Of a reason over several lines, only the state in the first one is coloured.
    expect(coloured.match(/\[3[23]m/g)).toHaveLength(2);
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(100);
  });
});
