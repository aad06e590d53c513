import { rates } from "../helpers/examination.js";
import { gpuNames, pciFile } from "../helpers/machine-tree.js";
import { type CauseCase, slow } from "./cause-case.js";

const [gpu] = gpuNames;

/** Machines with one fault in the NUMA nodes, CPUs or memory of the host. */
export const hostCases: readonly CauseCase[] = [
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
    cost: { direction: "both", gigabytesPerSecond: 14.4, basis: "measured" },
    says: "numactl --cpunodebind=0",
  },
  {
    what: "a power-saving CPU governor, with a slow device",
    files: {
      "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    },
    change: { measured: slow },
    cause: "governor-saves",
    weight: "risk",
  },
  {
    what: "a small copy that takes long after a rest",
    change: { measured: { latency: { backToBackUs: 8.2, afterRestUs: 96 } } },
    cause: "wakes-slowly",
    weight: "risk",
    says: "C6 (290 us to wake up)",
  },
  {
    what: "a cgroup quota of one CPU",
    files: { "sys/fs/cgroup/user.slice/cpu.max": "100000 100000\n" },
    cause: "cpu-quota-low",
    weight: "risk",
  },
  {
    what: "disabled huge pages, with slower copies from registered memory",
    files: { "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" },
    change: { measured: { registered: { rates: rates(43.6, 54.8), refused: null } } },
    cause: "huge-pages-off",
    weight: "costs",
    cost: { direction: "h2d", gigabytesPerSecond: 12, basis: "measured" },
  },
  {
    what: "refused memory registration, with a low limit of locked memory",
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
    what: "a cgroup limit that leaves 2 GiB of memory",
    files: {
      "sys/fs/cgroup/user.slice/memory.max": "4294967296\n",
      "sys/fs/cgroup/user.slice/memory.current": "2147483648\n",
    },
    cause: "memory-limit-low",
    weight: "risk",
    says: "2 GiB",
  },
  {
    what: "a container with 64 MiB of /dev/shm",
    files: {
      "proc/self/mountinfo":
        "512 498 0:98 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k,inode64\n",
    },
    cause: "shared-memory-small",
    weight: "risk",
    says: "64 MiB",
  },
];
