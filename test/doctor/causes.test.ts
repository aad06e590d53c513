import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { causes, findCauses, suspicions } from "../../src/doctor/causes/causes.js";
import type { Cost, Finding } from "../../src/doctor/diagnosis.js";
import type { Examination } from "../../src/doctor/examination.js";
import { readMachineCounters } from "../../src/doctor/facts/memory-facts.js";
import { type DeviceChange, examinationOf, healthyHealth, rates } from "../helpers/examination.js";
import {
  errorCounts,
  gpuNames,
  machineTree,
  pciConfig,
  pciFile,
  pressure,
  rootPort,
  switchDownstream,
  switchUpstream,
  type TreeFiles,
} from "../helpers/machine-tree.js";

const [gpu] = gpuNames;
const MiB = 1024 * 1024;

/** A machine on which one thing is other than on a healthy one, and what is to be said of it. */
interface Case {
  what: string;
  files?: TreeFiles;
  change?: DeviceChange;
  machine?: Partial<Omit<Examination, "machine" | "devices">>;
  devices?: 1 | 2;
  cause: string;
  weight: Finding["weight"];
  /** What it costs, within 1 %. */
  cost?: Pick<Cost, "direction" | "gigabytesPerSecond" | "basis">;
  /** A text that the finding must have, in its summary, evidence or fix. */
  says?: string;
}

/** 20 % below what is expected, on every node. */
const slow = { pinned: rates(44, 44), nodes: [] };
const link = healthyHealth.link!;

const virtualMachine: TreeFiles = {
  "proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu hypervisor\n",
  "sys/class/dmi/id/sys_vendor": "QEMU\n",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": null,
  [pciFile(gpu, "numa_node")]: "-1\n",
};

