import type { Curve, CurveChart } from "../../draw/chart/chart.js";
import { formatGBps } from "../../draw/numbers.js";
import { counted } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { wholeOf } from "../../results/naming/cell-figure.js";
import type { ResultDocument } from "../../results/schema.js";
import { aloneIn, variantOf } from "../../results/variant.js";
import { blockWays, directions, inOrder, memories } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { groupBy } from "../../stats/group-by.js";
import { ascending } from "../../stats/order-statistics.js";
import {
  chartName,
  describeCurves,
  directionSubject,
  joinedCurve,
  otherWorkers,
  rateAxis,
  ratePoint,
  sizeAxis,
} from "./cell-points.js";

/**
 * Bandwidth by block size, if several were measured. There is a chart for each direction and kind of memory, with a
 * curve per method and one for the same bytes in one piece.
 */
export function blockCharts(document: ResultDocument): CurveChart[] {
  const aloneOf = aloneIn(document.cells);
  const blocks = document.cells.filter((cell) => variantOf(cell) === "blocks");
  const kinds = groupBy(
    blocks.sort((a, b) => a.device - b.device || memoryPlace(a) - memoryPlace(b)),
    (cell) => [cell.device, cell.direction, cell.memory, countIn(blocks, cell)].join("/"),
  );
  return [...kinds.values()].flatMap((cells) =>
    chartOf(document, cells, countIn(blocks, cells[0]!), aloneOf),
  );
}

/** The number of blocks in a copy, if a block size has several such numbers: each then has its own chart. */
function countIn(blocks: readonly CellResult[], { sizeBytes, blockBytes = 1 }: CellResult): number | null {
  const kinds = new Set(blocks.map((one) => `${one.blockBytes}/${one.sizeBytes}`));
  const isVaried = kinds.size > new Set(blocks.map((one) => one.blockBytes)).size;
  return isVaried ? sizeBytes / blockBytes : null;
}

function memoryPlace({ direction, memory }: CellResult): number {
  return directions.indexOf(direction) * memories.length + memories.indexOf(memory);
}

function chartOf(
  document: ResultDocument,
  all: readonly CellResult[],
  count: number | null,
  aloneOf: (cell: CellResult) => CellResult | undefined,
): CurveChart[] {
  const workers = Math.min(...all.map((cell) => cell.workers));
  const cells = all.filter((cell) => cell.workers === workers);
  const [first] = cells;
  const sizes = ascending(cells.flatMap(({ blockBytes }) => blockBytes ?? []));
  if (first === undefined || sizes.length < 2) return [];
  const direction = wholeOf(first.direction);
  const curveOf = (
    name: string,
    style: number,
    some: readonly (readonly [number, CellResult | undefined])[],
  ) => {
    const points = some.flatMap(([bytes, cell]) =>
      ratePoint(cell, direction, bytes, `blocks of ${formatSize(bytes)}`),
    );
    return joinedCurve(name, style, points);
  };
  const ofWays = groupBy(
    cells.filter(({ blockWay }) => blockWay !== undefined),
    ({ blockWay }) => blockWay!,
  );
  const whole = sizes.map((bytes) => {
    const ofBlock = cells.find(({ blockBytes }) => blockBytes === bytes);
    return [bytes, ofBlock && aloneOf(ofBlock)] as const;
  });
  const curves: Curve[] = [
    ...curveOf("one piece", 0, whole),
    ...inOrder(blockWays, [...ofWays.keys()]).flatMap((way, i) =>
      curveOf(
        way,
        i + 1,
        ofWays.get(way)!.map((cell) => [cell.blockBytes ?? 0, cell]),
      ),
    ),
  ];
  if (curves.length === 0) return [];
  return [
    {
      kind: "curves",
      name: chartName(document, first, {
        before: [first.direction, first.memory, ...(count === null ? [] : [`${count}-blocks`])],
        shows: "by-block",
      }),
      title: `${directionSubject(document, first)} in scattered blocks, ${first.memory}: GB/s${direction === "sum" ? ", the sum," : ""} by size of a block, ${[...(count === null ? [] : [counted(count, "block")]), counted(workers, "worker")].join(", ")}`,
      description: describeCurves(curves, "GB/s", formatGBps, formatSize) + otherWorkers(workers, all),
      x: sizeAxis(sizes, "size of a block"),
      y: rateAxis,
      curves,
      rules: [],
    },
  ];
}
