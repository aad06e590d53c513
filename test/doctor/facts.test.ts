import { mkdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  activityBetween,
  readMachineCounters,
  readMachineFacts,
  unseenFacts,
} from "../../src/doctor/facts/machine-facts.js";
import { correctedBetween, parsePciConfig, readPciPath } from "../../src/doctor/facts/pci-path.js";
import { examinationOf } from "../helpers/examination.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { expectNoPollution, hostileText, runs } from "../helpers/hostile.js";
import {
  errorCounts,
  gpuNames,
  healthyFiles,
  machineTree,
  pciConfig,
  pciFile,
  rootPort,
  switchDownstream,
  switchUpstream,
} from "../helpers/machine-tree.js";
import { foundIn } from "./cause-case.js";

const [gpu] = gpuNames;
const GiB = 1024 ** 3;

describe("the PCIe path of a device", () => {
  it("goes from the device over the switch to the root port, with each port's facts", () => {
    const path = readPciPath(gpu, machineTree());
    expect(path.ports.map(({ name }) => name)).toEqual([gpu, switchDownstream, switchUpstream, rootPort]);
    expect(path.ports[0]).toEqual({
      name: gpu,
      generation: 5,
      maxGeneration: 5,
      width: 16,
      maxWidth: 16,
      settings: {
        maxPayloadBytes: 256,
        maxPayloadSupportedBytes: 256,
      },
      hidesSettings: false,
      errors: { correctable: 0, nonFatal: 0, fatal: 0 },
    });
    expect(path).toMatchObject({ numaNode: 0, iommuType: "identity" });
  });

  it("is found by NVML's name of the device too", () => {
    expect(readPciPath("00000000:18:00.0", machineTree())).toEqual(readPciPath(gpu, machineTree()));
  });

  it.each([
    ["2.5 GT/s PCIe", 1],
    ["5.0 GT/s PCIe", 2],
    ["8 GT/s", 3],
    ["16.0 GT/s PCIe", 4],
    ["64.0 GT/s PCIe", 6],
    ["Unknown", null],
    ["Unknown speed", null],
    ["7.0 GT/s PCIe", null],
  ])("maps the speed %s to generation %s", (speed, generation) => {
    const root = machineTree({ [pciFile(gpu, "current_link_speed")]: `${speed}\n` });
    expect(readPciPath(gpu, root).ports[0]?.generation).toBe(generation);
  });

  it.each(["0", "63", "255", "-1", ""])("has an unknown width for %j", (width) => {
    const root = machineTree({ [pciFile(gpu, "current_link_width")]: `${width}\n` });
    expect(readPciPath(gpu, root).ports[0]?.width).toBeNull();
  });

  it("has only the device itself in a virtual machine", () => {
    const root = machineTree({ "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor\n" });
    expect(readPciPath(gpu, root).ports.map(({ name }) => name)).toEqual([gpu]);
  });

  it("is empty if sysfs does not have the device", () => {
    const nothing = { ports: [], numaNode: null, iommuType: null };
    expect(readPciPath("0000:99:00.0", machineTree())).toEqual(nothing);
    expect(readPciPath("../../../etc", machineTree())).toEqual(nothing);
  });

  it("counts the errors that its ports corrected between two readings", () => {
    const before = readPciPath(
      gpu,
      machineTree({ [pciFile(rootPort, "aer_dev_correctable")]: errorCounts("COR", 7) }),
    );
    const after = readPciPath(
      gpu,
      machineTree({
        [pciFile(rootPort, "aer_dev_correctable")]: errorCounts("COR", 19),
        [pciFile(gpu, "aer_dev_correctable")]: errorCounts("COR", 30),
      }),
    );
    expect(correctedBetween(before, after)).toBe(42);
    expect(correctedBetween(after, before)).toBe(0);
    // Each port is compared with itself, even if the second path has other ports.
    expect(correctedBetween({ ...before, ports: before.ports.slice(1) }, after)).toBe(12);
    const uncounted = readPciPath("0000:99:00.0", machineTree());
    expect(correctedBetween(uncounted, uncounted)).toBeNull();
  });

  it("counts uncorrected errors by severity, without unsupported requests", () => {
    const root = machineTree({
      [pciFile(gpu, "aer_dev_nonfatal")]: errorCounts("NONFATAL", 2, 3),
      [pciFile(gpu, "aer_dev_fatal")]: errorCounts("FATAL", 1),
    });
    expect(readPciPath(gpu, root).ports[0]!.errors).toEqual({ correctable: 0, nonFatal: 2, fatal: 1 });
  });
});

describe("a PCI configuration space", () => {
  it("has the packet size in use and the supported one", () => {
    const config = pciConfig({
      kind: 0x6,
      maxPayload: 512,
      maxPayloadSupported: 1024,
    });
    expect(parsePciConfig(config)).toEqual({
      maxPayloadBytes: 512,
      maxPayloadSupportedBytes: 1024,
    });
  });

  it("limits packet sizes to 4 KiB, and ignores the lowest bits of pointers", () => {
    const config = pciConfig({ maxPayload: 2 ** 13, maxPayloadSupported: 2 ** 14 });
    config[0x34] = 0x43;
    expect(parsePciConfig(config)).toMatchObject({ maxPayloadBytes: 4096, maxPayloadSupportedBytes: 4096 });
  });

  it("of 64 bytes, as all users but root read it, gives nothing", () => {
    expect(parsePciConfig(pciConfig().subarray(0, 64))).toBeNull();
  });

  it("with a circular list of capabilities is read without hanging", () => {
    const config = pciConfig();
    config.set([0x05, 0x40], 0x48);
    expect(parsePciConfig(config)).toBeNull();
  });

  it("of random bytes raises no error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4096, size: "max" }), (bytes) => {
        const withList = Buffer.from(bytes);
        if (withList.length > 0x34) withList.set([0x10], 0x06);
        parsePciConfig(withList);
      }),
      runs(200),
    );
  });
});

