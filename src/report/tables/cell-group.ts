import { counted, listed } from "../../draw/words.js";
import { hasSeveralDevices } from "../../results/cell-devices.js";
import { parseCellId } from "../../results/cell-id.js";
import type { CellResult } from "../../results/cell-schema.js";
import { besideName, directionTitle } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { type Variant, variantOf, variants } from "../../results/variant.js";
import { besides, caches, directions, memories, modes } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";

/** Cells of one table. In plain tables they differ only in memory, size and workers. */
export interface CellGroup {
  variant: Variant;
  /** Link limit in GB/s, for several devices that of the first; null if unknown. */
  linkLimitGBps: number | null;
  direction: CellResult["direction"];
  mode: CellResult["mode"];
  /** Distinguishes the table from others; omits properties that the whole document shares. */
  title: string;
  memories: CellResult["memory"][];
  cells: readonly CellResult[];
}

/**
 * A result's cells by table, in the order of device, direction, mode and cache. Variants follow the plain cells that
 * they are compared with; tables of several devices come last.
 */
export function groupCells(document: ResultDocument): CellGroup[] {
  const cells = requestedCells(document);
  const varies = (key: "cache" | "workers", variant?: Variant) => {
    const some = variant === undefined ? cells : cells.filter((cell) => variantOf(cell) === variant);
    return new Set(some.map((cell) => cell[key])).size > 1;
  };
  return [...groupBy([...cells].sort(byTable), (cell) => tableKey(cell).join("/")).values()].map(
    (members) => {
      const [first] = members as [CellResult];
      const { direction, mode, cache, device, together, sizeBytes, workers, beside } = first;
      const variant = variantOf(first);
      const devices =
        variant === "together"
          ? `Devices ${listed(together!.map(String))} at once: `
          : hasSeveralDevices(document) && !isOfSeveral(variant)
            ? `Device ${device}: `
            : "";
      const subject =
        devices + directionTitle[direction] + (beside === undefined ? "" : ` beside ${besideName[beside]}`);
      const title = [
        subject,
        ...(titleOf[variant] ?? []),
        ...(hasOneSize(variant) ? [formatSize(sizeBytes)] : []),
        ...(hasOneSize(variant) && varies("workers", variant) ? [counted(workers, "worker")] : []),
        unitOf(first, variant),
        ...(varies("cache") ? [`${cache} cache`] : []),
      ].join(", ");
      return {
        variant,
        linkLimitGBps: document.devices.find(({ ordinal }) => ordinal === device)?.linkLimitGBps ?? null,
        direction,
        mode,
        title,
        memories: memories.filter((memory) => members.some((cell) => cell.memory === memory)),
        cells: members,
      };
    },
  );
}

const titleOf: Partial<Record<Variant, readonly string[]>> = {
  pipeline: ["in chunks with a kernel behind each"],
  blocks: ["in scattered blocks"],
  "blocks-beside": ["in scattered blocks"],
  numa: ["by NUMA node of the memory"],
};

const isOfSeveral = (variant: Variant) => variant === "together" || hasOneSize(variant);

const hasOneSize = (variant: Variant) => variant === "p2p" || variant === "numa";

function unitOf({ mode, direction }: CellResult, variant: Variant): string {
  if (variant === "pipeline") return "ms a batch";
  if (mode === "latency") return "latency in µs";
  return variant === "blocks" && direction === "bidir" ? "GB/s, the sum" : "GB/s";
}

function tableKey(cell: CellResult): (number | string)[] {
  const variant = variantOf(cell);
  return [
    isOfSeveral(variant) ? variants.indexOf(variant) : 0,
    isOfSeveral(variant) ? 0 : cell.device,
    directions.indexOf(cell.direction),
    modes.indexOf(cell.mode),
    caches.indexOf(cell.cache),
    variants.indexOf(variant),
    cell.beside === undefined ? 0 : besides.indexOf(cell.beside),
    ...(hasOneSize(variant) ? [cell.sizeBytes, cell.workers] : []),
    variant === "together" ? cell.together!.join("-") : "",
  ];
}

function byTable(a: CellResult, b: CellResult): number {
  const [one, other] = [tableKey(a), tableKey(b)];
  const at = one.findIndex((part, i) => part !== other[i]);
  if (at < 0) return 0;
  return typeof one[at] === "number"
    ? one[at] - Number(other[at])
    : String(one[at]).localeCompare(String(other[at]));
}

/** Cells to show in tables: omits controls of host memory, unless `--memory host` or `--cells` requested them. */
export function requestedCells({ cells, plan }: ResultDocument): CellResult[] {
  const { memory, cells: ids } = plan?.settings ?? {};
  const isHostRequested = memory?.includes("host") || ids?.some((id) => parseCellId(id).memory === "host");
  return isHostRequested ? cells : cells.filter((cell) => cell.memory !== "host");
}
