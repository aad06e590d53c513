import { median } from "../stats/order-statistics.js";
import { kindOf, logSpeeds, type RunFigure, type Series } from "./series.js";

/** The cells of one kind, device and direction: what happens to all of them is surer than what happens to one. */
export interface GroupSeries {
  /** What shares its noise: `kindOf()`. */
  kind: string;
  device: number;
  moved: Series["moved"];
  members: Series[];
}

/** With fewer cells each is judged by itself alone. */
const fewestMembers = 3;

/** The groups of these series, in the order in which they first appear; of cells that every run measured. */
export function groupsOf(series: readonly Series[]): GroupSeries[] {
  const groups = new Map<string, GroupSeries>();
  for (const one of series) {
    const { moved, cell } = one;
    const kind = kindOf(one);
    const key = `${kind} ${cell.device} ${moved}`;
    if (!groups.has(key)) groups.set(key, { kind, device: cell.device, moved, members: [] });
    groups.get(key)!.members.push(one);
  }
  return [...groups.values()]
    .map((group) => ({ ...group, members: measuredInEveryRun(group.members) }))
    .filter(({ members }) => members.length >= fewestMembers);
}

/** The others cannot be lined up with them. */
function measuredInEveryRun(series: readonly Series[]): Series[] {
  const [baseline, first] = (["baseline", "first"] as const).map((side) =>
    Math.max(...series.map((one) => one[side].length)),
  );
  return series.filter((one) => one.baseline.length === baseline && one.first.length === first);
}

/**
 * One series for all members: of each run the median of how far their speeds lie from the medians of their baselines, as a
 * factor. It has figures of fresh runs only if these measured all members.
 */
export function wholeOf(members: readonly Series[]): Series {
  const [first] = members as [Series];
  const levels = members.map((one) => median(logSpeeds(one, one.baseline)));
  const together = (side: "baseline" | "first" | "fresh"): RunFigure[] => {
    if (members.some((one) => one[side].length !== first[side].length)) return [];
    const logs = members.map((one, i) => logSpeeds(one, one[side]).map((log) => log - levels[i]!));
    return first[side].map((figure, run) => ({
      ...figure,
      value: Math.exp(median(logs.map((ofMember) => ofMember[run]!))),
    }));
  };
  return {
    ...first,
    unit: "GB/s",
    baseline: together("baseline"),
    first: together("first"),
    fresh: together("fresh"),
  };
}
