import { kindOf } from "../results/variant.js";
import { median } from "../stats/order-statistics.js";
import type { GroupComparison } from "./comparison.js";
import { type BySession, levelOf } from "./noise.js";
import type { RunFigure, Series } from "./series.js";

/** Cells of one memory kind, direction, mode and variant on one device. */
export interface Group extends Pick<GroupComparison, "kind" | "device" | "direction" | "moved"> {
  members: Series[];
}

export function groupsOf(series: readonly Series[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of series) {
    const { device, direction } = one.cell;
    const fields = { kind: kindOf(one), device, direction, moved: one.moved };
    const key = Object.values(fields).join();
    const group = groups.get(key) ?? { ...fields, members: [] };
    groups.set(key, group);
    group.members.push(one);
  }
  return [...groups.values()];
}

export type Side = "baseline" | "first" | "fresh";

interface RunValue {
  session: number;
  value: number;
}

export type ByRun = ReadonlyMap<number, RunValue>;

/** Reads one value of a run's figure; null if unknown. */
type Figure = (figure: RunFigure) => number | null;

const logSpeed: Figure = (figure) => figure.logSpeed;
export const logSpeedOverTime: Figure = (figure) => figure.logSpeedOverTime;

/**
 * For each run of a side: the median over the members of their figures relative to the baseline. Every member has
 * baseline figures.
 */
export function relativeValues(members: readonly Series[], side: Side, figure = logSpeed): ByRun {
  const byRun = new Map<number, { session: number; values: number[] }>();
  for (const member of members) {
    const known = figuresOf(member.baseline, figure);
    if (known.length === 0) continue;
    const level = levelOf(bySession(known));
    for (const { run, session, value } of figuresOf(member[side], figure)) {
      const one = byRun.get(run) ?? { session, values: [] };
      byRun.set(run, one);
      one.values.push(value - level);
    }
  }
  return new Map([...byRun].map(([run, { session, values }]) => [run, { session, value: median(values) }]));
}

export function valuesOf(series: Series, side: Side): ByRun {
  return new Map(figuresOf(series[side], logSpeed).map(({ run, ...value }) => [run, value]));
}

function figuresOf(figures: readonly RunFigure[], figure: Figure): (RunValue & { run: number })[] {
  const known: (RunValue & { run: number })[] = [];
  for (const one of figures) {
    const value = figure(one);
    if (value !== null) known.push({ run: one.run, session: one.session, value });
  }
  return known;
}

export function relativeTo(values: ByRun, others: ByRun): ByRun {
  const relative = new Map<number, RunValue>();
  for (const [run, { session, value }] of values) {
    const other = others.get(run);
    if (other !== undefined) relative.set(run, { session, value: value - other.value });
  }
  return relative;
}

export function bySession(values: Iterable<RunValue>): BySession {
  const sessions = new Map<number, number[]>();
  for (const { session, value } of values) {
    const members = sessions.get(session) ?? [];
    sessions.set(session, members);
    members.push(value);
  }
  return [...sessions.values()];
}
