import { groupBy } from "../draw/report.js";
import { parseCellId } from "../results/cell-id.js";
import { median } from "../stats/order-statistics.js";
import { type CellLevels, type GpuLevel, nodeLevels } from "./cell-levels.js";
import { noiseOf } from "./figure-noise.js";

/** With fewer cells of a kind, one by one they say as much. */
const fewestCells = 3;

/** The kind by which figures are judged together: the memory, with rates and latencies apart. */
export function kindName({ kind: { cell, unit } }: Pick<CellLevels, "kind">): string {
  const { memory } = parseCellId(`d0/${cell}`);
  return unit === "us" ? `${memory} latency` : memory;
}

/**
 * The evidence of each GPU's cells of one kind put together, so that a small loss in all of them is found: the median of
 * its drops over these cells is one more figure of the GPU, which is compared with the same figure of the other GPUs.
 *
 * The cells of one process are correlated (it has its place in memory, its host and its hour), so p-values of cells must
 * not be multiplied, as in Fisher's method. The median's own spread between the group's GPUs has the correlation in it; where
 * GPUs are few, the recorded spread moderates it, in which the shared part stays whole and the rest shrinks as the
 * variance of a median of independent values does (`noiseOf()`). A median also ignores single cells that are far off.
 */
export function kindsTogether(levels: readonly CellLevels[], models: readonly string[]): CellLevels[] {
  return [...groupBy(levels, kindName)].flatMap(([name, members]) =>
    members.length < fewestCells ? [] : [together(name, members, models)],
  );
}

function together(name: string, members: readonly CellLevels[], models: readonly string[]): CellLevels {
  const ofGpu = new Map<string, GpuLevel[]>();
  for (const { gpus } of members) {
    for (const gpu of gpus) {
      const name = `${gpu.node} ${gpu.device}`;
      const cells = ofGpu.get(name);
      if (cells === undefined) ofGpu.set(name, [gpu]);
      else cells.push(gpu);
    }
  }
  const gpus = [...ofGpu.values()].flatMap((cells) => {
    const [{ node, device }] = cells as [GpuLevel];
    const drop = median(cells.map((cell) => cell.drop));
    return 2 * cells.length < members.length ? [] : [{ node, device, centre: 0, drop }];
  });
  const [first] = members as [CellLevels];
  const nodes = nodeLevels(gpus);
  // The smaller slow part of a cell is slow in all of them, or its cells are not of one noise.
  const slow = new Set(members.flatMap(({ parts }) => parts?.slow ?? []));
  const isPart = slow.size > 0 && 2 * slow.size < nodes.length;
  const counts = ({ node }: { node: number }) => !isPart || !slow.has(node);
  const shown = gpus.filter(counts);
  const residuals = shown.map(({ drop }) => drop);
  const ofMedian = { cells: members.length, wider: first.wider };
  return {
    ...first,
    key: `together ${name}`,
    members,
    gpus,
    nodes,
    centre: 0,
    gpuNoise: noiseOf(residuals, first.kind, models, ofMedian),
    nodeNoise: noiseOf(
      nodes.filter(counts).map(({ drop }) => drop),
      first.kind,
      models,
      ofMedian,
    ),
    shown,
    residuals,
    spare: 0,
    parts: null,
    oddPlaces: new Map(),
  };
}
