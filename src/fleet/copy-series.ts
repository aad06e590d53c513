import type { Cell } from "../results/cell-schema.js";
import { cellOfKey, kindOf } from "./node-figures.js";

/**
 * The two kinds of copies. `pinned` ones are made by the GPU and hardly vary between healthy machines. `copiesByCpu`
 * need the CPU: pageable and staged memory, gathered blocks, the latency of small copies.
 */
type CopyKind = "pinned" | "copiesByCpu";

/** Smallest relative losses that are reported: 0.04 is 4 %. */
export type FleetThresholds = Readonly<Record<CopyKind, number>>;

/** Default thresholds: 4 % less in pinned copies delays a job; copies by the CPU vary by 5 % between nodes. */
export const usualThresholds: FleetThresholds = { pinned: 0.04, copiesByCpu: 0.1 };

/**
 * Minimum noise: standard deviation of the logarithm between healthy machines, 1 % and 5 %. The recorded machines vary
 * less (results/nvidia-h200/sessions.json), but three of them are too few.
 */
export const noiseFloors: Readonly<Record<CopyKind, number>> = { pinned: 0.01, copiesByCpu: 0.05 };

export interface CopySeries {
  /** "pinned H2D", "pageable D2H", "pinned H2D latency". */
  name: string;
  kind: CopyKind;
  /** Keys of figures, as from `keyOf()`. */
  keys: string[];
}

const byCpu: ReadonlySet<Cell["memory"]> = new Set(["pageable", "staged", "host", "system"]);

function copyKind({ memory, mode, blockWay }: Cell): CopyKind {
  return byCpu.has(memory) || mode === "latency" || blockWay === "gather" ? "copiesByCpu" : "pinned";
}

export function copySeries(keys: Iterable<string>): CopySeries[] {
  const series = new Map<string, CopySeries>();
  for (const key of keys) {
    const cell = cellOfKey(key);
    const kind = copyKind(cell);
    const way = cell.direction === "bidir" ? `${kindOf(key).moved} of both directions` : cell.direction;
    const words = [
      cell.memory === "device" ? [] : cell.memory,
      way.replace(/^[hdp]2[hdp]/, (text) => text.toUpperCase()),
    ];
    const name = [...words.flat(), ...(cell.mode === "latency" ? ["latency"] : [])].join(" ");
    const one = series.get(`${name} ${kind}`) ?? { name, kind, keys: [] };
    one.keys.push(key);
    series.set(`${name} ${kind}`, one);
  }
  return [...series.values()];
}
