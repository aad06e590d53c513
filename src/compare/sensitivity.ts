import type { Thresholds } from "../settings/thresholds.js";
import { groupBy } from "../stats/group-by.js";
import { lossThatWouldShow } from "./decision.js";
import { measureOf } from "./evidence.js";
import { bySession, type Group, groupsOf, relativeValues } from "./groups.js";
import { numberAlike } from "./match-devices.js";
import { noiseOf, standardError } from "./noise.js";
import type { RunFigures } from "./result-set.js";
import { joinRuns } from "./series.js";

/** A baseline's noise for one kind of memory, and what it can detect: the largest values over its groups. */
export interface Sensitivity {
  kind: string;
  cells: number;
  /** Relative standard deviations. */
  betweenRuns: number;
  betweenSessions: number;
  /** The relative loss that a check finds in 39 of 40 cases. */
  wouldShow: number;
}

export function sensitivityOf(
  runs: readonly RunFigures[],
  checkRuns: number,
  thresholds: Thresholds,
): Sensitivity[] {
  const { series } = joinRuns({ baseline: numberAlike(runs), first: [], fresh: [] });
  const { backend } = runs[0]!;
  const ofGroup = ({ kind, members }: Group): Sensitivity => {
    const sessions = bySession(relativeValues(members, "baseline").values());
    const hasOneRun = runs.length === 1 || checkRuns === 1;
    const { limit, assumed } = measureOf(members, hasOneRun, { thresholds, backend });
    const noise = noiseOf(sessions, assumed);
    const error = standardError(noise, sessions, [Array<number>(checkRuns).fill(0)]);
    return {
      kind,
      cells: members.length,
      betweenRuns: Math.sqrt(noise.betweenRuns),
      betweenSessions: Math.sqrt(noise.betweenSessions),
      wouldShow: lossThatWouldShow(error, limit),
    };
  };
  return [...groupBy(groupsOf(series).map(ofGroup), ({ kind }) => kind)].map(([kind, members]) => {
    const largest = (of: (one: Sensitivity) => number) => Math.max(...members.map(of));
    return {
      kind,
      cells: members.reduce((sum, { cells }) => sum + cells, 0),
      betweenRuns: largest((one) => one.betweenRuns),
      betweenSessions: largest((one) => one.betweenSessions),
      wouldShow: largest((one) => one.wouldShow),
    };
  });
}
