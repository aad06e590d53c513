import { formatGBps, formatMilliseconds, formatNanoseconds, formatRatio } from "../../draw/numbers.js";
import {
  blank,
  type Column,
  type Figure,
  figure,
  type Grid,
  numberColumn,
  wordColumn,
} from "../../draw/report.js";
import { hasSeveralDevices } from "../../results/cell-devices.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import {
  absentFigure,
  isMeasured,
  measuredStats,
  medianFigure,
  shareFigure,
  shareOfSpeed,
  tableFigures,
  wholeOf,
} from "../../results/naming/cell-figure.js";
import { directionName } from "../../results/naming/wording.js";
import type { DeviceRecord, ResultDocument } from "../../results/schema.js";
import { aloneIn, type Variant } from "../../results/variant.js";
import { blockWays, hostMemories, inOrder } from "../../settings/choices.js";
import { doubled } from "../../settings/units.js";
import { ascending } from "../../stats/order-statistics.js";
import { sumOf } from "../../stats/variance.js";
import { type CellGroup, groupCells } from "./cell-group.js";
import { cellTable, type Label, type Line, labels, movedIn, movedName } from "./cell-table.js";

type Captioned = Grid & { caption: string };

interface Table extends CellGroup {
  /** The requested precision of the run, as a relative half-width. */
  precision: number;
  devices: readonly DeviceRecord[];
  /** Finds the cell whose rate another cell is compared with; undefined if it was not planned. */
  aloneOf: (cell: CellResult) => CellResult | undefined;
}

export function cellGrids(document: ResultDocument): Captioned[] {
  const shared = {
    precision: document.plan?.precision ?? 0,
    devices: document.devices,
    aloneOf: aloneIn(document.cells),
  };
  const explained = new Set<string>();
  return groupCells(document).map((group) => {
    const { footnote, ...grid } = layouts[group.variant]({ ...group, ...shared });
    // Each kind of table is explained once.
    const isNew = footnote !== undefined && !explained.has(footnote);
    if (isNew) explained.add(footnote);
    return { caption: group.title, ...grid, ...(isNew ? { footnote } : {}) };
  });
}

const layouts: Readonly<Record<Variant, (table: Table) => Grid>> = {
  plain: (table) => (table.direction === "bidir" ? bothWaysGrid(table) : oneWayGrid(table)),
  beside: (table) => loadGrid(table, [labels.size, labels.workers, labels.memory]),
  pipeline: pipelineGrid,
  blocks: blockGrid,
  "blocks-beside": (table) => loadGrid(table, [...blockLabels(table), labels.method]),
  together: togetherGrid,
  p2p: peerGrid,
  numa: nodeGrid,
};

const cellOf = (row: readonly CellResult[], part: Partial<CellResult>) =>
  row.find((cell) => Object.entries(part).every(([key, value]) => cell[key as keyof CellResult] === value));

/** A column per kind of memory, then the gain from pinning and the share of the link. */
function oneWayGrid({ cells, memories, mode, direction, precision }: Table): Grid {
  const moved = wholeOf(direction);
  const isLatency = mode === "latency";
  const best = memories.includes("pinned") ? "pinned" : memories.length === 1 ? memories[0]! : "best";
  const shareOf = (row: readonly CellResult[]) => {
    const shares = row.flatMap((cell) =>
      best === "best" || cell.memory === best ? (measuredStats(cell, moved)?.linkShare ?? []) : [],
    );
    return shares.length === 0 ? null : Math.max(...shares);
  };
  const hasGain = !isLatency && memories.includes("pinned") && memories.includes("pageable");
  const hasShare = !isLatency && cells.some((cell) => shareOf([cell]) !== null);
  const columns = [
    ...memories.flatMap((memory) =>
      isLatency ? [numberColumn(memory, "median"), numberColumn("", "p99")] : [numberColumn(memory)],
    ),
    ...(hasGain ? [numberColumn("pinned/", "pageable")] : []),
    ...(hasShare ? [numberColumn(`${best}/`, "link")] : []),
  ];
  return cellTable(cells, [labels.size, labels.workers], columns, (row) => [
    {
      figures: [
        ...memories.flatMap((memory) => tableFigures(cellOf(row, { memory }), moved, mode, precision)),
        ...(hasGain
          ? [gainFigure(cellOf(row, { memory: "pinned" }), cellOf(row, { memory: "pageable" }), moved)]
          : []),
        ...(hasShare ? [shareFigure(shareOf(row))] : []),
      ],
    },
  ]);
}

