import { holm } from "../stats/hypothesis-tests.js";
import { median } from "../stats/order-statistics.js";
import type { CellLevels } from "./cell-levels.js";
import { kindName } from "./cells-together.js";
import { farInEachCell, farRule } from "./far-below.js";
import { chanceOfDrop } from "./figure-noise.js";
import type { FleetOutlier } from "./fleet-document.js";
import { type FleetRule, type GroupJudgement, groupSignificance, leastDrop } from "./judge-group.js";
import type { DeviceFigures, NodeFigures } from "./node-figures.js";
import type { Confirmation, SlowCell, SlowOne } from "./slow-ones.js";

/** The smallest drop that no noise makes, whatever the scatter of the others. */
const leastGap = (levels: CellLevels) =>
  kindName(levels) === "pinned" ? farInEachCell.gap : farRule(levels).gap;

/**
 * A result shows the loss of another one if it lost this share of it: the effect of a cause varies by less than half.
 */
const sameLoss = 0.5;

/**
 * An outlier is slow again if its fresh figure alone shows the same loss, with a p-value below this level or far below all
 * others, or another loss by the rule itself. No correction for many tests is needed, because fresh figures did not choose
 * the outlier. A share of the threshold would not do: healthy machines differ by that much, so one process that was far
 * off would be confirmed.
 */
const confirmingLevel = 0.05;

/**
 * Judges again with the figures of fresh processes (`freshOf()` a node, by its index in the group; null without any).
 * Outliers are confirmed or cleared. Suspects become outliers if their fresh figures alone show it, corrected over
 * those of all suspects of the group.
 */
export function confirm(
  nodes: readonly NodeFigures[],
  { outliers, suspects, unclear }: GroupJudgement,
  freshOf: (node: number) => NodeFigures | null,
  rule: FleetRule,
): Confirmation {
  const least = leastDrop(rule);
  const again = (one: SlowOne) => {
    const fresh = freshOf(one.node);
    return fresh === null
      ? []
      : one.cells.flatMap((cell) => cellAgain(nodes[one.node]!, one, cell, fresh) ?? []);
  };
  const judged = outliers.map((one) => {
    const cells = again(one);
    const isSlow = (drop: number, first: Pick<SlowCell, "levels" | "drop">) => {
      const { gpuNoise, nodeNoise, namedFrom } = first.levels;
      const pValue = chanceOfDrop(drop, one.device === null ? nodeNoise : gpuNoise);
      // No noise makes a loss that is far below all others, whatever their scatter.
      const isCertain = pValue < confirmingLevel || drop >= leastGap(first.levels);
      const isSameLoss = drop > sameLoss * first.drop && isCertain;
      return isSameLoss || (drop > namedFrom && pValue < groupSignificance);
    };
    // A loss shown by several cells together is not confirmed by a single one.
    const isSlowAgain = one.cells.some((first) => {
      const { together, levels } = first;
      const own = cells.filter((cell) =>
        together === null ? cell.levels === levels : cell.together?.levels === together.levels,
      );
      return own.length > 0 && isSlow(median(own.map(({ drop }) => drop)), together ?? first);
    });
    return { ...one, confirmed: cells.length === 0 ? null : isSlowAgain };
  });
  const suspected = suspects.flatMap((one) => again(one).map((cell) => ({ one, cell })));
  const adjusted = holm(suspected.map(({ cell }) => cell.pValue));
  const shown = suspected
    .map(({ one, cell }, i) => ({ one, cell: { ...cell, adjustedPValue: adjusted[i]! } }))
    .filter(({ cell }) => cell.drop > least && cell.adjustedPValue < groupSignificance);
  const met = [...new Set(shown.map(({ one }) => one))].map((one) => ({
    ...one,
    cells: shown.filter((other) => other.one === one).map(({ cell }) => cell),
    confirmed: true,
  }));
  const isUnshown = ({ cells: [most] }: SlowOne) =>
    most!.levels.against === "reference" && most!.drop <= most!.levels.namedFrom;
  const isMet = ({ node, device }: SlowOne) => met.some((one) => one.node === node && one.device === device);
  const doubtful = [...unclear, ...suspects.filter(isUnshown)].filter((one) => !isMet(one));
  return {
    unclear: doubtful.flatMap((one) => {
      const [most] = one.cells as [SlowCell];
      const then = again({ ...one, cells: [most] });
      const isSame = then.every(({ drop }) => drop > sameLoss * most.drop);
      return isSame ? [{ ...one, isAgain: then.length > 0 }] : [];
    }),
    outliers: [...judged.filter(({ confirmed }) => confirmed !== false), ...met].sort(
      (a, b) => b.cells[0]!.drop - a.cells[0]!.drop,
    ),
    cleared: judged.filter(({ confirmed }) => confirmed === false),
  };
}

