import { scaleLinear } from "d3-scale";
import type { Axis, Curve, CurveChart, RuleLine } from "../../draw/chart/chart.js";
import { extremesOf } from "../../draw/chart/chart-frame.js";
import { curveStyles } from "../../draw/chart/curve-styles.js";
import { formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import type { SampleSeries } from "../../draw/page/chapter.js";
import { sampleChartNames } from "../../draw/page/sample-data.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult, CellSamples } from "../../results/cell-schema.js";
import { isMeasured } from "../../results/naming/cell-figure.js";
import { cellNames, directionName } from "../../results/naming/wording.js";
import { timesCounted } from "../../results/over-time.js";
import type { ResultDocument } from "../../results/schema.js";
import { isPlain, variantOf } from "../../results/variant.js";
import { memories } from "../../settings/choices.js";
import { leastFigure, mostFigure } from "../../settings/schema-parts.js";
import { median } from "../../stats/order-statistics.js";
import { formatTick } from "./cell-points.js";

/**
 * The samples of a chapter's first cell: over time, and their distribution. The second is a histogram, not a cumulative
 * curve, because the heights of columns need no explanation.
 */
export function sampleCharts(samples: readonly SampleSeries[]): CurveChart[] {
  const [first] = samples;
  if (first === undefined) return [];
  const series = samples.filter(({ id }) => id === first.id);
  return [timeChart(series), distributionChart(series)];
}

/** Its axis of rates is as long as that of the other chart: from 0 on, only a flat line would be visible. */
function timeChart(series: readonly SampleSeries[]): CurveChart {
  const [{ name, unit }] = series as [SampleSeries];
  const values = series.flatMap((one) => one.values);
  return {
    kind: "curves",
    name: sampleChartNames.overTime,
    isFolded: true,
    title: `Every sample of one cell, over time: ${nameOfCell(name, series)}`,
    description: describe(series),
    x: {
      label: "seconds from the start of the device's session",
      scale: "linear",
      includes: [0],
      format: formatTick,
    },
    y: { label: unit, scale: "linear", format: formatTick },
    curves: curvesOf(series).map(({ name: curve, style, members }) => ({
      name: curve,
      style,
      isJoined: false,
      isDense: true,
      points: members.flatMap(({ startMs, values }) =>
        values.map((y, index) => ({ x: startMs[index]! / 1e3, y, low: null, high: null, text: "" })),
      ),
    })),
    rules: [medianRule("y", values, unit)],
  };
}

/** All processes together: their differences show in the chart over time. */
function distributionChart(series: readonly SampleSeries[]): CurveChart {
  const [{ name, unit }] = series as [SampleSeries];
  const values = series.flatMap((one) => one.values);
  const histogram = histogramBins(values);
  const { centres, binWidth } = histogram;
  const x: Axis = { label: unit, scale: "linear", format: formatTick };
  const directions = [...groupBy(series, ({ direction }) => direction).values()];
  const curves = directions.map((members, index): Curve => {
    const counts = countInBins(
      members.flatMap((one) => one.values),
      histogram,
    );
    return {
      name: members[0]!.name,
      style: members[0]!.style + index,
      isJoined: false,
      columnWidth: binWidth,
      points: counts.map((count, bin) => {
        const [from, to] = [centres[bin]! - binWidth / 2, centres[bin]! + binWidth / 2];
        const text = `${formatTick(from)} to ${formatTick(to)} ${unit}: ${counted(count, "sample")}`;
        return { x: centres[bin]!, y: count, low: null, high: null, text };
      }),
    };
  });
  return {
    kind: "curves",
    name: sampleChartNames.distribution,
    isFolded: true,
    title: `Distribution of samples of one cell: ${nameOfCell(name, series)}`,
    description: describe(series),
    x,
    y: {
      label: "samples",
      scale: "linear",
      includes: [0],
      isWhole: true,
      format: formatTick,
    },
    curves,
    rules: [medianRule("x", values, unit)],
  };
}

/** A cell of both directions has series of two names, which the curves use: their common part is the cell's name. */
function nameOfCell(name: string, series: readonly SampleSeries[]): string {
  return new Set(series.map((one) => one.name)).size > 1 ? name.replace(/, [^,]*$/, "") : name;
}

/** A curve for each direction and process; with more processes than styles, they share a curve. */
function curvesOf(
  series: readonly SampleSeries[],
): { name: string; style: number; members: SampleSeries[] }[] {
  const areAlike = new Set(series.map(({ name }) => name)).size === 1;
  const isTooMany = series.length > curveStyles.length;
  const curves = groupBy(series, ({ name, process }) => `${name}/${isTooMany ? "" : process}`);
  return [...curves.values()].map((members, index) => {
    const [{ name, process, style }] = members as [SampleSeries];
    const ofProcess = isTooMany || process === null ? "" : `process ${process + 1}`;
    const parts = [...(areAlike && ofProcess !== "" ? [] : [name]), ...(ofProcess === "" ? [] : [ofProcess])];
    return { name: parts.join(", "), style: style + index, members };
  });
}

function medianRule(axis: "x" | "y", values: readonly number[], unit: SampleSeries["unit"]): RuleLine {
  const value = median(values);
  return { axis, value, label: `median ${format(value, unit)}` };
}

function format(value: number, unit: SampleSeries["unit"]): string {
  return `${unit === "µs" ? formatMicroseconds(value) : formatGBps(value)} ${unit}`;
}

function describe(series: readonly SampleSeries[]): string {
  const values = series.flatMap((one) => one.values);
  const { unit } = series[0]!;
  const [least, most] = extremesOf(values);
  const seconds = series.flatMap(({ startMs }) => startMs).reduce((a, b) => Math.max(a, b), 0) / 1e3;
  return `${counted(values.length, "sample")} within ${formatTick(Number(seconds.toPrecision(3)))} s: from ${format(least, unit)} to ${format(most, unit)}, median ${format(median(values), unit)}.`;
}

/** Counts of values in bins of equal width with round edges, including empty bins in between. */
interface Histogram {
  binWidth: number;
  /** The middle of each bin, ascending. */
  centres: number[];
  bins: Bins;
}

/** Bins that several lists of values share. */
interface Bins {
  start: number;
  count: number;
}

/** A shape needs some bins, however few samples there are; too many are too narrow to read. */
const [fewestBins, mostBins] = [6, 30];

/** Relative differences below this are rounding errors. */
const leastRelativeSpan = 1e-9;

/**
 * Bins for all of these values: about the square root of their number, a usual rule for samples of unknown shape. One
 * bin if all are equal. Values must be finite, and at least one.
 */
export function histogramBins(values: readonly number[]): Histogram {
  const [least, most] = extremesOf(values);
  const size = Math.max(Math.abs(least), Math.abs(most));
  if (most - least <= leastRelativeSpan * size) {
    const binWidth = size === 0 ? 1 : size / 100;
    return { binWidth, centres: [least], bins: { start: least - binWidth / 2, count: 1 } };
  }
  const about = Math.min(Math.max(Math.ceil(Math.sqrt(values.length)), fewestBins), mostBins);
  const edges = scaleLinear().domain([least, most]).nice(about).ticks(about);
  const start = edges[0]!;
  const binWidth = (edges.at(-1)! - start) / (edges.length - 1);
  const count = edges.length - 1;
  const centres = Array.from({ length: count }, (_, bin) => start + (bin + 0.5) * binWidth);
  return { binWidth, centres, bins: { start, count } };
}

/** The number of values in each bin; a value on an edge counts in the bin above it. */
export function countInBins(
  values: readonly number[],
  { binWidth, bins: { start, count } }: Histogram,
): number[] {
  const counts = Array<number>(count).fill(0);
  for (const value of values) {
    const bin = Math.floor((value - start) / binWidth);
    counts[Math.min(Math.max(bin, 0), count - 1)]! += 1;
  }
  return counts;
}

/**
 * The samples of all cells with figures, with the most informative cell first: the largest H2D copy from pinned memory
 * by the fewest workers, or the most similar one. Cells with failures or wrong data are left out.
 */
export function sampleSeries(document: ResultDocument): SampleSeries[] {
  const cells = document.cells.filter((cell) => isMeasured(cell) && cell.samples.length > 0);
  const nameOf = cellNames(cells.map(({ id }) => id));
  const shown = cells
    .map((cell) => ({ cell, series: seriesOf(cell, nameOf(cell.id)) }))
    .filter(({ series }) => series.length > 0);
  const [telling] = [...shown].sort((a, b) => byMerit(a.cell, b.cell));
  const others = shown.filter((one) => one !== telling);
  return telling === undefined ? [] : [telling, ...others].flatMap(({ series }) => series);
}

/** Sorts the more informative cell first; the most important property is compared first. */
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

/** In order of time, without impossible values, which a foreign file may contain. */
function valuesOf(
  { mode, direction }: CellResult,
  { startNs, durationNs, bytesPerSample }: CellSamples,
): { startMs: number; value: number }[] {
  return startNs
    .flatMap((start, index) => {
      const duration = durationNs[index];
      if (duration === undefined) return [];
      const value =
        mode === "latency" ? duration / 1e3 : (timesCounted(direction) * bytesPerSample) / duration;
      return value >= leastFigure && value <= mostFigure && start <= longestNs
        ? [{ startMs: start / 1e6, value }]
        : [];
    })
    .sort((a, b) => a.startMs - b.startMs);
}

/** The longest duration that the schema allows. */
const longestNs = 1e18;
