import { otherProgram, rates } from "../helpers/examination.js";
import { gpuNames, pciConfig, pciFile, rootPort, type TreeFiles } from "../helpers/machine-tree.js";
import { type CauseCase, link, slow } from "./cause-case.js";

const [gpu] = gpuNames;
const MiB = 1024 * 1024;

/** Files of a machine with a hypervisor, without bridges and CPU frequencies. */
export const virtualMachine: TreeFiles = {
  "proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu hypervisor\n",
  "sys/class/dmi/id/sys_vendor": "QEMU\n",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": null,
  [pciFile(gpu, "numa_node")]: "-1\n",
};

/** Machines with one fault of the device, or on a special platform. */
export const deviceCases: readonly CauseCase[] = [
  {
    what: "another process that uses the device",
    change: {
      measured: slow,
      other: {
        others: [
          otherProgram({ kind: "pinbench", name: "run", pid: 4710, since: "2026-11-20T10:00:00.000Z" }),
          otherProgram({ pid: 4711, deviceMemoryBytes: 12 * 1024 * MiB }),
          otherProgram({ pid: null, name: null }),
        ],
        activityBefore: {
          computePercent: 97,
          toDeviceBytesPerSecond: 11.2e9,
          fromDeviceBytesPerSecond: 0,
        },
      },
    },
    cause: "device-shared",
    weight: "costs",
    cost: { direction: "both", gigabytesPerSecond: 11, basis: "estimated" },
    says:
      "pinbench run (pid 4710, since 2026-11-20 10:00:00 UTC)\n" +
      "python3 (pid 4711, 12 GiB of the device's memory)\n" +
      "a program (in another container)",
  },
  {
    what: "copies to the device that were slow only in the first of two measurements",
    change: { measured: { firstLook: rates(31.4, 55.2) } },
    cause: "slow-at-first",
    weight: "risk",
    says: "first look: 31.4 GB/s to the device, 55.2 GB/s back\nbest of two looks: 55.6 GB/s to the device",
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
    cost: { direction: "both", gigabytesPerSecond: 11, basis: "estimated" },
    says: "345 of 1980 MHz",
  },
  {
    what: "asynchronous copy calls that return only when the copy is done",
    change: { measured: { hostShare: { h2d: 0.98, d2h: 0.97 } } },
    cause: "copies-wait",
    weight: "risk",
    says: "98 % to the device and 97 % back",
  },
  {
    what: "copies in both directions that share the bandwidth of one direction",
    change: { measured: { bothWays: rates(29, 28.5) } },
    cause: "both-ways-shared",
    weight: "risk",
    says: "Copies from the device keep only 51 % of their rate",
  },
  {
    what: "device memory whose retirement is pending",
    change: { health: { retirementPending: true, eccErrors: 2 } },
    cause: "memory-errors",
    weight: "risk",
    says: "nvidia-smi --gpu-reset -i 0",
  },
  {
    what: "an Xid error in the kernel log of this boot",
    files: {
      "dev/kmsg": [
        "4,1,0,-;NVRM: Xid (PCI:0000:99:00): 79, another device's",
        `4,2,0,-;NVRM: Xid (PCI:${gpu.slice(0, -2)}): 31, pid=99, a program's`,
        `4,3,0,-;NVRM: Xid (PCI:${gpu.slice(0, -2)}): 94, pid='<unknown>', Contained: CE User Channel`,
      ].join("\n"),
    },
    cause: "xid-errors",
    weight: "risk",
    says: "Xid 94: pid='<unknown>', Contained",
  },
  {
    what: "a GPU that is divided into MIG instances",
    change: { health: { migEnabled: true }, measured: slow },
    cause: "mig",
    weight: "explains",
    cost: { direction: "both", gigabytesPerSecond: 11, basis: "estimated" },
  },
  {
    what: "a virtual GPU that a hypervisor gives to a guest",
    change: { facts: { name: "NVIDIA A10-8Q" } },
    cause: "vgpu",
    weight: "explains",
    says: "A10-8Q",
  },
  {
    what: "a virtual machine, which hides why PCIe packets are small",
    files: {
      ...virtualMachine,
      [pciFile(gpu, "config")]: pciConfig({ maxPayload: 128 }),
    },
    change: { measured: slow },
    cause: "virtual-machine",
    weight: "explains",
  },
  {
    what: "a virtual machine with a made-up PCIe bridge of one lane",
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
    what: "WSL 2, where memory cannot be registered",
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
    what: "confidential computing, with slow copies",
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
    cost: { direction: "both", gigabytesPerSecond: 46.7, basis: "estimated" },
    says: "AMD SEV-SNP",
  },
  {
    what: "Grace, where pageable copies are as fast as pinned ones",
    change: {
      // NVML's report on a PCIe link that copies do not use.
      health: { c2cLinks: 10, link: { ...link, generation: 1, width: 1 } },
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
];
