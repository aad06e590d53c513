import { type CsvColumn, type CsvValue, csvRows } from "../draw/document-kind.js";
import { variantKeys } from "../results/cell-id.js";
import type { CellResult, CellStats, Distribution } from "../results/cell-schema.js";
import { labelsLine } from "../results/naming/wording.js";
import type { ResultDocument } from "../results/schema.js";

/** A cell's figure with its unit. `distribution` has only a median if there is no interval and range. */
interface CsvFigure {
  figure: string;
  unit: string;
  /** Direction of the figure: h2d, d2h or their sum for a bidir cell; null for a figure of the whole cell. */
  moved: CellStats["direction"] | null;
  distribution: Pick<Distribution, "median"> & Partial<Distribution>;
  samples: number | null;
  processes: number | null;
}

interface CsvRow {
  document: ResultDocument;
  cell: CellResult;
  found: CsvFigure | null;
}

/** docs/reference.md explains the columns. */
const csvColumns: readonly CsvColumn<CsvRow>[] = [
  ["id", ({ cell }) => cell.id],
  ["figure", ({ found }) => found?.figure ?? null],
  ["moved", ({ found }) => found?.moved ?? null],
  ["median", ({ found }) => found?.distribution.median ?? null],
  ...(["low", "high", "min", "max"] as const).map(
    (key): CsvColumn<CsvRow> => [key, ({ found }) => found?.distribution[key] ?? null],
  ),
  ["unit", ({ found }) => found?.unit ?? null],
  ["samples", ({ found }) => found?.samples ?? null],
  ["processes", ({ found }) => found?.processes ?? null],
  ["outcome", ({ cell }) => cell.outcome],
  [
    "note",
    ({ cell }) => [cell.skipReason, cell.error?.message, ...cell.warnings].filter(Boolean).join("; ") || null,
  ],
  ["backend", ({ document }) => document.backend],
  ["device", ({ cell }) => cell.device],
  [
    "device_name",
    ({ document, cell }) => document.devices.find(({ ordinal }) => ordinal === cell.device)?.name ?? null,
  ],
  ["direction", ({ cell }) => cell.direction],
  ["memory", ({ cell }) => cell.memory],
  ["size_bytes", ({ cell }) => cell.sizeBytes],
  ["workers", ({ cell }) => cell.workers],
  ["mode", ({ cell }) => cell.mode],
  ["cache", ({ cell }) => cell.cache],
  ...variantKeys.map(
    (key): CsvColumn<CsvRow> => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      ({ cell }) => [cell[key] ?? []].flat().join(" ") || null,
    ],
  ),
  ["host", ({ document }) => document.host?.hostname ?? null],
  ["run_id", ({ document }) => document.run.id],
  ["started_at", ({ document }) => document.run.startedAt],
  ["labels", ({ document }) => labelsLine(document)],
];

/** The column names, then a row per figure, and one for a cell without figures. */
export function resultRows(document: ResultDocument): CsvValue[][] {
  const rows = document.cells.flatMap((cell) => {
    const figures = [...cell.stats.flatMap(figuresOf), ...ownFigures(cell)];
    return (figures.length === 0 ? [null] : figures).map((found) => ({ document, cell, found }));
  });
  return csvRows(csvColumns, rows);
}

function figuresOf({ direction, samples, bandwidthGBps, latencyUs, linkShare }: CellStats): CsvFigure[] {
  const processes = bandwidthGBps.processMedians?.length ?? 1;
  const found = (figure: string, unit: string, distribution: CsvFigure["distribution"]): CsvFigure[] => [
    { figure, unit, moved: direction, distribution, samples, processes },
  ];
  return [
    ...found("rate", "GB/s", bandwidthGBps),
    ...(linkShare === null ? [] : found("rate over link limit", "1", { median: linkShare })),
    ...(latencyUs === null
      ? []
      : [
          ...found("latency", "us", latencyUs),
          ...found("latency p90", "us", { median: latencyUs.p90 }),
          ...found("latency p99", "us", { median: latencyUs.p99 }),
        ]),
  ];
}

function ownFigures({ load, computeNs, hostNsPerBlock }: CellResult): CsvFigure[] {
  const found = (figure: string, unit: string, distribution: CsvFigure["distribution"]): CsvFigure[] => [
    { figure, unit, moved: null, distribution, samples: null, processes: null },
  ];
  return [
    ...(load == null
      ? []
      : [
          ...found("load alone", load.unit, load.alone),
          ...found("load during", load.unit, load.during),
          ...found("load during over alone", "1", load.keptShare),
        ]),
    ...(computeNs == null ? [] : found("kernel time of a batch", "ns", { median: computeNs })),
    ...(hostNsPerBlock == null ? [] : found("CPU time of a block", "ns", hostNsPerBlock)),
  ];
}
