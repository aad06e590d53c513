import { type CsvColumn, type CsvValue, csvRows } from "../draw/document-kind.js";
import { variantKeys } from "../results/cell-id.js";
import type { CellResult, CellStats, Distribution } from "../results/cell-schema.js";
import { labelsLine, noticeIn } from "../results/naming/wording.js";
import type { ResultDocument } from "../results/schema.js";

interface Row {
  document: ResultDocument;
  cell: CellResult;
  /** Null for a cell without figures. */
  stats: CellStats | null;
}

const columns: readonly CsvColumn<Row>[] = [
  ["id", ({ cell }) => cell.id],
  ["backend", ({ document }) => document.backend],
  ["notice", ({ document }) => noticeIn(document)],
  ["device", ({ cell }) => cell.device],
  [
    "device_name",
    ({ document, cell }) => document.devices.find(({ ordinal }) => ordinal === cell.device)?.name ?? null,
  ],
  ["direction", ({ cell }) => cell.direction],
  // For a bidir cell: h2d, d2h or their sum.
  ["moved", ({ stats }) => stats?.direction ?? null],
  ["memory", ({ cell }) => cell.memory],
  ["size_bytes", ({ cell }) => cell.sizeBytes],
  ["workers", ({ cell }) => cell.workers],
  ["mode", ({ cell }) => cell.mode],
  ["timer", ({ cell }) => cell.timer],
  ["cache", ({ cell }) => cell.cache],
  ["outcome", ({ cell }) => cell.outcome],
  ["samples", ({ stats }) => stats?.samples ?? 0],
  // If above 1, low and high are the interval between the processes.
  ["processes", ({ stats }) => stats?.bandwidthGBps.processMedians?.length ?? 1],
  ["copies_per_sample", ({ cell }) => cell.copiesPerSample],
  ...distributionColumns("bandwidth_gbps", (stats) => stats.bandwidthGBps),
  ["relative_half_width", ({ stats }) => stats?.relativeHalfWidth ?? null],
  ...distributionColumns("latency_us", (stats) => stats.latencyUs),
  ["latency_us_p90", ({ stats }) => stats?.latencyUs?.p90 ?? null],
  ["latency_us_p99", ({ stats }) => stats?.latencyUs?.p99 ?? null],
  ["link_share", ({ stats }) => stats?.linkShare ?? null],
  ["skip_reason", ({ cell }) => cell.skipReason],
  ["error", ({ cell }) => cell.error?.message ?? null],
  ["warnings", ({ cell }) => (cell.warnings.length === 0 ? null : cell.warnings.join("; "))],
  // Later columns stand behind those before them, which keep their place. Of plain cells those up to chunks are empty.
  ...variantColumns(0, 6),
  // The load during the copies, in load_unit.
  ["load_unit", ({ cell }) => cell.load?.unit ?? null],
  ["load_alone_median", ({ cell }) => cell.load?.alone.median ?? null],
  ["load_during_median", ({ cell }) => cell.load?.during.median ?? null],
  ...(["median", "low", "high"] as const).map(
    (key): CsvColumn<Row> => [`load_kept_share_${key}`, ({ cell }) => cell.load?.keptShare[key] ?? null],
  ),
  // Time of a pipeline's kernels for one copy.
  ["compute_ns", ({ cell }) => cell.computeNs ?? null],
  ["host", ({ document }) => document.host?.hostname ?? null],
  ["run_id", ({ document }) => document.run.id],
  ["started_at", ({ document }) => document.run.startedAt],
  ["labels", ({ document }) => labelsLine(document)],
  // Scattered blocks; a worker's CPU time for a block.
  ...variantColumns(6, 9),
  ...(["median", "low", "high"] as const).map(
    (key): CsvColumn<Row> => [`host_ns_per_block_${key}`, ({ cell }) => cell.hostNsPerBlock?.[key] ?? null],
  ),
  ...variantColumns(9),
];

/** One row per cell and direction, also for a cell without figures; the first row has the names of the columns. */
export function resultRows(document: ResultDocument): CsvValue[][] {
  const rows = document.cells.flatMap((cell) => {
    const figures = cell.stats.length === 0 ? [null] : cell.stats;
    return figures.map((stats) => ({ document, cell, stats }));
  });
  return csvRows(columns, rows);
}

/** The parameters that a plain cell lacks, from one place in their order to another. */
function variantColumns(first: number, end?: number): CsvColumn<Row>[] {
  return variantKeys.slice(first, end).map((key) => [
    key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ({ cell }) => {
      const value = cell[key];
      return Array.isArray(value) ? value.join(" ") : (value ?? null);
    },
  ]);
}

function distributionColumns(
  prefix: string,
  of: (stats: CellStats) => Distribution | null,
): CsvColumn<Row>[] {
  return (["median", "low", "high", "min", "max"] as const).map((key) => [
    `${prefix}_${key}`,
    ({ stats }) => (stats && of(stats))?.[key] ?? null,
  ]);
}
