import type { Axis, Curve, CurveChart, Rule } from "../../draw/chart/chart.js";
import { extremesOf } from "../../draw/chart/chart-frame.js";
import { curveStyles } from "../../draw/chart/curve-styles.js";
import { countInBins, histogramBins } from "../../draw/chart/histogram.js";
import { formatGBps, formatMicroseconds } from "../../draw/numbers.js";
import type { SampleSeries } from "../../draw/page/chapter.js";
import { sampleChartNames } from "../../draw/page/sample-data.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import { median } from "../../stats/order-statistics.js";
import { formatTick } from "./cell-points.js";

/**
 * The samples of a chapter's first cell: over time, and how many lie where. The second is a histogram and no curve of the
 * share at or below: how high a column is says how often that rate was measured, which nobody has to learn to read.
 */
export function sampleCharts(samples: readonly SampleSeries[]): CurveChart[] {
  const [first] = samples;
  if (first === undefined) return [];
  const series = samples.filter(({ id }) => id === first.id);
  return [timeChart(series), distributionChart(series)];
}

/** Its axis of rates is as long as that of the other chart: from 0 on nothing but a level line would be seen. */
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

/** All processes together: what differs between them shows over time. */
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
    title: `How often one cell was how fast: ${nameOfCell(name, series)}`,
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

/** A cell of both directions has series of two names, which the curves have: what they share is the cell's. */
function nameOfCell(name: string, series: readonly SampleSeries[]): string {
  return new Set(series.map((one) => one.name)).size > 1 ? name.replace(/, [^,]*$/, "") : name;
}

/** A curve a direction and process; more than there are styles are not told apart by process. */
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

function medianRule(axis: "x" | "y", values: readonly number[], unit: SampleSeries["unit"]): Rule {
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
