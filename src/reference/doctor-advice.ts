import { formatGBps } from "../draw/numbers.js";
import type { CellResult } from "../results/cell-schema.js";
import { directionName } from "../results/naming/wording.js";
import { leastReferenceBytes } from "../results/reference-cell.js";
import type { DeviceRecord, ResultDocument } from "../results/schema.js";
import { isPlain } from "../results/variant.js";
import { type Expectation, expectationOf, linkOfSlot } from "./expectation.js";

/**
 * Suggests `pinbench doctor` if a run's plain pinned copies are slower than on healthy machines; null if they are not,
 * or if that is unknown.
 */
export function doctorAdvice({ devices, cells, backend }: ResultDocument): string | null {
  for (const device of devices) {
    for (const direction of ["h2d", "d2h"] as const) {
      const rates = cells.flatMap((cell) => (isComparable(cell, device, direction) ? ratesOf(cell) : []));
      const expectation = expectationFor(device, backend === "emulated");
      if (rates.length === 0 || expectation === null) continue;
      const [best, usual] = [Math.max(...rates), expectation[direction]];
      if (best >= usual * (1 - expectation.tolerance)) continue;
      const where = devices.length === 1 ? "" : ` on device ${device.ordinal}`;
      return `${directionName[direction]} pinned copies reach ${formatGBps(best)} GB/s${where}, and those of healthy machines ${formatGBps(usual)} GB/s: pinbench doctor says why.`;
    }
  }
  return null;
}

function isComparable(cell: CellResult, { ordinal }: DeviceRecord, direction: "h2d" | "d2h"): boolean {
  const { memory, mode, workers, sizeBytes } = cell;
  return (
    cell.device === ordinal &&
    cell.direction === direction &&
    memory === "pinned" &&
    mode === "throughput" &&
    workers === 1 &&
    sizeBytes >= leastReferenceBytes &&
    isPlain(cell)
  );
}

function ratesOf({ stats }: CellResult): number[] {
  return stats.map(({ bandwidthGBps }) => bandwidthGBps.median);
}

/** For a link that trained down, expects the rate over its best speed. */
function expectationFor({ name, link }: DeviceRecord, emulated: boolean): Expectation | null {
  if (link === null) return null;
  const { generation, width, maxGeneration, maxWidth } = link;
  const best = { generation: maxGeneration ?? generation, width: maxWidth ?? width };
  return expectationOf({ name, emulated }, linkOfSlot(name, best, link));
}