const cases: Case[] = [
  {
    what: "a link of 4 lanes instead of 16",
    change: {
      health: { link: { ...link, width: 4 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
    },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 41.5, basis: "estimated" },
    says: "gen5 x4",
  },
  {
    what: "a link of generation 3 under load",
    change: {
      health: { link: { ...link, generation: 3 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
    },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 41.5, basis: "estimated" },
  },
  {
    what: "a switch whose link to the root port has 8 lanes of 16",
    files: {
      [pciFile(rootPort, "current_link_width")]: "8\n",
      [pciFile(switchUpstream, "current_link_width")]: "8\n",
    },
    change: { measured: { pinned: rates(27.8, 27.6), nodes: [] } },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 27.7, basis: "estimated" },
    says: `${switchUpstream} to ${rootPort}: gen5 x8 of gen5 x16`,
  },
  {
    what: "a card's link and a switch's trained down: one finding",
    files: {
      [pciFile(rootPort, "current_link_width")]: "8\n",
      [pciFile(switchUpstream, "current_link_width")]: "8\n",
      [pciFile(gpu, "current_link_width")]: "4\n",
      [pciFile(switchDownstream, "current_link_width")]: "4\n",
    },
    change: {
      health: { link: { ...link, width: 4 } },
      measured: { pinned: rates(13.9, 13.8), nodes: [] },
    },
    cause: "link-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 41.5, basis: "estimated" },
    says: `${switchUpstream} to ${rootPort}`,
  },
  {
    what: "a slot with 8 lanes for a card with 16",
    files: {
      [pciFile(switchDownstream, "max_link_width")]: "8\n",
      [pciFile(switchDownstream, "current_link_width")]: "8\n",
      [pciFile(gpu, "current_link_width")]: "8\n",
    },
    change: {
      health: { link: { ...link, width: 8, maxWidth: 8 } },
      measured: { pinned: rates(27.8, 27.6), nodes: [] },
      other: { expected: rates(27.7, 27.5) },
    },
    cause: "slot-narrow",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 27.7, basis: "estimated" },
    says: "x8",
  },
  {
    what: "a card of generation 5 in a machine of generation 4: nothing is broken",
    files: Object.fromEntries(
      [rootPort, switchUpstream, switchDownstream].flatMap((port) => [
        [pciFile(port, "max_link_speed"), "16.0 GT/s PCIe\n"],
        [pciFile(port, "current_link_speed"), "16.0 GT/s PCIe\n"],
      ]),
    ),
    change: {
      health: { link: { ...link, generation: 4, maxGeneration: 4 } },
      measured: { pinned: rates(26.9, 26.5), nodes: [] },
      other: { expected: rates(26.8, 26.6) },
    },
    cause: "slot-narrow",
    weight: "explains",
  },
  {
    what: "packets sent again while copies run, with all of the rate",
    change: { before: { replays: 3 }, after: { replays: 4003 } },
    cause: "link-errors",
    weight: "risk",
    says: "4000 packets sent again",
  },
  {
    what: "packets sent again, and a lower rate",
    change: { after: { replays: 4003 }, measured: slow },
    cause: "link-errors",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 11.2, basis: "estimated" },
  },
  {
    what: "errors that the ports corrected",
    change: { other: { correctableErrors: 250 } },
    cause: "link-errors",
    weight: "risk",
    says: "250 errors corrected",
  },
  {
    what: "an error that was not corrected",
    files: { [pciFile(switchDownstream, "aer_dev_fatal")]: errorCounts("FATAL", 1) },
    cause: "link-uncorrected",
    weight: "risk",
    says: switchDownstream,
  },
  {
    what: "packets of 128 bytes where 256 would do, and a lower rate",
    files: { [pciFile(gpu, "config")]: pciConfig({ maxPayload: 128 }) },
    change: { measured: { pinned: rates(51.3, 50.9), nodes: [] } },
    cause: "payload-small",
    weight: "costs",
    // (256 / 280) / (128 / 152) is 1.0857.
    cost: { direction: "both", gigabytesPerSecond: 51.1 * 0.0857, basis: "estimated" },
    says: "128 of 256 bytes",
  },
  {
    what: "read requests of 128 bytes, and a lower rate",
    files: { [pciFile(gpu, "config")]: pciConfig({ maxReadRequest: 128 }) },
    change: { measured: slow },
    cause: "read-request-small",
    weight: "risk",
  },
  {
    what: "relaxed ordering off, and a lower rate",
    files: { [pciFile(gpu, "config")]: pciConfig({ relaxedOrdering: false }) },
    change: { measured: slow },
    cause: "relaxed-ordering-off",
    weight: "risk",
  },
  {
    what: "an IOMMU that translates, and a lower rate",
    files: { [pciFile(gpu, "iommu_group/type")]: "DMA-FQ\n" },
    change: { measured: slow },
    cause: "iommu-translates",
    weight: "risk",
    says: "DMA-FQ",
  },
  {
    what: "ACS redirect above two devices of one switch",
    files: { [pciFile(switchDownstream, "config")]: pciConfig({ kind: 0x6, accessControl: 0x1d }) },
    devices: 2,
    cause: "peers-redirected",
    weight: "risk",
    says: switchDownstream,
  },
  {
    what: "a window of 256 MiB, of a device alone",
    change: { health: { bar1TotalBytes: 256 * MiB } },
    cause: "window-small",
    weight: "explains",
    says: "256 MiB",
  },
  {
    what: "a window of 256 MiB as sysfs has it, of one of two devices",
    files: {
      [pciFile(gpu, "resource")]:
        "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n0x00000000b0000000 0x00000000bfffffff 0x000000000014220c\n",
    },
    change: { health: { bar1TotalBytes: null } },
    devices: 2,
    cause: "window-small",
    weight: "risk",
    says: "256 MiB",
  },
  {
    what: "a NUMA node that is faster than the one used",
    files: { [pciFile(gpu, "numa_node")]: "1\n" },
    change: {
      measured: {
        pinned: rates(41.2, 38.9),
        nodes: [
          { node: 0, rates: rates(55.6, 55.2) },
          { node: 1, rates: rates(41.2, 38.9) },
        ],
      },
    },
    cause: "numa-far",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 15.35, basis: "measured" },
    says: "numactl --cpunodebind=0",
  },
  {
    what: "a process that may not use the CPUs next to the device",
    files: { "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t4-7,12-15\n" },
    change: {
      measured: { pinned: rates(49.8, 47.1), nodes: [{ node: 1, rates: rates(49.8, 47.1) }] },
    },
    cause: "numa-far",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 6.75, basis: "estimated" },
  },
  {
    what: "processors that are divided into nodes",
    files: {
      "sys/devices/system/node/online": "0-3\n",
      "sys/devices/system/node/node0/cpulist": "0-1,8-9\n",
      "sys/devices/system/node/node1/cpulist": "2-3,10-11\n",
      "sys/devices/system/node/node2/cpulist": "4-5,12-13\n",
      "sys/devices/system/node/node3/cpulist": "6-7,14-15\n",
    },
    cause: "sub-numa",
    weight: "explains",
    says: "2 NUMA nodes",
  },
  {
    what: "a slow device, and no reason but that the kernel moves pages",
    change: { measured: slow },
    cause: "numa-balancing",
    weight: "risk",
  },
  {
    what: "a slow device, and a governor that saves power",
    files: {
      "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    },
    change: { measured: slow },
    cause: "governor-saves",
    weight: "risk",
  },
  {
    what: "copies that take long after a rest",
    change: { measured: { latency: { backToBackUs: 8.2, afterRestUs: 96 } } },
    cause: "wakes-slowly",
    weight: "risk",
    says: "C6 (290 us to wake up)",
  },
  {
    what: "copies that take long after a rest, while only the link may sleep",
    files: {
      [pciFile(gpu, "link/l1_aspm")]: "1\n",
      "sys/devices/system/cpu/cpu0/cpuidle/state3/disable": "1\n",
    },
    change: { measured: { latency: { backToBackUs: 8.2, afterRestUs: 71 } } },
    cause: "wakes-slowly",
    weight: "risk",
    says: `ASPM L1) is on at ${gpu}`,
  },
  {
    what: "two CPUs that are one core",
    files: { "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t1,9\n" },
    cause: "cores-shared",
    weight: "risk",
    says: "one core",
  },
  {
    what: "a quota of one CPU",
    files: { "sys/fs/cgroup/user.slice/cpu.max": "100000 100000\n" },
    cause: "cpu-quota-low",
    weight: "risk",
  },
  {
    what: "huge pages that are off, and copies from registered memory that are slower",
    files: { "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" },
    change: { measured: { registered: { rates: rates(43.6, 54.8), refused: null } } },
    cause: "huge-pages-off",
    weight: "costs",
    cost: { direction: "h2d", gigabytesPerSecond: 12, basis: "measured" },
  },
  {
    what: "memory that may not be registered, with a limit of locked memory",
    files: {
      "proc/self/limits":
        "Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         65536                65536                bytes\n",
    },
    change: {
      measured: {
        registered: {
          rates: rates(null, null),
          refused: "cuMemHostRegister failed with CUDA_ERROR_NOT_PERMITTED",
        },
      },
    },
    cause: "registering-refused",
    weight: "risk",
    says: "64 KiB",
  },
  {
    what: "a cgroup that leaves 2 GiB",
    files: {
      "sys/fs/cgroup/user.slice/memory.max": "4294967296\n",
      "sys/fs/cgroup/user.slice/memory.current": "2147483648\n",
    },
    cause: "memory-limit-low",
    weight: "risk",
    says: "2 GiB",
  },
  {
    what: "a container's /dev/shm",
    files: {
      "proc/self/mountinfo":
        "512 498 0:98 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k,inode64\n",
    },
    cause: "shared-memory-small",
    weight: "risk",
    says: "64 MiB",
  },
  {
    what: "swap in use where memory is full",
    files: {
      "proc/meminfo":
        "MemTotal:       528280992 kB\nMemAvailable:     4194304 kB\nSwapTotal:       8388604 kB\nSwapFree:        1048576 kB\n",
    },
    cause: "memory-short",
    weight: "risk",
  },
  {
    what: "a pool of huge pages that nobody uses",
    files: {
      "proc/meminfo":
        "MemTotal:       528280992 kB\nMemAvailable:   100663296 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugePages_Total:  204800\nHugePages_Free:   204800\nHugepagesize:       2048 kB\n",
    },
    cause: "huge-pool-large",
    weight: "risk",
    says: "400 GiB",
  },
  {
    what: "another process that uses the device",
    change: {
      measured: slow,
      other: {
        others: [{ pid: 4711, deviceMemoryBytes: 12 * 1024 * MiB }],
        activityBefore: {
          computePercent: 97,
          toDeviceBytesPerSecond: 11.2e9,
          fromDeviceBytesPerSecond: 0,
        },
      },
    },
    cause: "device-shared",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 11.2, basis: "estimated" },
    says: "process 4711: 12 GiB",
  },
  {
    what: "a device that is too hot",
    change: {
      measured: slow,
      health: {
        clockReasons: ["hw-slowdown", "hw-thermal-slowdown"],
        temperatureC: 92,
        link: { ...link, smClockMHz: 345 },
      },
    },
    cause: "clocks-held",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 11.2, basis: "estimated" },
    says: "345 of 1980 MHz",
  },
  {
    what: "a device at its power limit, with all of its rate",
    change: { health: { clockReasons: ["sw-power-cap"] } },
    cause: "clocks-held",
    weight: "risk",
    says: "power limit",
  },
  {
    what: "memory whose retirement is pending",
    change: { health: { retirementPending: true, eccErrors: 2 } },
    cause: "memory-errors",
    weight: "risk",
    says: "nvidia-smi --gpu-reset -i 0",
  },
  {
    what: "an Xid in the log of this boot",
    files: {
      "var/log/kern.log": [
        `2026-08-01T00:00:00.000000+00:00 node07 kernel: NVRM: Xid (PCI:${gpu.slice(0, -2)}): 48, an earlier boot's`,
        "2026-09-21T14:13:20.000000+00:00 node07 kernel: Linux version 6.8.0-45-generic (buildd@lcy02)",
        "2026-09-21T15:00:00.000000+00:00 node07 kernel: NVRM: Xid (PCI:0000:99:00): 79, another device's",
        `2026-09-21T15:00:00.000000+00:00 node07 kernel: NVRM: Xid (PCI:${gpu.slice(0, -2)}): 31, pid=99, a program's`,
        `2026-09-21T15:00:01.000000+00:00 node07 kernel: [ 2801.2] NVRM: Xid (PCI:${gpu.slice(0, -2)}): 94, pid='<unknown>', Contained: CE User Channel`,
      ].join("\n"),
    },
    cause: "xid-errors",
    weight: "risk",
    says: "Xid 94: pid='<unknown>', Contained",
  },
  {
    what: "a GPU that the driver leaves out",
    files: {
      "proc/driver/nvidia/gpus/0000:ab:00.0/information": "Model: \t NVIDIA H100\nGPU Excluded:\t Yes\n",
    },
    cause: "gpus-excluded",
    weight: "risk",
    says: "0000:ab:00.0",
  },
  {
    what: "an instance of a divided device",
    change: { health: { migEnabled: true }, measured: slow },
    cause: "mig",
    weight: "explains",
    cost: { direction: "both", gigabytesPerSecond: 11.2, basis: "estimated" },
  },
  {
    what: "a virtual machine, whose bridges are made up",
    files: {
      ...virtualMachine,
      [pciFile(rootPort, "max_link_width")]: "1\n",
      [pciFile(rootPort, "current_link_width")]: "1\n",
    },
    cause: "virtual-machine",
    weight: "explains",
    says: "kvm",
  },
  {
    what: "WSL 2",
    files: {
      ...virtualMachine,
      "proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n",
    },
    change: { measured: { registered: { rates: rates(null, null), refused: "CUDA_ERROR_OUT_OF_MEMORY" } } },
    cause: "wsl",
    weight: "explains",
    says: "CUDA_ERROR_OUT_OF_MEMORY",
  },
  {
    what: "confidential computing",
    files: { "dev/sev-guest": "" },
    change: {
      health: { confidentialComputing: true },
      measured: {
        pinned: rates(8.1, 8.3),
        pageable: rates(7.9, 8.1),
        registered: { rates: rates(null, null), refused: "CUDA_ERROR_NOT_SUPPORTED" },
        nodes: [],
      },
    },
    cause: "confidential-computing",
    weight: "explains",
    cost: { direction: "both", gigabytesPerSecond: 47, basis: "estimated" },
    says: "AMD SEV-SNP",
  },
  {
    what: "Grace, where pageable copies are as fast as pinned ones",
    files: {
      "proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n",
    },
    change: {
      health: { c2cLinks: 10 },
      measured: {
        pinned: rates(369, 297),
        pageable: rates(365, 290),
        registered: { rates: rates(368, 296), refused: null },
        nodes: [],
      },
    },
    cause: "grace",
    weight: "explains",
  },
  {
    what: "a driver that is older than the device",
    files: {
      "proc/driver/nvidia/version":
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  515.105.01  Sun Feb 26 05:01:25 UTC 2023\n",
    },
    cause: "driver-old",
    weight: "risk",
    says: "520 or above",
  },
  {
    what: "the emulated device",
    machine: { emulated: true },
    cause: "emulated",
    weight: "explains",
  },
  {
    what: "a build without kernels",
    machine: { kernelsOff: "the addon was compiled without nvcc" },
    cause: "kernels-missing",
    weight: "explains",
    says: "compiled without nvcc",
  },
];

