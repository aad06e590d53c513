import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { threadId } from "node:worker_threads";
import { onTestFinished } from "vitest";
import { DeviceSharing, type SharedDevice } from "../../src/host/device-sharing.js";

/** Devices whose other users are played, and tickets of other processes. */

export type Processes = Awaited<ReturnType<NonNullable<SharedDevice["nvml"]>["readProcesses"]>>;

/** This process, as NVML lists it. */
export const self = { pid: process.pid, deviceMemoryBytes: 1 };
/** A process that is there, and none of pinbench's. */
export const parent = { pid: process.ppid, deviceMemoryBytes: 512 * 1024 ** 2 };
/** Beyond any process id of Linux: of another namespace. */
export const foreign = { pid: 2 ** 30, deviceMemoryBytes: null };

/** Files of tests run as threads of one process. */
export const keysOfThread = `test-${process.pid}-${threadId}-`;
let devices = 0;

type Activity = { computePercent: number; toDevice?: number; fromDevice?: number };

/** A device whose processes NVML lists differently at each call; the last list stays. */
export function sharingOf(lists: Processes[], activity: Activity | null = null) {
  return new DeviceSharing([deviceOf(3, lists, activity)], { command: "test", ownerPid: null });
}

/** The same as a device. */
export function deviceOf(
  ordinal: number,
  lists: Processes[],
  activity: Activity | null = null,
): SharedDevice {
  return {
    ordinal,
    key: `${keysOfThread}${++devices}`,
    nvml: {
      readProcesses: async () => (lists.length > 1 ? lists.shift()! : lists[0]!),
      readActivity: async () =>
        activity && {
          computePercent: activity.computePercent,
          toDeviceBytesPerSecond: activity.toDevice ?? 0,
          fromDeviceBytesPerSecond: activity.fromDevice ?? null,
        },
    },
  };
}

/** The ticket of another process that waits for a device, or measures on it. */
export async function announced(
  { key }: SharedDevice,
  {
    pid,
    sinceMs,
    ...place
  }: { pid: number; sinceMs: number; state?: "waiting" | "measuring"; namespace?: string },
) {
  const own = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))![0];
  const { state = "waiting", namespace = own } = place;
  const name = `\0pinbench/1/${key}/${state}/${pid}-1/${namespace}/${sinceMs}/run`;
  const server = createServer().listen({ path: name, exclusive: true });
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return server;
}
