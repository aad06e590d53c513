import { formatWholeShare, roundUp } from "../../draw/numbers.js";
import { formatSize, formatSizeRounded, MiB } from "../../settings/units.js";
import type { Cost } from "../diagnosis.js";
import {
  type DeviceExamination,
  type DeviceMeasurements,
  type Examination,
  eachWay,
} from "../examination.js";
import { costOf, ratesText } from "./cost.js";
import type { Seen } from "./share-loss.js";

/** Smaller relative losses from registered compared with pinned memory may be chance. */
const registeredTolerance = 0.1;

/** Loss of copies from registered compared with pinned memory; null if it may be chance. */
export function registeredLosses({ pinned, registered }: DeviceMeasurements): Cost | null {
  const losses = eachWay((direction) => {
    const [own, other] = [pinned[direction], registered.rates[direction]];
    const loss = own === null || other === null ? 0 : own - other;
    return loss > (own ?? 0) * registeredTolerance ? loss : 0;
  });
  return costOf(losses, "measured", "registered");
}

/** Programs' own memory has only small pages, which makes copies from it slower. */
export function hugePagesOff({ measured }: DeviceExamination, { machine }: Examination): Seen | null {
  if (machine.host.transparentHugePages !== "never") return null;
  const cost = registeredLosses(measured);
  if (cost === null) return null;
  return {
    weight: "costs",
    summary: "Copies from registered memory are slower: huge pages are off, so it has 4 KiB pages.",
    evidence: [
      "transparent huge pages: never",
      `from registered memory: ${ratesText(measured.registered.rates)}`,
      `from pinned memory: ${ratesText(measured.pinned)}`,
    ],
    cost,
    fix: "Turn huge pages on for programs that request them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
    sureness: "likely",
  };
}

/** The test buffer of 64 MiB does not reach a limit of locked memory of this size or more. */
const lowMemlockBytes = 1024 * MiB;

/** The driver refuses to pin a program's own memory. Confidential machines and WSL have their own findings. */
export function registeringRefused(
  { health, measured: { registered } }: DeviceExamination,
  { machine: { host, platform } }: Examination,
): Seen | null {
  const isExplained =
    host.virtualization === "wsl2" ||
    platform.confidentialGuest !== null ||
    health.before?.confidentialComputing === true;
  if (registered.refused === null || isExplained) return null;
  const isLimited = host.memlockLimitBytes !== null && host.memlockLimitBytes < lowMemlockBytes;
  return {
    summary: "The driver refuses to register memory that a program has allocated.",
    evidence: [
      registered.refused,
      ...(host.memlockLimitBytes === null
        ? []
        : [`limit of locked memory (ulimit -l): ${formatSize(host.memlockLimitBytes)}`]),
    ],
    fix: !isLimited
      ? "Let programs allocate pinned memory instead (cudaHostAlloc, pin_memory); pinbench pin shows which pool sizes are refused."
      : "Raise the limit: ulimit -l unlimited (docker run --ulimit memlock=-1, Slurm: PropagateResourceLimitsExcept=MEMLOCK).",
    sureness: isLimited ? "likely" : "possible",
  };
}

/** Less leaves no room for a job's pinned buffers. */
const littleMemoryBytes = 4096 * MiB;

/** The control group's limit leaves little memory, and pinned buffers count towards it. */
export function memoryLimitLow({ machine: { host } }: Examination): Seen | null {
  const { cgroupMemoryLimitBytes: limitBytes, memoryAvailableBytes: leftBytes } = host;
  if (limitBytes === null || limitBytes >= host.memoryTotalBytes || leftBytes >= littleMemoryBytes)
    return null;
  return {
    summary: `The control group leaves ${formatSizeRounded(leftBytes, Math.floor)} of memory: large pinned buffers will be refused, or end the job.`,
    evidence: [
      `limit of the cgroup: ${formatSizeRounded(limitBytes, Math.floor)} of the machine's ${formatSizeRounded(host.memoryTotalBytes, Math.floor)}`,
    ],
    fix: "Raise the container's or job's memory limit (docker run --memory, Slurm --mem).",
  };
}

/** Less is too little for a few workers' batches; containers have 64 MiB by default. */
const smallSharedMemoryBytes = 1024 * MiB;

/** Data loader workers pass batches through /dev/shm, and die of a bus error if it is full. */
export function sharedMemorySmall({ machine: { sharedMemoryBytes } }: Examination): Seen | null {
  if (sharedMemoryBytes === null || sharedMemoryBytes >= smallSharedMemoryBytes) return null;
  return {
    summary: `/dev/shm holds ${formatSizeRounded(sharedMemoryBytes, Math.floor)}: data loaders with several workers need more.`,
    evidence: [`size of the file system at /dev/shm: ${formatSizeRounded(sharedMemoryBytes, Math.floor)}`],
    fix: "Start the container with --shm-size=16g or --ipc=host.",
  };
}

/** Over 4 MiB (4 KiB pages) swapped during copies, or a larger share of time waiting for memory, is not chance. */
const mostChancePages = 1024;
const muchWaiting = 0.02;

/** The machine has too little memory for its programs: it swaps, or programs wait for memory. */
export function memoryShort({ machine: { activity, host } }: Examination): Seen | null {
  const pages = activity?.swappedPages ?? 0;
  const waiting = activity?.load.memoryPressureShare ?? 0;
  if (pages <= mostChancePages && waiting < muchWaiting) return null;
  return {
    summary:
      pages > mostChancePages
        ? "The machine swapped while copies were measured."
        : "Programs waited for memory while copies were measured.",
    evidence: [
      ...(pages > 0 ? [`${pages} pages moved to or from swap`] : []),
      ...(waiting > 0 ? [`waiting for memory: ${formatWholeShare(waiting, roundUp)} of the time (PSI)`] : []),
      `memory available: ${formatSizeRounded(host.memoryAvailableBytes, Math.floor)}`,
    ],
    fix: "End the programs that use most memory (ps aux --sort=-rss lists them), or give the job a machine with more.",
  };
}
