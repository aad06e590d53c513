import { counted, listed } from "../../draw/words.js";
import type { Beside, BlockWay, Direction } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import type { CellStats } from "../cell-schema.js";
import { noticeOf } from "../device-facts.js";
import type { HostRecord, ResultDocument } from "../schema.js";

/*
 * The terms that every output uses for the same things.
 */

/** What the units of sizes and rates mean. */
export const unitsNote = "GB/s is decimal (1e9 bytes), sizes are binary (1 KiB = 1024 bytes)";

/** What the table of a direction is called. */
export const directionTitle: Readonly<Record<Direction, string>> = {
  h2d: "Host to device (H2D)",
  d2h: "Device to host (D2H)",
  bidir: "Both directions at once",
  d2d: "Device to device (D2D), bytes read plus written",
  p2p: "Between devices (P2P)",
};

/** A direction in running text and in the head of a column. */
export const directionName: Readonly<Record<Direction | CellStats["direction"], string>> = {
  h2d: "H2D",
  d2h: "D2H",
  d2d: "D2D",
  p2p: "P2P",
  bidir: "both",
  sum: "sum",
};

/** What copies are measured beside, in running text and in titles. */
export const besideName: Readonly<Record<Exclude<Beside, "none">, string>> = {
  compute: "arithmetic on the device",
  memory: "a load on the device's memory",
  host: "a load on the host's memory",
};

/** What a copy of scattered blocks is made of: "4096 × 4 KiB". */
export function blocksText(sizeBytes: number, blockBytes: number): string {
  return `${sizeBytes / blockBytes} × ${formatSize(blockBytes)}`;
}

/** How blocks are copied, in the names of cells: "loop", "kernel on 8 SMs". */
export function blockWayText(way: BlockWay, sms: number | undefined): string {
  return sms === undefined ? way : `${way} on ${counted(sms, "SM")}`;
}

/** How many CPUs may be used, of which the cgroup's quota (null without one) gives so many at a time. */
export function countedCpus(count: number, quota: number | null): string {
  return counted(count, "CPU") + (quota === null ? "" : ` (quota ${quota})`);
}

/** What the machine's Linux runs in, "in kvm and docker", as an entry of a list of facts; no entry on bare metal. */
export function guestOf({ virtualization, container }: HostRecord): string[] {
  const around = [virtualization, container].filter((name) => name !== null);
  return around.length === 0 ? [] : [`in ${listed(around)}`];
}

/** A PCIe link, such as "gen5 x16". */
export function pcieLink(generation: number | null, width: number | null): string {
  return `gen${generation} x${width}`;
}

/** The notice that every output of a document carries: its own, or that of its backend; null for a GPU's figures. */
export function noticeIn(document: Pick<ResultDocument, "notice" | "backend">): string | null {
  return document.notice ?? noticeOf(document.backend);
}

/** The labels of a result in one line, "rack=7; row=b"; null where it has none. */
export function labelsLine({ run }: { run: Pick<ResultDocument["run"], "labels"> }): string | null {
  const entries = Object.entries(run.labels ?? {});
  return entries.length === 0 ? null : entries.map(([key, value]) => `${key}=${value}`).join("; ");
}
