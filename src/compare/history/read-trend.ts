import type { HistoryEntry, MachineNames } from "../../results/history-entry.js";
import { fitLevels, type LevelStep } from "../../stats/level-fit.js";
import { median } from "../../stats/order-statistics.js";
import { factNames, machineFacts } from "../comparison.js";
import type { Trend } from "./history-document.js";

export interface LogPoint {
  check: number;
  value: number;
}

const fewestForNoise = 3;

export function readTrend(
  points: readonly LogPoint[],
  entries: readonly HistoryEntry[],
): Pick<Trend, "points" | "noise" | "steps" | "outages" | "newest"> {
  const values = points.map(({ value }) => value);
  const { steps, outages, deviation, newest } = fitLevels(values);
  const checkOf = (index: number) => points[index]!.check;
  const level = median(values);
  return {
    points: points.map(({ check, value }) => ({ check, change: Math.expm1(value - level) })),
    noise: points.length < fewestForNoise ? null : Math.expm1(deviation),
    steps: steps.map((step) => stepOf(step, checkOf, entries)),
    outages: outages.map(({ first, end, size }) => ({
      change: Math.expm1(size),
      first: checkOf(first),
      last: checkOf(end - 1),
    })),
    newest: newest && {
      check: points.at(-1)!.check,
      figure: null,
      change: Math.expm1(newest.size),
      checksBefore: newest.before,
      isFar: newest.isFar,
    },
  };
}

function stepOf(
  { at, earliest, latest, size, low, high }: LevelStep,
  checkOf: (index: number) => number,
  entries: readonly HistoryEntry[],
): Trend["steps"][number] {
  return {
    change: Math.expm1(size),
    low: Math.expm1(low),
    high: Math.expm1(high),
    before: checkOf(at - 1),
    after: checkOf(at),
    earliest: checkOf(earliest),
    latest: checkOf(latest),
    differences: differencesBetween(entries[checkOf(earliest - 1)]!, entries[checkOf(latest)]!),
  };
}

function differencesBetween(
  earlier: HistoryEntry,
  later: HistoryEntry,
): Trend["steps"][number]["differences"] {
  const facts = new Map(factsOf(later));
  return factsOf(earlier).flatMap(([fact, before]) => {
    const after = facts.get(fact) ?? null;
    return before === null || after === null || before === after ? [] : [{ fact, before, after }];
  });
}

function factsOf({ fingerprint, machine, version, verify }: HistoryEntry): [string, string | null][] {
  const recorded: HistoryEntry["fingerprint"] = { ...fingerprint, pinbench: version };
  return [
    ...Object.entries(factNames).map(([key, name]): [string, string | null] => [name, recorded[key] ?? null]),
    ...Object.entries(machineFacts).map(([key, name]): [string, string | null] => [
      name,
      machine[key as keyof MachineNames].join(", ") || null,
    ]),
    ["--verify", verify ?? null],
  ];
}
