import { describe, expect, it } from "vitest";
import { hostRecord } from "../../src/host/machine-load.js";
import {
  container,
  cpuModel,
  frequencyGovernor,
  hugePageBytes,
  kernelRelease,
  transparentHugePages,
  virtualization,
} from "../../src/host/system.js";
import { resultSchema } from "../../src/results/schema.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

const cpuInfo = (flags: string) => ({
  "proc/cpuinfo": `processor\t: 0\nmodel name\t: Intel(R) Xeon(R)  Platinum 8480C\nflags\t\t: fpu ${flags}`,
});

describe("the system", () => {
  it("is described from /proc and /sys", () => {
    const root = fixtureRoot({
      ...cpuInfo("sse"),
      "proc/sys/kernel/osrelease": "6.8.0-45-generic",
      "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
      "sys/devices/system/cpu/cpu4/cpufreq/scaling_governor": "performance",
    });
    expect(kernelRelease(root)).toBe("6.8.0-45-generic");
    expect(cpuModel(root)).toBe("Intel(R) Xeon(R) Platinum 8480C");
    expect(transparentHugePages(root)).toBe("madvise");
    expect(frequencyGovernor(4, root)).toBe("performance");
    expect(frequencyGovernor(0, root)).toBeNull();
  });

  it("has transparent huge pages of 2 MiB, unless the kernel says otherwise", () => {
    const path = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    expect(hugePageBytes(fixtureRoot({ [path]: String(512 * 2 ** 20) }))).toBe(512 * 2 ** 20);
    expect(hugePageBytes(fixtureRoot({ [path]: "0" }))).toBe(2 * 2 ** 20);
    expect(hugePageBytes(fixtureRoot())).toBe(2 * 2 ** 20);
  });

  it.each([["processor\t: 0", "unknown"]])("has no CPU model if cpuinfo is %j", (text, name) => {
    expect(cpuModel(fixtureRoot({ "proc/cpuinfo": text }))).toBe(name);
  });

  it.each([
    ["0x41", "0xd4f", "Arm Neoverse V2"],
    ["0x41", "0xfff", "implementer 0x41 part 0xfff"],
    ["0x42", "0xd4f", "implementer 0x42 part 0xd4f"],
  ])("names an Arm CPU of implementer %s and part %s: %s", (implementer, part, name) => {
    // Two cores of one machine, as Grace's kernel shows them.
    const core = (number: number) =>
      `processor\t: ${number}\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\nCPU implementer\t: ${implementer}\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: ${part}\nCPU revision\t: 0\n`;
    const root = fixtureRoot({ "proc/cpuinfo": `${core(0)}\n${core(1)}` });
    expect(cpuModel(root)).toBe(name);
  });
});

describe("virtualization", () => {
  const dmi = (vendor: string, product: string) => ({
    "sys/class/dmi/id/sys_vendor": vendor,
    "sys/class/dmi/id/product_name": product,
  });

  const guest = cpuInfo("hypervisor");

  it.each<[string, Record<string, string>, string | null]>([
    ["bare metal", { ...cpuInfo("sse"), ...dmi("Dell Inc.", "PowerEdge R760xa") }, null],
    ["a cloud's bare metal", { ...cpuInfo("sse"), ...dmi("Amazon EC2", "p5.metal") }, null],
    ["EC2", { ...guest, ...dmi("Amazon EC2", "p5.48xlarge") }, "amazon ec2"],
    ["QEMU", { ...guest, ...dmi("QEMU", "Standard PC") }, "kvm"],
    ["Hyper-V", { ...guest, ...dmi("Microsoft Corporation", "Virtual Machine") }, "hyper-v"],
    ["VMware", { ...guest, ...dmi("VMware, Inc.", "VMware7,1") }, "vmware"],
    ["VirtualBox", { ...guest, ...dmi("innotek GmbH", "VirtualBox") }, "virtualbox"],
    ["VirtualBox by its vendor", { ...guest, ...dmi("innotek GmbH", "") }, "virtualbox"],
    ["Google", { ...guest, ...dmi("Google", "Google Compute Engine") }, "google compute engine"],
    ["Xen by its firmware", { ...guest, ...dmi("Xen", "HVM domU"), "sys/hypervisor/type": "" }, "xen"],
    ["OpenStack", { ...guest, ...dmi("OpenStack Foundation", "OpenStack Nova") }, "kvm"],
    ["an unknown product", { ...guest, ...dmi("Microsoft Corporation", "Surface") }, "unknown hypervisor"],
    ["a guest without firmware names", guest, "unknown hypervisor"],
    ["an Arm machine in QEMU", dmi("QEMU", "QEMU Virtual Machine"), "kvm"],
    ["Xen", { ...guest, "sys/hypervisor/type": "xen" }, "xen"],
    ["WSL 2", { ...guest, "proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2" }, "wsl2"],
  ])("is $2 on %s", (_, files, name) => {
    expect(virtualization(fixtureRoot(files))).toBe(name);
  });
});

