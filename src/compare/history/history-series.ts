import { devicesNamed, withDevices } from "../../results/cell-devices.js";
import { parseCellId } from "../../results/cell-id.js";
import type { HistoryEntry } from "../../results/history-entry.js";
import type { Series } from "../series.js";

/** One figure in all checks (by index): of a cell, or of one direction of a bidir cell, on the same GPUs. */
export interface HistorySeries extends Pick<Series, "cell" | "moved" | "unit"> {
  backend: HistoryEntry["backend"];
  host: string;
  /** UUIDs of the cell's GPUs; empty if unknown. */
  gpuUuids: string[];
  points: { check: number; figure: number }[];
}

/**
 * Figures of checks by series, in order of first appearance. A GPU is identified by UUID, or else by number and host.
 * It keeps its first number, or gets the next free one of its host. The emulated device has its own series. Cells with
 * unknown ids are left out.
 */
export function joinHistory(entries: readonly HistoryEntry[]): HistorySeries[] {
  const joined = new Map<string, HistorySeries>();
  const parsed = new Map<string, Series["cell"] | null>();
  const numbers = new Map<string, { number: number; host: string }>();
  for (const [check, { backend, series, machine }] of entries.entries()) {
    const host = machine.hostName.join(", ");
    for (const { id } of series) if (!parsed.has(id)) parsed.set(id, cellOf(id));
    const cells = series.flatMap(({ id }) => parsed.get(id) ?? []);
    const uuids = uuidsByDevice(cells, machine.gpuUuids);
    for (const [device, uuid] of uuids) {
      if (numbers.has(uuid)) continue;
      const taken = [...numbers.values()].flatMap((one) => (one.host === host ? one.number : []));
      let number = device;
      while (taken.includes(number)) ++number;
      numbers.set(uuid, { number, host });
    }
    const numberOf = (device: number) => numbers.get(uuids.get(device) ?? "")?.number ?? device;
    for (const { id, moved, unit, figure } of series) {
      const own = parsed.get(id) ?? null;
      const cell =
        own === null || devicesNamed(own).every((device) => numberOf(device) === device)
          ? own
          : withDevices(own, numberOf);
      if (own === null || cell === null) continue;
      const gpuUuids = devicesNamed(own).flatMap((device) => uuids.get(device) ?? []);
      const owner = gpuUuids.length === 0 ? host : gpuUuids.join();
      const key = [backend, owner, cell.id, moved, unit].join(" ");
      const known = joined.get(key) ?? { cell, moved, unit, backend, host, gpuUuids, points: [] };
      joined.set(key, known);
      known.host = host;
      known.points.push({ check, figure });
    }
  }
  return [...joined.values()];
}

/** UUIDs by device number, listed in ascending order of these. Empty unless each device has cells and a UUID. */
function uuidsByDevice(cells: readonly Series["cell"][], gpuUuids: readonly string[]): Map<number, string> {
  const devices = [...new Set(cells.flatMap(devicesNamed))].sort((a, b) => a - b);
  return new Map(
    devices.length === gpuUuids.length ? devices.map((device, i) => [device, gpuUuids[i]!]) : [],
  );
}

function cellOf(id: string): Series["cell"] | null {
  try {
    return { id, ...parseCellId(id) };
  } catch {
    return null;
  }
}