/** All of a finding that people read. */
const textOf = ({ summary, evidence, fix }: Finding) => [summary, ...evidence, fix ?? ""].join("\n");

function examine({ files, change, machine, devices }: Case): Examination {
  return { ...examinationOf(machineTree(files), change, { devices: devices ?? 1 }), ...machine };
}

function expectOnly(found: Finding[], { cause, weight, cost, says, devices = 1 }: Case): void {
  expect([...new Set(found.map((finding) => finding.cause))]).toEqual([cause]);
  expect(found.length).toBeLessThanOrEqual(devices);
  const [first] = found;
  expect(first!.weight).toBe(weight);
  if (cost === undefined) expect(first!.cost).toBeNull();
  else {
    expect(first!.cost).toMatchObject({ direction: cost.direction, basis: cost.basis });
    const { gigabytesPerSecond } = first!.cost!;
    expect(Math.abs(gigabytesPerSecond / cost.gigabytesPerSecond - 1)).toBeLessThan(0.01);
  }
  expect(textOf(first!)).toContain(says ?? "");
  expect(first!.summary).toMatch(/^[A-Z/0-9].*\.$/s);
  expect(first!.evidence.length).toBeGreaterThan(0);
}

it.each([1, 2] as const)("of a healthy machine with %d devices nothing is said", (devices) => {
  expect(findCauses(examinationOf(machineTree(), {}, { devices }))).toEqual([]);
});

