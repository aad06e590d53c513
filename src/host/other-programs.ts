import { z } from "zod";
import { roundUp } from "../draw/numbers.js";
import { count, ratio } from "../settings/schema-parts.js";
import { formatSizeRounded } from "../settings/units.js";

const otherProgramSchema = z.object({
  /** Another pinbench that measured, or another program with a context on the device. */
  kind: z.enum(["pinbench", "program"]),
  /** Null for another namespace of processes, such as a container's. */
  pid: count.nullable(),
  /** The command of pinbench ("run"), or the kernel's name of the program ("python3"); null if unknown. */
  name: z.string().nullable(),
  /** When another pinbench began to measure; null for other programs. */
  since: z.iso.datetime().nullable(),
  /** Its device memory when it was first observed; null if unknown. */
  deviceMemoryBytes: count.nullable(),
  /** False if it came while the device was measured. */
  wasThereBefore: z.boolean(),
});

/**
 * A process with a context on a device, as listed by NVML. In a container the driver may report other process ids, or
 * hide processes.
 */
export interface DeviceProcess {
  pid: number;
  /** Null if unknown. */
  deviceMemoryBytes: number | null;
}

/** Largest number of recorded programs, because any program can pretend to be many. */
export const mostOthers = 16;

export const sharingSchema = z.object({
  device: count,
  others: z.array(otherProgramSchema).max(mostOthers),
  /**
   * The device's activity just before it was measured, for any process: the share of time with a kernel, and the rate
   * over its link in decimal GB/s. Each is null if NVML does not report it, and all is null without NVML.
   */
  activityBefore: z
    .object({
      computeShare: z.number().min(0).max(1).nullable(),
      toDeviceGBps: ratio.nullable(),
      fromDeviceGBps: ratio.nullable(),
    })
    .nullable(),
  /**
   * Users that could not be observed: another "pinbench" without /proc or abstract sockets, other "programs"
   * if NVML does not list the processes, or not with their ids here.
   */
  unseen: z.array(z.enum(["pinbench", "programs"])),
});

export type SharingRecord = z.infer<typeof sharingSchema>;
export type OtherProgram = z.infer<typeof otherProgramSchema>;

/** "pinbench check (pid 4711, since 2026-11-20 10:00:00 UTC)", "python3 (pid 4712, 512 MiB of the device's memory)". */
export function describeOther({ kind, pid, name, since, deviceMemoryBytes }: OtherProgram): string {
  const facts = [
    ...(pid === null ? ["in another container"] : [`pid ${pid}`]),
    ...(since === null ? [] : [`since ${since.slice(0, 19).replace("T", " ")} UTC`]),
    ...(deviceMemoryBytes === null ? [] : [`${formatSizeRounded(deviceMemoryBytes)} of the device's memory`]),
  ];
  const what = kind === "pinbench" ? `pinbench${name === null ? "" : ` ${name}`}` : (name ?? "a program");
  return `${what} (${facts.join(", ")})`;
}

/** Less activity than this is the noise of an idle device. */
const busyComputeShare = 0.05;
const busyLinkGBps = 0.1;

const mostNamed = 3;

/**
 * Other users of a device and its earlier activity: one sentence each, without a full stop; empty if nobody else used
 * it.
 */
export function describeSharing({ device, others, activityBefore }: SharingRecord): string[] {
  const named = (list: readonly OtherProgram[]) => {
    const rest = list.length > mostNamed ? ` and ${list.length - mostNamed} more` : "";
    return list.slice(0, mostNamed).map(describeOther).join(", ") + rest;
  };
  const before = others.filter(({ wasThereBefore }) => wasThereBefore);
  const later = others.filter(({ wasThereBefore }) => !wasThereBefore);
  const { computeShare, toDeviceGBps, fromDeviceGBps } = activityBefore ?? {};
  const busy = [
    ...(computeShare != null && computeShare > busyComputeShare
      ? [`kernels ran for ${roundUp(100 * computeShare, 0)} % of the time`]
      : []),
    ...(toDeviceGBps != null && toDeviceGBps > busyLinkGBps
      ? [`${roundUp(toDeviceGBps, 1)} GB/s went to it over the link`]
      : []),
    ...(fromDeviceGBps != null && fromDeviceGBps > busyLinkGBps
      ? [`${roundUp(fromDeviceGBps, 1)} GB/s came from it over the link`]
      : []),
  ];
  return [
    ...(before.length > 0
      ? [`device ${device} was not measured alone: ${named(before)} used it as well`]
      : []),
    ...(later.length > 0
      ? [`device ${device} was not measured alone: ${named(later)} started during the run`]
      : []),
    ...(busy.length > 0 ? [`device ${device} was busy before it was measured: ${busy.join(", ")}`] : []),
  ];
}

/** What could not be found out about other users: one sentence each, without a full stop. */
export function describeUnseen({ device, unseen }: SharingRecord): string[] {
  const reasons = {
    programs: "other programs: NVML does not list them here",
    pinbench: "another pinbench: this system has no /proc, or no abstract sockets",
  } as const;
  return unseen.map((what) => `device ${device} may have been used by ${reasons[what]}`);
}

/** Merges the records of several runs, one per device: users of any run, and the highest activity before a run. */
export function joinSharing(runs: readonly (readonly SharingRecord[])[]): SharingRecord[] {
  const records = new Map<number, SharingRecord>();
  for (const record of runs.flat()) {
    const known = records.get(record.device);
    records.set(record.device, known === undefined ? record : join(known, record));
  }
  return [...records.values()];
}

function join(a: SharingRecord, b: SharingRecord): SharingRecord {
  const isNew = (other: OtherProgram) =>
    !a.others.some(
      ({ kind, pid, since }) => kind === other.kind && pid === other.pid && since === other.since,
    );
  const most = (one: number | null | undefined, other: number | null | undefined) =>
    one == null || other == null ? (one ?? other ?? null) : Math.max(one, other);
  const [x, y] = [a.activityBefore, b.activityBefore];
  return {
    device: a.device,
    others: [...a.others, ...b.others.filter(isNew)].slice(0, mostOthers),
    activityBefore:
      x === null && y === null
        ? null
        : {
            computeShare: most(x?.computeShare, y?.computeShare),
            toDeviceGBps: most(x?.toDeviceGBps, y?.toDeviceGBps),
            fromDeviceGBps: most(x?.fromDeviceGBps, y?.fromDeviceGBps),
          },
    unseen: [...new Set([...a.unseen, ...b.unseen])],
  };
}