function bothWaysGrid({ cells, memories, mode, linkLimitGBps, precision }: Table): Grid {
  const isLatency = mode === "latency";
  const moved = movedIn({ direction: "bidir", mode });
  const hasGain = !isLatency && memories.includes("pageable") && memories.length > 1;
  const limitGBps = isLatency ? null : linkLimitGBps;
  const columns = [
    ...moved.flatMap((one) => {
      const name = directionName[one];
      return isLatency ? [numberColumn(name, "median"), numberColumn(name, "p99")] : [numberColumn(name)];
    }),
    ...(hasGain ? [numberColumn("sum/", "pageable")] : []),
    ...(limitGBps === null ? [] : [numberColumn("sum/", "2× link")]),
  ];
  const { size, workers, memory } = labels;
  return cellTable(cells, [size, workers, memory], columns, ([cell]) => {
    const { sizeBytes, workers, workerKind } = cell!;
    const pageable = cellOf(cells, { sizeBytes, workers, workerKind, memory: "pageable" });
    const sumGBps = measuredStats(cell, "sum")?.bandwidthGBps.median;
    return [
      {
        figures: [
          ...moved.flatMap((one) => tableFigures(cell, one, mode, precision)),
          ...(hasGain ? [cell === pageable ? blank : gainFigure(cell, pageable, "sum")] : []),
          // A PCIe link has this limit in each direction at the same time.
          ...(limitGBps === null
            ? []
            : [shareFigure(sumGBps === undefined ? null : sumGBps / (2 * limitGBps))]),
        ],
      },
    ];
  });
}

function gainFigure(
  of: CellResult | undefined,
  over: CellResult | undefined,
  moved: CellStats["direction"],
): Figure {
  const gain = shareOfSpeed(of, over, moved);
  return gain === null ? absentFigure : figure(formatRatio(gain));
}

function loadGrid({ cells, precision, aloneOf }: Table, rowLabels: readonly Label[]): Grid {
  const unit = cells.flatMap(({ load }) => load?.unit ?? []).slice(0, 1);
  const columns = [
    numberColumn("copy", "alone"),
    numberColumn("copy", "beside"),
    numberColumn("copy", "keeps"),
    numberColumn("load", "alone", ...unit),
    numberColumn("load", "beside", ...unit),
    numberColumn("load", "keeps"),
  ];
  const grid = cellTable(cells, rowLabels, columns, ([cell]) =>
    movedIn(cell!).map((moved, i) => ({
      ...movedName(cell!, moved),
      figures: [
        medianFigure(aloneOf(cell!), moved, precision),
        medianFigure(cell, moved, precision),
        shareFigure(shareOfSpeed(cell, aloneOf(cell!), moved)),
        // All directions share one load.
        ...(i === 0 ? loadFigures(cell!) : [blank, blank, blank]),
      ],
    })),
  );
  return {
    ...grid,
    footnote: "alone: without the other, in the same rounds; keeps: the share of the speed alone",
  };
}

function loadFigures(cell: CellResult): Figure[] {
  const load = isMeasured(cell) ? cell.load : null;
  if (load == null) return [absentFigure, absentFigure, absentFigure];
  const { alone, during, keptShare } = load;
  return [figure(formatGBps(alone.median)), figure(formatGBps(during.median)), shareFigure(keptShare.median)];
}

function pipelineGrid({ cells, precision, aloneOf }: Table): Grid {
  const counts = ascending(cells.flatMap(({ chunks }) => chunks ?? []));
  const columns = [
    numberColumn("copy", "alone"),
    numberColumn("kernels", "alone"),
    ...counts.map((count) => numberColumn(String(count), count === 1 ? "chunk" : "chunks")),
  ];
  const grid = cellTable(cells, [labels.size, labels.memory], columns, (row) => {
    const time = (cell: CellResult | undefined) =>
      medianFigure(cell, "h2d", precision, (rate) => formatMilliseconds(row[0]!.sizeBytes / rate));
    const ofCounts = counts.map((chunks) => cellOf(row, { chunks }));
    const whole = cellOf(row, { chunks: 1 });
    const [computeNs] = row.flatMap((cell) => (isMeasured(cell) ? (cell.computeNs ?? []) : []));
    const kernels = computeNs === undefined ? absentFigure : figure(formatMilliseconds(computeNs));
    const gains = ofCounts.map((cell) =>
      cell === undefined || cell === whole ? blank : gainFigure(cell, whole, "h2d"),
    );
    return [
      { name: "ms", figures: [time(aloneOf(row[0]!)), kernels, ...ofCounts.map(time)] },
      { name: "gain", figures: [blank, blank, ...gains] },
    ];
  });
  return { ...grid, footnote: "each kernel starts after the copy of its chunk; gain: over 1 chunk" };
}