/** Whether nodes are on two levels again: not if each slow one was measured again and has made up most of the gap. */
export function isPartAgain(
  levels: CellLevels,
  nodes: readonly NodeFigures[],
  freshOf: (node: number) => NodeFigures | null,
): boolean {
  const { parts } = levels;
  if (parts === null) return false;
  const gains = parts.slow.flatMap((node) => {
    const fresh = freshOf(node);
    const first = levels.nodes.find((one) => one.node === node)!;
    const cell = { ...first, levels, adjustedPValue: 1, together: null };
    const then =
      fresh === null ? null : cellAgain(nodes[node]!, { node, device: null, cells: [cell] }, cell, fresh);
    return then === null ? [] : [first.drop - then.drop];
  });
  const mostGain = (1 - sameLoss) * (parts.fastCentre - parts.slowCentre);
  return gains.length < parts.slow.length || gains.some((gain) => gain < mostGain);
}

/** Since when an outlier is slow, from the older results of its node in the cell with the largest loss. */
export function slowSince(node: NodeFigures, one: SlowOne): FleetOutlier["since"] {
  const [most] = one.cells;
  if (node.startedAt === null || most === undefined) return null;
  let { startedAt } = node;
  for (const earlier of node.earlier ?? []) {
    const then = cellAgain(node, one, most, earlier);
    if (then === null || earlier.startedAt === null) continue;
    if (then.drop < sameLoss * most.drop) return { startedAt, lastHealthy: earlier.startedAt };
    startedAt = earlier.startedAt;
  }
  return { startedAt, lastHealthy: null };
}

/** The cell with the figures of another result, against the same centre; null without figures. */
function cellAgain(
  node: NodeFigures,
  { node: index, device }: SlowOne,
  { levels, together }: SlowCell,
  fresh: NodeFigures,
): (SlowCell & { pValue: number }) | null {
  const gpus = levels.gpus.filter((gpu) => gpu.node === index && (device === null || gpu.device === device));
  const again = gpus.flatMap((gpu) => {
    const figure = sameDevice(node.devices[gpu.device]!, fresh)?.figures.get(levels.key);
    if (figure === undefined || !(figure > 0)) return [];
    const speed = levels.kind.unit === "us" ? -Math.log(figure) : Math.log(figure);
    return [{ centre: gpu.centre, drop: gpu.centre - speed }];
  });
  if (again.length === 0) return null;
  const drop = median(again.map((one) => one.drop));
  const pValue = chanceOfDrop(drop, device === null ? levels.nodeNoise : levels.gpuNoise);
  const centre = median(again.map((one) => one.centre));
  return { levels, centre, drop, pValue, adjustedPValue: pValue, together };
}

/** The GPU in another result of its node, which may have only some of the node's GPUs. */
function sameDevice(device: DeviceFigures, { devices }: NodeFigures): DeviceFigures | undefined {
  return device.uuid === null
    ? devices.find(({ ordinal }) => ordinal === device.ordinal)
    : devices.find(({ uuid }) => uuid === device.uuid);
}
