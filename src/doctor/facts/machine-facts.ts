import type { HostRecord } from "../../results/schema.js";

/** What /proc and /sys tell of a machine that may cost bandwidth; null where the kernel or a container does not tell. */
export interface MachineFacts {
  host: HostRecord;
}