/** The number of workers is shown only if some cells have several. */
function blockLabels({ cells }: Table): Label[] {
  const hasWorkers = cells.some(({ workers }) => workers > 1);
  return [labels.block, labels.count, ...(hasWorkers ? [labels.workers] : []), labels.memory];
}

/** The rate of each method next to that of the same bytes in one piece, and the CPU time of a block. */
function blockGrid(table: Table): Grid {
  const { cells, direction, precision, aloneOf } = table;
  const methods = inOrder(
    blockWays,
    cells.flatMap(({ blockWay }) => blockWay ?? []),
  );
  const moved = wholeOf(direction);
  const hasTimes = cells.some(({ hostNsPerBlock }) => hostNsPerBlock != null);
  const columns = [numberColumn("one", "piece"), ...methods.map((method) => numberColumn(method))];
  const grid = cellTable(cells, blockLabels(table), columns, (row): Line[] => {
    const ofMethods = methods.map((blockWay) => cellOf(row, { blockWay }));
    const rates = [aloneOf(row[0]!), ...ofMethods].map((cell) => medianFigure(cell, moved, precision));
    return [
      { name: "GB/s", figures: rates },
      ...(hasTimes ? [{ name: "host ns", figures: [blank, ...ofMethods.map(hostTime)] }] : []),
    ];
  });
  return { ...grid, footnote: "host ns: CPU time of a block; `pinbench help terms` explains the methods" };
}

function hostTime(cell: CellResult | undefined): Figure {
  if (cell === undefined) return blank;
  const time = isMeasured(cell) ? cell.hostNsPerBlock?.median : undefined;
  return time === undefined ? absentFigure : figure(formatNanoseconds(time));
}

function togetherGrid({ cells, mode, direction, precision, aloneOf }: Table): Grid {
  const ordinals = cells[0]?.together ?? [];
  const hasSum = mode === "throughput";
  const columns = [
    ...ordinals.map((ordinal) => numberColumn("device", String(ordinal))),
    ...(hasSum ? [numberColumn("sum")] : []),
  ];
  const { size, workers, memory } = labels;
  const grid = cellTable(cells, [size, workers, memory], columns, (row) => {
    const ofDevices = ordinals.map((device) => cellOf(row, { device }));
    const alone = ofDevices.map((cell) => cell && aloneOf(cell));
    return movedIn({ direction, mode }).flatMap((moved) => {
      const [sum, sumAlone] = [sumOfRates(ofDevices, moved), sumOfRates(alone, moved)];
      const shares = ofDevices.map((cell, i) => shareFigure(shareOfSpeed(cell, alone[i], moved)));
      const share = sum === null || sumAlone === null ? null : sum / sumAlone;
      const name = direction === "bidir" ? directionName[moved] : hasSum ? "at once" : "median";
      return [
        {
          name,
          figures: [
            ...ofDevices.map((cell) => medianFigure(cell, moved, precision)),
            ...(hasSum ? [sum === null ? absentFigure : figure(formatGBps(sum))] : []),
          ],
        },
        { name: "of alone", figures: [...shares, ...(hasSum ? [shareFigure(share)] : [])] },
      ];
    });
  });
  return { ...grid, footnote: "of alone: of the rate of the same cell by itself, in the same rounds" };
}

function sumOfRates(
  cells: readonly (CellResult | undefined)[],
  moved: CellStats["direction"],
): number | null {
  const rates = cells.flatMap((cell) => measuredStats(cell, moved)?.bandwidthGBps.median ?? []);
  return rates.length < cells.length ? null : sumOf(rates);
}