describe("container", () => {
  const group = (path: string) => ({ "proc/self/cgroup": `0::${path}` });

  it.each([
    { files: {}, name: null },
    { files: { ".dockerenv": "" }, name: "docker" },
    { files: { "run/.containerenv": "" }, name: "podman" },
    { files: { ".singularity.d/runscript": "" }, name: "apptainer" },
    { files: group("/docker/0123456789abcdef"), name: "docker" },
    { files: group("/system.slice/docker-0123456789abcdef.scope"), name: "docker" },
    { files: group("/system.slice/docker.service"), name: null },
    { files: group("/machine.slice/libpod-0123.scope"), name: "podman" },
    { files: group("/lxc.payload.build"), name: "lxc" },
    { files: group("/lxc/build"), name: "lxc" },
    { files: group("/system.slice/cri-containerd-0123.scope"), name: "containerd" },
    { files: { "var/run/secrets/kubernetes.io/serviceaccount/namespace": "default" }, name: "kubernetes" },
    { files: { ...group("/kubepods.slice/pod1"), ".dockerenv": "" }, name: "kubernetes" },
    { files: group("/user.slice/user-1000.slice"), name: null },
  ])("is recognised by its files: %j", ({ files, name }) => {
    expect(container(fixtureRoot(files))).toBe(name);
  });
});

describe("hostRecord", () => {
  const hostSchema = resultSchema.shape.host;

  it("of this machine matches the schema of a result", () => {
    const record = hostRecord();
    expect(hostSchema.parse(record)).toEqual(record);
  });

  it("takes caches and governor from the CPUs that this process may use", () => {
    const cache = (cpu: number, size: string) => {
      const index = `sys/devices/system/cpu/cpu${cpu}/cache/index3`;
      return { [`${index}/level`]: "3", [`${index}/size`]: size, [`${index}/shared_cpu_list`]: `${cpu}` };
    };
    const governor = (cpu: number) => `sys/devices/system/cpu/cpu${cpu}/cpufreq/scaling_governor`;
    const root = fixtureRoot({
      "proc/self/status": "Cpus_allowed_list:\t2-3",
      "proc/self/limits": "Max locked memory         65536                131072               bytes",
      "proc/self/cgroup": "0::/job",
      "proc/meminfo": "MemTotal: 4000 kB\nMemAvailable: 3000 kB",
      "proc/cpuinfo": "model name\t: A CPU",
      "proc/sys/kernel/osrelease": "6.1.0",
      "proc/sys/kernel/hostname": "node7",
      "sys/fs/cgroup/job/cpu.max": "150000 100000",
      "sys/fs/cgroup/job/memory.max": "5000000",
      "sys/fs/cgroup/job/memory.current": "2500000",
      "sys/devices/system/node/online": "0-2",
      "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
      ...cache(0, "1024K"),
      ...cache(2, "2048K"),
      ...cache(3, "4096K"),
      [governor(0)]: "powersave",
      [governor(2)]: "performance",
    });
    expect(hostRecord(root)).toEqual({
      hostname: "node7",
      kernel: "6.1.0",
      cpuModel: "A CPU",
      cpusAllowed: [2, 3],
      cpuQuota: 1.5,
      numaNodes: 3,
      memoryTotalBytes: 4000 * 1024,
      memoryAvailableBytes: 2500000,
      cgroupMemoryLimitBytes: 5000000,
      memlockLimitBytes: 65536,
      transparentHugePages: "madvise",
      lastLevelCacheBytes: 6 * 1024 * 1024,
      lastLevelCacheSource: "sysfs index3 x2",
      governor: "performance",
      virtualization: null,
      container: null,
    });
  });

  it("has every field even if no system file can be read", () => {
    const record = hostRecord(fixtureRoot());
    expect(hostSchema.parse(record)).toEqual(record);
    expect(record).toMatchObject({
      hostname: "unknown",
      cpuModel: "unknown",
      cpuQuota: null,
      numaNodes: 1,
      lastLevelCacheSource: "assumed",
      virtualization: null,
      container: null,
    });
  });
});
