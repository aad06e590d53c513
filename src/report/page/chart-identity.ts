import type { CellResult } from "../../results/cell-schema.js";
import { directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";

/*
 * What the charts of a result are called. Names do not depend on what else was measured, but for the number of devices:
 * charts of one name in two results show the same thing.
 */

/** What the cells of a chart have in common. */
export type ChartSubject = Pick<CellResult, "device" | "mode" | "timer" | "cache">;

/**
 * The name that `--chart` takes: "h2d-by-size", "gpu1-h2d-latency-warm-by-size". The device stands in it where there are
 * several and the chart is of one; mode, timer and cache state where they are not throughput, wall clock and cold.
 */
export function chartName(
  document: ResultDocument,
  { device, mode, timer, cache }: ChartSubject,
  parts: { before: readonly string[]; shows: string; ofAllDevices?: boolean },
): string {
  const { before, shows, ofAllDevices = false } = parts;
  return [
    ...(document.devices.length > 1 && !ofAllDevices ? [`gpu${device}`] : []),
    ...before,
    ...(mode === "latency" ? ["latency"] : []),
    ...(timer === "event" ? ["event"] : []),
    ...(cache === "warm" ? ["warm"] : []),
    shows,
  ].join("-");
}

/** What stands before a chart's title where the result has several devices: "Device 1: ", or nothing. */
export function devicePrefix({ devices }: ResultDocument, device: number): string {
  return devices.length > 1 ? `Device ${device}: ` : "";
}

/** What a chart's title ends with where it is of events or of warm caches: ", event timer, warm cache". */
export function clockSuffix({ timer, cache }: Pick<ChartSubject, "timer" | "cache">): string {
  return `${timer === "event" ? ", event timer" : ""}${cache === "warm" ? ", warm cache" : ""}`;
}

/** A direction as it begins a title, its device before it: "Device 1: host to device (H2D)". */
export function directionSubject(
  document: ResultDocument,
  { device, direction }: Pick<CellResult, "device" | "direction">,
): string {
  return devicePrefix(document, device) + directionTitle[direction];
}