function peerGrid({ cells, precision }: Table): Grid {
  const ordinals = ascending(cells.flatMap(({ device, peer = device }) => [device, peer]));
  const columns = ordinals.map((ordinal) => numberColumn("to", String(ordinal)));
  const grid = cellTable(cells, [labels.path, labels.from], columns, (row) => [
    { figures: ordinals.map((peer) => medianFigure(cellOf(row, { peer }), "p2p", precision)) },
  ]);
  return { ...grid, footnote: "rows from, columns to; `pinbench help terms` explains the paths" };
}

function nodeGrid({ cells, precision, devices }: Table): Grid {
  const nodes = ascending(cells.flatMap(({ memoryNode }) => memoryNode ?? []));
  const columns = nodes.map((node) => numberColumn("node", String(node)));
  const { device, memory, cpus, together } = labels;
  const nodeOf = ({ device }: CellResult) =>
    devices.find(({ ordinal }) => ordinal === device)?.numaNode ?? null;
  const sysfs: Label = {
    column: wordColumn("sysfs"),
    of: (cell) => figure(nodeOf(cell) === null ? "-" : `node ${nodeOf(cell)}`),
    rank: () => 0,
  };
  const grid = cellTable(cells, [device, sysfs, memory, cpus, together], columns, (row) =>
    movedIn(row[0]!).map((moved) => ({
      ...movedName(row[0]!, moved),
      figures: nodes.map((memoryNode) => {
        const cell = cellOf(row, { memoryNode });
        return cell === undefined ? absentFigure : medianFigure(cell, moved, precision);
      }),
    })),
  );
  return { ...grid, footnote: "columns: the node of the memory; sysfs: the node that the system names" };
}

const mostBriefRows = 12;

/** Plain one-way rates with fewest workers by device, direction and size; above 12 rows the largest sizes. */
export function briefGrid(document: ResultDocument): Captioned | null {
  const fewest = groupCells(document)
    .filter(
      ({ variant, mode, direction }) =>
        variant === "plain" && mode === "throughput" && (direction === "h2d" || direction === "d2h"),
    )
    .flatMap(({ cells }) => {
      const least = Math.min(...cells.map(labels.workers.rank));
      const own = cells.filter((cell) => labels.workers.rank(cell) === least);
      const largest = Math.max(...own.map(({ sizeBytes }) => sizeBytes));
      return own.map((cell) => ({ cell, isLargest: cell.sizeBytes === largest }));
    });
  const precision = document.plan?.precision ?? 0;
  const rows = new Set(
    fewest.map(({ cell: { device, direction, sizeBytes } }) => `${device}/${direction}/${sizeBytes}`),
  );
  const cells = fewest.flatMap(({ cell, isLargest }) =>
    rows.size <= mostBriefRows || isLargest ? [cell] : [],
  );
  // A narrow screen shows the leading columns first.
  const memories = inOrder(
    [...new Set(["pinned" as const, ...hostMemories])],
    cells.map(({ memory }) => memory),
  );
  if (memories.length === 0) return null;
  const hasPinned = memories.includes("pinned");
  const hasGain = hasPinned && memories.includes("pageable");
  const columns: Column[] = [
    ...memories.map((memory) => numberColumn(memory)),
    ...(hasGain ? [numberColumn("pinned/", "pageable")] : []),
    numberColumn("link"),
  ];
  const names = [...(hasSeveralDevices(document) ? [labels.gpu] : []), labels.direction, labels.size];
  const grid = cellTable(cells, names, columns, (row) => {
    const moved = wholeOf(row[0]!.direction);
    const of = (memory: CellResult["memory"]) => cellOf(row, { memory });
    const shares = row.flatMap((cell) =>
      hasPinned && cell.memory !== "pinned" ? [] : (measuredStats(cell, moved)?.linkShare ?? []),
    );
    const figures = [
      ...memories.map((memory) => medianFigure(of(memory), moved, precision)),
      ...(hasGain ? [gainFigure(of("pinned"), of("pageable"), moved)] : []),
      shareFigure(shares.length === 0 ? null : Math.max(...shares)),
    ];
    return [{ figures }];
  });
  const { plan } = document;
  const isWide =
    plan?.samplesPerCell === null && grid.rows.some((row) => row.some(({ note }) => note.includes("*")));
  return {
    caption: "GB/s",
    ...grid,
    ...(isWide && { footnote: `*: --budget ${doubled(plan.budgetNs)} narrows the interval` }),
  };
}
