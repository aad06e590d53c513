import type { ForestChart, ForestKind, ForestRow } from "../../draw/chart/chart.js";
import { formatChange, formatChangeTick } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { counted, listed } from "../../draw/words.js";
import { directionName } from "../../results/naming/wording.js";
import { median } from "../../stats/order-statistics.js";
import type { CellComparison, Comparison, GroupComparison, Verdict } from "../comparison.js";
import {
  changeEstimate,
  changeText,
  comparedNames,
  describeFigures,
  type NameOfCompared,
  unitName,
} from "./cell-text.js";
import { verdictMeaning } from "./outcome.js";

/** The changes of all cells: throughput, and the time of a copy. */
export function comparisonCharts(comparison: Comparison): ForestChart[] {
  const nameOf = comparedNames(comparison);
  return (["GB/s", "us"] as const).flatMap((unit) => chartsOf(comparison, unit, nameOf));
}

/** Most rows of a readable chart. */
const mostRows = 24;

const chartNames = { "GB/s": "throughput-changes", us: "latency-changes" } as const;

/** Charts of the changes of a unit's cells; with more than `mostRows`, also one by kind. */
function chartsOf(
  { cells: all, groups }: Comparison,
  unit: CellComparison["unit"],
  nameOf: NameOfCompared,
): ForestChart[] {
  const cells = all.filter((cell) => cell.unit === unit && isDrawn(cell));
  if (cells.length === 0) return [];
  const isWhole = cells.length <= mostRows;
  const drawn = isWhole ? cells : [...cells].sort(byRemarkable).slice(0, mostRows);
  const ofWhat = unit === "us" ? "Time of a copy" : "Throughput";
  const faster = unit === "us" ? "less is faster" : "more is faster";
  const name = chartNames[unit];
  const without = all.filter((cell) => cell.unit === unit && !isDrawn(cell)).length;
  const rest =
    without === 0
      ? ""
      : ` ${counted(without, "cell")} without a change ${without === 1 ? "is" : "are"} only in the table.`;
  const changes: ForestChart = {
    ...forestOf(drawn, unit, nameOf),
    name,
    title: isWhole
      ? `${ofWhat}: change of each cell (${faster})`
      : `${ofWhat}: change of the ${mostRows} most remarkable of ${cells.length} cells (${faster})`,
    description: `${describeChanges(cells, nameOf)}${rest}`,
  };
  if (isWhole) return [changes];
  return [
    changes,
    {
      ...kindsForest(cells, groups, unit),
      name: `${name}-by-kind`,
      title: `${ofWhat}: change of all ${cells.length} cells, by direction and memory (${faster})`,
      description:
        "The mark is the middle cell's change, the line reaches from the least to the largest change.",
    },
  ];
}

function isDrawn(cell: CellComparison): boolean {
  return changeEstimate(cell) !== null;
}

/** Verdicts by interest: all others come before "not slower", and larger changes first. */
function byRemarkable(a: CellComparison, b: CellComparison): number {
  const weight = (cell: CellComparison) => (cell.verdict === "not slower" ? 0 : 1);
  return weight(b) - weight(a) || Math.abs(changeOf(b)) - Math.abs(changeOf(a));
}

function changeOf(cell: CellComparison): number {
  return changeEstimate(cell)?.figure ?? 0;
}

function describeChanges(cells: readonly CellComparison[], nameOf: NameOfCompared): string {
  const ordered = [...cells].sort((a, b) => changeOf(a) - changeOf(b));
  const verdicts = [...groupBy(cells, ({ verdict }) => verdict)];
  const tally = verdicts.map(([verdict, members]) => `${members.length} ${verdict}`);
  const [least, most] = [ordered[0]!, ordered.at(-1)!];
  return `${listed(tally)}; from ${changeText(least)} (${nameOf(least)}) to ${changeText(most)} (${nameOf(most)}).`;
}

/** Style of each verdict, in the order of the legend. */
const verdictKinds: readonly (ForestKind & { name: Verdict })[] = [
  { name: "slower", style: 1 },
  { name: "probably slower", style: 5 },
  { name: "unsteady", style: 4 },
  { name: "uneven", style: 7 },
  { name: "inconclusive", style: 3, isOpen: true },
  { name: "not comparable", style: 6, isOpen: true },
  { name: "not slower", style: 0 },
  { name: "faster", style: 2 },
];

function forestOf(
  cells: readonly CellComparison[],
  unit: CellComparison["unit"],
  nameOf: NameOfCompared,
): Omit<ForestChart, "name" | "title" | "description"> {
  const kinds = verdictKinds.filter(({ name }) => cells.some(({ verdict }) => verdict === name));
  const rows = [...cells].sort((a, b) => changeOf(a) - changeOf(b) || a.id.localeCompare(b.id));
  return {
    kind: "forest",
    x: changeAxis(unit),
    kinds: kinds.map((kind) => ({ ...kind, name: `${kind.name}: ${verdictMeaning[kind.name]}` })),
    rows: rows.map((cell): ForestRow => {
      const { figure, interval } = changeEstimate(cell)!;
      return {
        label: nameOf(cell),
        kind: kinds.findIndex(({ name }) => name === cell.verdict),
        value: figure,
        low: interval?.low ?? null,
        high: interval?.high ?? null,
        limits: [-cell.threshold, cell.threshold],
        figure: changeText(cell)!,
        text: `${nameOf(cell)}: ${describeFigures(cell)}`,
      };
    }),
    limitName: "threshold",
  };
}

/**
 * A row for all cells of a direction and a kind of memory. If they are a group, the middle cell's change is the group's,
 * as in its table.
 */
function kindsForest(
  cells: readonly CellComparison[],
  groups: readonly GroupComparison[],
  unit: CellComparison["unit"],
): Omit<ForestChart, "name" | "title" | "description"> {
  const kinds = groupBy(cells, ({ moved, memory }) => `${directionName[moved]} ${memory}`);
  const towards = unit === "us" ? "up" : "down";
  const changeOfGroup = (members: readonly CellComparison[]) =>
    // A group's change is one of speed.
    unit === "us" ? null : (groups.find((group) => isOf(group, members))?.change ?? null);
  const rows = [...kinds].map(([label, members]): ForestRow => {
    const changes = members.map(changeOf);
    const value = changeOfGroup(members) ?? median(changes);
    const [low, high] = [Math.min(value, ...changes), Math.max(value, ...changes)];
    const middle = formatChange(value, towards);
    const range = `from ${formatChange(low, "down")} to ${formatChange(high, "up")}`;
    return {
      label: `${label}, ${counted(members.length, "cell")}`,
      kind: 0,
      ...{ value, low, high },
      limits: [],
      figure: middle,
      text: `${label}, ${counted(members.length, "cell")}: ${middle} in the middle, ${range}`,
    };
  });
  return {
    kind: "forest",
    x: changeAxis(unit),
    kinds: [{ name: "middle cell, from the least to the largest change", style: 0 }],
    rows: rows.sort((a, b) => a.value - b.value),
    limitName: null,
  };
}

function isOf({ ids, moved }: GroupComparison, cells: readonly CellComparison[]): boolean {
  return ids.length === cells.length && cells.every((cell) => cell.moved === moved && ids.includes(cell.id));
}

function changeAxis(unit: CellComparison["unit"]): ForestChart["x"] {
  const what = unit === "us" ? "µs a copy" : unitName[unit];
  return { label: `change of ${what}`, scale: "linear", format: formatChangeTick };
}
