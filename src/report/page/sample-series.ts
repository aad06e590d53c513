import type { SampleSeries } from "../../draw/page/chapter.js";
import type { CellResult, CellSamples } from "../../results/cell-schema.js";
import { isMeasured } from "../../results/naming/cell-figure.js";
import { cellNames } from "../../results/naming/cell-name.js";
import { directionName } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { leastFigure, mostFigure } from "../../results/schema-parts.js";
import { isPlain, variantOf } from "../../results/variant.js";
import { memories } from "../../settings/choices.js";

/**
 * The samples of all cells with figures, those of the most telling cell first: the largest H2D copy from pinned memory by
 * the fewest workers, or where there is none what comes nearest to it. Cells that came back wrong or failed are left out.
 */
export function sampleSeries(document: ResultDocument): SampleSeries[] {
  const cells = document.cells.filter((cell) => isMeasured(cell) && cell.samples.length > 0);
  const nameOf = cellNames(
    cells.map(({ id }) => id),
    { showsIds: false },
  );
  const shown = cells
    .map((cell) => ({ cell, series: seriesOf(cell, nameOf(cell.id)) }))
    .filter(({ series }) => series.length > 0);
  const [telling] = [...shown].sort((a, b) => byMerit(a.cell, b.cell));
  const others = shown.filter((one) => one !== telling);
  return telling === undefined ? [] : [telling, ...others].flatMap(({ series }) => series);
}

/** The more telling cell first: what decides comes first. */
function byMerit(a: CellResult, b: CellResult): number {
  const merits = (cell: CellResult) => [
    Number(variantOf(cell) === "plain"),
    Number(isPlain(cell)),
    Number(cell.mode === "throughput"),
    Number(cell.direction === "h2d"),
    Number(cell.memory === "pinned"),
    Number(cell.memory !== "host"),
    cell.sizeBytes,
    -cell.workers,
  ];
  const [one, other] = [merits(a), merits(b)];
  const differing = one.findIndex((merit, index) => merit !== other[index]);
  return differing < 0 ? 0 : other[differing]! - one[differing]!;
}

function seriesOf(cell: CellResult, name: string): SampleSeries[] {
  return cell.samples.flatMap((samples): SampleSeries[] => {
    const shown = valuesOf(cell, samples);
    if (shown.length === 0) return [];
    const isHalf = cell.direction === "bidir";
    return [
      {
        id: cell.id,
        name: isHalf ? `${name}, ${directionName[samples.direction]}` : name,
        style: memories.indexOf(cell.memory),
        direction: samples.direction,
        process: samples.process ?? null,
        unit: cell.mode === "latency" ? "µs" : "GB/s",
        startMs: shown.map(({ startMs }) => startMs),
        values: shown.map(({ value }) => value),
      },
    ];
  });
}

/** In order of time. What no machine can measure, as a file from elsewhere may have it, has no place in a chart. */
function valuesOf(
  { mode, direction }: CellResult,
  { startNs, durationNs, bytesPerSample }: CellSamples,
): { startMs: number; value: number }[] {
  // Of a copy within a device the rate counts what is read and what is written.
  const timesCounted = direction === "d2d" ? 2 : 1;
  return startNs
    .flatMap((start, index) => {
      const duration = durationNs[index];
      if (duration === undefined) return [];
      const value = mode === "latency" ? duration / 1e3 : (timesCounted * bytesPerSample) / duration;
      return value >= leastFigure && value <= mostFigure && start <= longestNs
        ? [{ startMs: start / 1e6, value }]
        : [];
    })
    .sort((a, b) => a.startMs - b.startMs);
}

/** As long as a duration of the schema may be. */
const longestNs = 1e18;
