import type { Bar, BarChart, BarGroup } from "../../draw/chart/chart.js";
import { formatMilliseconds, formatRatio } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { isMeasured, measuredStats, wholeOf } from "../../results/naming/cell-figure.js";
import { directionName } from "../../results/naming/wording.js";
import type { ResultDocument } from "../../results/schema.js";
import { aloneIn, variantOf } from "../../results/variant.js";
import { type Beside, besides, memories } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import {
  barAxis,
  barOf,
  cacheSuffix,
  chartName,
  describeBars,
  directionSubject,
  formatTick,
  mainCells,
  movedInCharts,
} from "./cell-points.js";

/** Copies during loads, and copies in chunks followed by kernels, compared with the same copies alone. */
export function besideCharts(document: ResultDocument): BarChart[] {
  const aloneOf = aloneIn(document.cells);
  const tablesOf = (variant: "beside" | "pipeline") => [
    ...groupBy(
      document.cells.filter((cell) => variantOf(cell) === variant && cell.memory !== "host"),
      ({ device, direction, mode, cache }) => [device, direction, mode, cache].join("/"),
    ).values(),
  ];
  return [
    ...tablesOf("beside").flatMap((cells) => besideChart(document, mainCells(cells), aloneOf)),
    ...tablesOf("pipeline").flatMap((cells) => pipelineChart(document, mainCells(cells), aloneOf)),
  ];
}

type AloneOf = (cell: CellResult) => CellResult | undefined;

/** A group of bars for each kind of memory: alone, then a bar for each load. */
function besideChart(document: ResultDocument, cells: readonly CellResult[], aloneOf: AloneOf): BarChart[] {
  const [first] = cells;
  if (first === undefined) return [];
  const { direction, mode, sizeBytes, workers } = first;
  const groups = memories.flatMap((memory) =>
    movedInCharts(direction, mode).flatMap((one) => {
      const ofMemory = cells
        .filter((cell) => cell.memory === memory)
        .sort((a, b) => besides.indexOf(a.beside!) - besides.indexOf(b.beside!));
      const name = direction === "bidir" ? `${memory}, ${directionName[one]}` : memory;
      return loadsGroup(name, ofMemory, one, aloneOf);
    }),
  );
  if (groups.length === 0) return [];
  return [
    {
      kind: "bars",
      name: chartName(document, first, { before: [direction], shows: "beside" }),
      title: `${directionSubject(document, first)} beside loads, against alone: ${barAxis(mode).label}, copies of ${formatSize(sizeBytes)}, ${counted(workers, "worker")}${cacheSuffix(first)}`,
      description: describeBars(groups),
      value: barAxis(mode),
      groups,
    },
  ];
}

function loadsGroup(
  name: string,
  cells: readonly CellResult[],
  moved: CellStats["direction"],
  aloneOf: AloneOf,
): BarGroup[] {
  const [first] = cells;
  const alone = first && aloneOf(first);
  const loaded = cells.flatMap((cell) => barOf(cell, moved, { name: barName[cell.beside!], against: alone }));
  if (first === undefined || loaded.length === 0) return [];
  const bars = [...barOf(alone, moved, { name: "alone", isReference: true }), ...loaded];
  return [{ name, style: memories.indexOf(first.memory), bars }];
}

/** Short names for bars; the tables have the full ones. */
const barName: Readonly<Record<Exclude<Beside, "none">, string>> = {
  compute: "beside arithmetic",
  memory: "beside device memory",
  host: "beside host memory",
};

/** A group of bars for each kind of memory: the copy and the kernels alone, then a bar for each number of chunks. */
function pipelineChart(document: ResultDocument, cells: readonly CellResult[], aloneOf: AloneOf): BarChart[] {
  const [first] = cells;
  if (first === undefined) return [];
  const groups = memories.flatMap((memory): BarGroup[] => {
    const ofMemory = cells
      .filter((cell) => cell.memory === memory)
      .sort((a, b) => (a.chunks ?? 0) - (b.chunks ?? 0));
    const whole = ofMemory.find(({ chunks }) => chunks === 1);
    const chunked = ofMemory.flatMap((cell) =>
      batchBar(cell, counted(cell.chunks ?? 1, "chunk"), cell === whole ? undefined : whole),
    );
    if (chunked.length === 0) return [];
    const alone = aloneOf(ofMemory[0]!);
    const copy = alone === undefined ? [] : batchBar(alone, "copy alone", undefined, true);
    return [
      {
        name: memory,
        style: memories.indexOf(memory),
        bars: [...copy, ...kernelsBar(ofMemory), ...chunked],
      },
    ];
  });
  if (groups.length === 0) return [];
  return [
    {
      kind: "bars",
      name: chartName(document, first, { before: [first.direction], shows: "pipeline" }),
      title: `${directionSubject(document, first)}, in chunks with a kernel behind each: ms a batch of ${formatSize(first.sizeBytes)}, less is better${cacheSuffix(first)}`,
      description: describeBars(groups),
      value: { label: "ms a batch", scale: "linear", format: formatTick },
      groups,
    },
  ];
}

/** The time of a batch, and its speed relative to one chunk. */
function batchBar(cell: CellResult, name: string, whole: CellResult | undefined, isReference = false): Bar[] {
  const rate = measuredStats(cell, wholeOf(cell.direction))?.bandwidthGBps;
  if (rate === undefined || rate.median <= 0) return [];
  // Bytes over GB/s are nanoseconds.
  const msAt = (GBps: number) => cell.sizeBytes / GBps / 1e6;
  const { median, low, high } = rate;
  const wholeGBps = measuredStats(whole, wholeOf(cell.direction))?.bandwidthGBps.median ?? 0;
  const gain = wholeGBps > 0 ? `, gain ${formatRatio(median / wholeGBps)}` : "";
  const hasInterval = low !== null && low > 0 && high !== null;
  return [
    {
      name,
      value: msAt(median),
      low: hasInterval ? msAt(high) : null,
      high: hasInterval ? msAt(low) : null,
      text: formatMilliseconds(cell.sizeBytes / median) + gain,
      ...(isReference && { isReference }),
    },
  ];
}

function kernelsBar(cells: readonly CellResult[]): Bar[] {
  const timeNs = cells.flatMap((cell) => (isMeasured(cell) ? (cell.computeNs ?? []) : []))[0];
  if (timeNs === undefined) return [];
  const [value, text] = [timeNs / 1e6, formatMilliseconds(timeNs)];
  return [{ name: "kernels alone", value, low: null, high: null, text, isReference: true }];
}