describe("settings alone are no causes where copies reach what they should", () => {
  it.each<{ what: string; files: TreeFiles }>([
    {
      what: "governor powersave",
      files: { "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n" },
    },
    { what: "a translating IOMMU", files: { [pciFile(gpu, "iommu_group/type")]: "DMA\n" } },
    { what: "ASPM", files: { [pciFile(gpu, "link/l1_aspm")]: "1\n" } },
    {
      what: "huge pages off",
      files: { "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" },
    },
    {
      what: "small packets and ordered writes",
      files: {
        [pciFile(gpu, "config")]: pciConfig({ maxPayload: 128, maxReadRequest: 128, relaxedOrdering: false }),
      },
    },
    {
      what: "ACS redirect of a device alone",
      files: { [pciFile(switchDownstream, "config")]: pciConfig({ kind: 0x6, accessControl: 0x1d }) },
    },
  ])("$what", ({ files }) => {
    expect(findCauses(examinationOf(machineTree(files)))).toEqual([]);
  });

  it("a process that only has the device open", () => {
    const change = { other: { others: [{ pid: 4711, deviceMemoryBytes: null }] } };
    expect(findCauses(examinationOf(machineTree(), change))).toEqual([]);
  });
});

describe("a cause is found, and nothing else is said", () => {
  it.each(cases)("$what", (one) => {
    expectOnly(findCauses(examine(one)), one);
  });

  it("others' CPU time, waiting for memory and swapping, of the time of the examination", () => {
    const root = machineTree();
    const before = readMachineCounters(root);
    // Times go on by less than this process' own clock does: what counts is the share, which is 1 at most.
    const after = machineTree({
      "proc/pressure/memory": pressure(60_000_000),
      "proc/vmstat": "pswpin 90120\npswpout 480\n",
    });
    expectOnly(findCauses(examinationOf(after, {}, { before })), {
      what: "",
      cause: "memory-short",
      weight: "risk",
      says: "90000 pages",
    });
    const stolen = machineTree({
      "proc/stat": "cpu  100 0 100 10000 0 0 0 900 0 0\ncpu0 1 0 1 1 0 0 0 9 0 0\nbtime 1790000000\n",
    });
    expectOnly(findCauses(examinationOf(stolen, {}, { before })), {
      what: "",
      cause: "cpus-taken",
      weight: "risk",
      says: "hypervisor",
    });
  });

  it("two devices behind one switch that share its way up", () => {
    const measured = { together: rates(28.1, 27.9) };
    const found = findCauses(examinationOf(machineTree(), { measured }, { devices: 2 }));
    expectOnly(found, {
      what: "",
      cause: "uplink-shared",
      weight: "explains",
      says: switchUpstream,
      devices: 2,
    });
    expect(found.map(({ device }) => device)).toEqual([0, 1]);
  });
});

it("what costs most is first, and risks are before explanations", () => {
  const root = machineTree({ "dev/tdx_guest": "" });
  const examination = examinationOf(root, {
    health: { link: { ...link, width: 8 }, eccErrors: 1 },
    measured: {
      pinned: rates(27.8, 27.6),
      nodes: [{ node: 1, rates: rates(31, 31) }],
    },
  });
  expect(findCauses(examination).map(({ cause }) => cause)).toEqual([
    "link-narrow",
    "numa-far",
    "memory-errors",
    "confidential-computing",
  ]);
});

describe("the list of causes", () => {
  const names = [...Object.keys(causes), ...Object.keys(suspicions)];
  const ownTests = ["cpus-taken", "uplink-shared"];

  it("has a test for each", () => {
    expect([...new Set([...cases.map(({ cause }) => cause), ...ownTests])].sort()).toEqual(names.sort());
  });

  it("is what the documentation's table has", () => {
    const text = readFileSync(fileURLToPath(new URL("../../docs/doctor.md", import.meta.url)), "utf8");
    const section = /^## Causes$([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1] ?? "";
    const rows = [...section.matchAll(/^\| `([a-z-]+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, name]) => name);
    expect(rows.sort()).toEqual(names.sort());
  });
});