describe("the machine's facts", () => {
  it("are read from /proc and /sys", () => {
    const facts = readMachineFacts(machineTree());
    expect(facts.idleStates).toEqual([
      { name: "POLL", exitLatencyUs: 0, disabled: false, timeUs: 1234 },
      { name: "C1", exitLatencyUs: 1, disabled: false, timeUs: 5_678_901 },
      { name: "C1E", exitLatencyUs: 2, disabled: false, timeUs: 23_456_789 },
      { name: "C6", exitLatencyUs: 290, disabled: false, timeUs: 3_456_789_012 },
    ]);
    expect(facts.nodes).toEqual([
      { node: 0, cpus: [0, 1, 2, 3, 8, 9, 10, 11] },
      { node: 1, cpus: [4, 5, 6, 7, 12, 13, 14, 15] },
    ]);
    expect(facts.sharedMemoryBytes).toBeNull();
    expect(facts.platform).toEqual({
      confidentialGuest: null,
      iommuArguments: ["iommu=pt"],
    });
    expect(facts.xidErrors).toEqual([]);
    expect(facts.activity).toBeNull();
    expect(facts.host.hostname).toBe("node07");
  });

  it("have the kernel's arguments on the IOMMU, and no others", () => {
    const about = ["amd_iommu=on", "intel_iommu=off", "iommu=pt", "iommu.strict=0"];
    const cmdline = `BOOT_IMAGE=/vmlinuz ${about.join(" ")} pci=noaer quiet root=/iommu=x\n`;
    const { platform } = readMachineFacts(machineTree({ "proc/cmdline": cmdline }));
    expect(platform.iommuArguments).toEqual(about);
  });

  it("show a confidential guest by its device file or its CPU flag", () => {
    const guestOf = (files: Record<string, string>) =>
      readMachineFacts(machineTree(files)).platform.confidentialGuest;
    expect(guestOf({ "dev/sev-guest": "" })).toBe("AMD SEV-SNP");
    expect(guestOf({ "dev/tdx_guest": "" })).toBe("Intel TDX");
    expect(guestOf({ "proc/cpuinfo": "flags\t\t: fpu tdx_guest hypervisor\n" })).toBe("Intel TDX");
    // A host that could run such guests is none.
    expect(guestOf({ "proc/cpuinfo": "flags\t\t: fpu sev sev_es sev_snp\n" })).toBeNull();
  });

  it("have the pages swapped between two readings, or null if unknown", () => {
    const before = readMachineCounters(machineTree());
    const after = readMachineCounters(machineTree({ "proc/vmstat": "pswpin 121\npswpout 490\n" }));
    expect(activityBetween(before, after).swappedPages).toBe(11);
    expect(activityBetween(after, before).swappedPages).toBe(0);
    const unknown = readMachineCounters(machineTree({ "proc/vmstat": null }));
    expect(activityBetween(before, unknown).swappedPages).toBeNull();
  });

  it("have the size of the last mount at /dev/shm", () => {
    const root = machineTree({
      "proc/self/mountinfo": [
        "27 23 0:25 / /dev/shm rw shared:4 - tmpfs tmpfs rw,size=65536k",
        "98 23 0:61 / /dev/shm rw - tmpfs shm rw,size=16777216k,inode64",
        "",
      ].join("\n"),
    });
    expect(readMachineFacts(root).sharedMemoryBytes).toBe(16 * GiB);
  });
});

describe("hostile contents of /proc and /sys", () => {
  const paths = Object.keys(healthyFiles());

  it("break neither the reading of facts nor the search for causes", () => {
    const contents = fc.oneof(
      hostileText,
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom("99999999999999999999\n", "-1\n", "0-99999999999\n", "1e308\n", "0x\n", null),
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...paths), contents, { maxKeys: 12, noNullPrototype: true }),
        (files) => {
          const root = machineTree(files);
          const before = readMachineCounters(root);
          const examination = examinationOf(root, {}, { devices: 2, before });
          for (const { summary, evidence, cost } of foundIn(examination)) {
            expect(summary + evidence.join()).not.toMatch(/\bNaN\b|undefined|Infinity|\[object/);
            if (cost !== null) expect(cost.gigabytesPerSecond).toBeGreaterThan(0);
          }
          unseenFacts(
            examination.machine,
            examination.devices.map(({ path }) => path),
          );
        },
      ),
      runs(60),
    );
    expectNoPollution();
  });

  it("are ignored if a folder is in a file's place", () => {
    const root = fixtureRoot();
    for (const path of paths) mkdirSync(join(root, path), { recursive: true });
    expect(() => examinationOf(root)).not.toThrow();
    expect(foundIn(examinationOf(root))).toEqual([]);
  });
});
