import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fixtureRoot } from "./fixture-root.js";

/**
 * /proc, /sys, /dev and /var/log of a healthy machine, in a folder that replaces "/": two processors with
 * four cores of two threads each, each on its own node, no virtual machine, and GPUs of PCIe generation 5 behind one
 * switch on the first node.
 */

/** Files of the tree, by path below "/"; null for a missing one. */
export type TreeFiles = Readonly<Record<string, string | Buffer | null>>;

/** The GPUs, by ordinal, and the ports that all of them, or the first one, have above them. */
export const gpuNames = ["0000:18:00.0", "0000:19:00.0"] as const;
export const rootPort = "0000:15:01.0";
export const switchUpstream = "0000:16:00.0";
const switchDownstreams = ["0000:17:00.0", "0000:17:01.0"] as const;
export const [switchDownstream] = switchDownstreams;

/** A file of a PCI device. */
export const pciFile = (name: string, file: string) => `sys/bus/pci/devices/${name}/${file}`;

const uplink = `pci0000:15/${rootPort}/${switchUpstream}`;
const places: Readonly<Record<string, string>> = {
  [rootPort]: `pci0000:15/${rootPort}`,
  [switchUpstream]: uplink,
  ...Object.fromEntries(switchDownstreams.map((port) => [port, `${uplink}/${port}`])),
  ...Object.fromEntries(gpuNames.map((gpu, i) => [gpu, `${uplink}/${switchDownstreams[i]}/${gpu}`])),
};

let shared: { root: string; changed: readonly string[] } | null = null;

/**
 * The root of such a tree with some files changed. All tests of a file share one tree, because making one is slow:
 * each call undoes the previous changes.
 */
export function machineTree(changes: TreeFiles = {}): string {
  const healthy = healthyFiles();
  shared ??= { root: newTree(healthy), changed: [] };
  const { root, changed } = shared;
  for (const path of changed) put(root, path, healthy[path] ?? null);
  for (const [path, contents] of Object.entries(changes)) put(root, path, contents);
  shared = { root, changed: Object.keys(changes) };
  return root;
}

function newTree(files: TreeFiles): string {
  const root = fixtureRoot();
  for (const [name, place] of Object.entries(places)) {
    mkdirSync(join(root, "sys/devices", place), { recursive: true });
    const link = join(root, "sys/bus/pci/devices", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(`../../../devices/${place}`, link);
  }
  for (const [path, contents] of Object.entries(files)) put(root, path, contents);
  return root;
}

function put(root: string, path: string, contents: string | Buffer | null): void {
  const file = join(root, path);
  if (contents === null) rmSync(file, { force: true });
  else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
}

/** Files of a healthy machine, by path below "/". */
export function healthyFiles(): Record<string, string | Buffer> {
  return {
    ...Object.assign({}, ...Array.from({ length: 16 }, (_, cpu) => cpuFiles(cpu))),
    ...Object.assign({}, ...[rootPort, switchUpstream, ...switchDownstreams, ...gpuNames].map(portFiles)),
    ...Object.assign({}, ...gpuNames.map(gpuFiles)),
    "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.8.0-45-generic root=UUID=2f7c ro iommu=pt quiet\n",
    "proc/cpuinfo":
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8480+\nflags\t\t: fpu vme sse2 avx512f\n",
    "proc/driver/nvidia/version":
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3)  Tue Sep 23 09:55:41 UTC 2025\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04.2)\n",
    "proc/meminfo":
      "MemTotal:       528280992 kB\nMemFree:        402653184 kB\nMemAvailable:   469762048 kB\n",
    "proc/pressure/cpu": pressure(0),
    "proc/pressure/io": pressure(0),
    "proc/pressure/memory": pressure(0),
    "proc/self/cgroup": "0::/user.slice/user-1000.slice/session-4.scope\n",
    "proc/self/limits":
      "Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         67633500160          67633500160          bytes\n",
    "proc/self/mountinfo":
      "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n27 23 0:25 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64\n",
    "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t0-15\n",
    "proc/stat": `cpu  100 0 100 10000 0 0 0 0 0 0\n${Array.from({ length: 16 }, (_, cpu) => `cpu${cpu} 3 0 3 312 0 0 0 0 0 0\n`).join("")}btime 1790000000\n`,
    "proc/sys/kernel/hostname": "node07\n",
    // The distributions' default: on its own it is no finding.
    "proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
    "proc/uptime": "86400.25 2700000.50\n",
    "proc/vmstat": "nr_free_pages 100663296\npswpin 120\npswpout 480\n",
    "sys/class/dmi/id/product_name": "PowerEdge XE9680\n",
    "sys/class/dmi/id/sys_vendor": "Dell Inc.\n",
    "sys/devices/system/cpu/online": "0-15\n",
    "sys/devices/system/cpu/smt/active": "1\n",
    "sys/devices/system/node/node0/cpulist": "0-3,8-11\n",
    "sys/devices/system/node/node1/cpulist": "4-7,12-15\n",
    "sys/devices/system/node/online": "0-1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "dev/kmsg": "6,1,0,-;Linux version 6.8.0-45-generic (buildd@lcy02) #45-Ubuntu SMP\n",
  };
}

