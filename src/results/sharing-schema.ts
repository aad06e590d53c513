import { z } from "zod";
import { count, ratio } from "./schema-parts.js";

/*
 * Who else used a device while it was measured, and whether that can be told.
 */

const otherProgramSchema = z.object({
  /** Another pinbench that measured, or any other program with a context on the device. */
  kind: z.enum(["pinbench", "program"]),
  /** Null in another namespace of processes, as of a container. */
  pid: count.nullable(),
  /** Pinbench's command ("run"), or the program's name as the kernel has it ("python3"); null where it is not known. */
  name: z.string().nullable(),
  /** Since when another pinbench has measured; null for other programs. */
  since: z.iso.datetime().nullable(),
  /** What it held of the device's memory when it was first seen; null where that is not known. */
  deviceMemoryBytes: count.nullable(),
  /** False where it came while the device was measured. */
  wasThereBefore: z.boolean(),
});

/** More of them no record has: any program can pretend to be many. */
export const mostOthers = 16;

/** Who else used a device during a run: the first ones, where they are many. */
export const sharingSchema = z.object({
  device: count,
  others: z.array(otherProgramSchema).max(mostOthers),
  /**
   * What the device did just before it was measured, for whomever: the share of time with a kernel, and the bytes over
   * its link in decimal GB/s. Each is null where NVML does not tell, all of it without NVML.
   */
  activityBefore: z
    .object({
      computeShare: z.number().min(0).max(1).nullable(),
      toDeviceGBps: ratio.nullable(),
      fromDeviceGBps: ratio.nullable(),
    })
    .nullable(),
  /**
   * Of what nothing could be seen: another "pinbench" where there is no /proc or no such sockets, other "programs" where
   * NVML does not list the processes, or not by the ids that they have here.
   */
  unseen: z.array(z.enum(["pinbench", "programs"])),
});

/** Who else used a device during a run. */
export type SharingRecord = z.infer<typeof sharingSchema>;
/** A program that used a device beside a run. */
export type OtherProgram = z.infer<typeof otherProgramSchema>;