/** A file of /proc/pressure: microseconds in which some task waited. */
export function pressure(totalUs: number): string {
  return `some avg10=0.00 avg60=0.00 avg300=0.00 total=${totalUs}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n`;
}

/** Idle states of the first CPU, as the driver intel_idle has them. */
export function idleStates(
  states: readonly (readonly [name: string, exitLatencyUs: number, timeUs: number])[],
): TreeFiles {
  return Object.assign(
    {},
    ...states.map(([name, latency, time], i) => {
      const folder = `sys/devices/system/cpu/cpu0/cpuidle/state${i}`;
      return {
        [`${folder}/name`]: `${name}\n`,
        [`${folder}/latency`]: `${latency}\n`,
        [`${folder}/time`]: `${time}\n`,
        [`${folder}/disable`]: "0\n",
      };
    }),
  ) as TreeFiles;
}

function cpuFiles(cpu: number): TreeFiles {
  const folder = `sys/devices/system/cpu/cpu${cpu}`;
  const core = cpu % 8;
  return {
    [`${folder}/topology/physical_package_id`]: `${core < 4 ? 0 : 1}\n`,
    ...(cpu === 0
      ? {
          [`${folder}/cpufreq/scaling_governor`]: "performance\n",
          ...idleStates([
            ["POLL", 0, 1234],
            ["C1", 1, 5_678_901],
            ["C1E", 2, 23_456_789],
            ["C6", 290, 3_456_789_012],
          ]),
        }
      : {}),
  };
}

const kindBits = new Map([
  [rootPort, 0x4],
  [switchUpstream, 0x5],
  ...switchDownstreams.map((port) => [port, 0x6] as const),
]);

function portFiles(name: string): TreeFiles {
  return {
    [pciFile(name, "current_link_speed")]: "32.0 GT/s PCIe\n",
    [pciFile(name, "max_link_speed")]: "32.0 GT/s PCIe\n",
    [pciFile(name, "current_link_width")]: "16\n",
    [pciFile(name, "max_link_width")]: "16\n",
    [pciFile(name, "aer_dev_correctable")]: errorCounts("COR", 0),
    [pciFile(name, "aer_dev_nonfatal")]: errorCounts("NONFATAL", 0),
    [pciFile(name, "aer_dev_fatal")]: errorCounts("FATAL", 0),
    [pciFile(name, "config")]: pciConfig({ kind: kindBits.get(name) ?? 0x0 }),
  };
}

/** A file of Advanced Error Reporting with a number of errors of one kind, and of unsupported requests. */
export function errorCounts(total: "COR" | "NONFATAL" | "FATAL", count: number, unsupported = 0): string {
  return total === "COR"
    ? `RxErr 0\nBadTLP ${count}\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR ${count}\n`
    : `Undefined 0\nDLP 0\nSDES 0\nTLP ${count}\nFCP 0\nCmpltTO 0\nUnsupReq ${unsupported}\nACSViol 0\nTOTAL_ERR_${total} ${count + unsupported}\n`;
}

function gpuFiles(name: string): TreeFiles {
  return {
    [pciFile(name, "numa_node")]: "0\n",
    [pciFile(name, "iommu_group/type")]: "identity\n",
    [`proc/driver/nvidia/gpus/${name}/information`]:
      "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 10\nGPU UUID: \t GPU-9221d5d1-b60b-a624-bf14-0a1819cfda3b\nBus Type: \t PCIe\nBus Location: \t 0000:18:00.0\nGPU Firmware: \t 580.95.05\nGPU Excluded:\t No\n",
  };
}

/** Registers of a configuration space; sizes are bytes. */
export interface ConfigRegisters {
  kind?: number;
  maxPayload?: number;
  maxPayloadSupported?: number;
}

/**
 * A configuration space of 4096 bytes: power management (0x01) and MSI (0x05) before the PCI Express capability.
 */
export function pciConfig({
  kind = 0,
  maxPayload = 256,
  maxPayloadSupported = 256,
}: ConfigRegisters = {}): Buffer {
  const bytes = Buffer.alloc(4096);
  const bitsOf = (size: number) => Math.log2(size / 128);
  bytes.writeUInt16LE(0x10de, 0x00);
  bytes.writeUInt16LE(0x0010, 0x06);
  bytes[0x34] = 0x40;
  bytes.set([0x01, 0x48], 0x40);
  bytes.set([0x05, 0x60], 0x48);
  bytes.set([0x10, 0x00], 0x60);
  bytes.writeUInt16LE(0x0002 | (kind << 4), 0x62);
  bytes.writeUInt32LE(bitsOf(maxPayloadSupported), 0x64);
  bytes.writeUInt16LE(bitsOf(maxPayload) << 5, 0x68);
  return bytes;
}
