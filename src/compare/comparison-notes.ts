import { formatChange, formatWholeShare, roundUp } from "../draw/numbers.js";
import { describeSharing, joinSharing, type SharingRecord } from "../host/other-programs.js";
import type { LoadRecord } from "../results/schema.js";
import { groupName } from "./compared-names.js";
import { type GroupComparison, isFailing } from "./comparison.js";
import type { ComparisonRequest, ResultSet, RunFigures } from "./result-set.js";

export function notesOn(
  request: Pick<ComparisonRequest, "baseline" | "candidate" | "fresh" | "command">,
  { failures, gpusLeftOut }: { failures: readonly string[]; gpusLeftOut: number },
  groups: readonly GroupComparison[],
): string[] {
  const { baseline, candidate, fresh, command } = request;
  return [
    ...imported(baseline, candidate),
    ...(gpusLeftOut === 0
      ? []
      : [`${gpusLeftOut === 1 ? "1 GPU is" : `${gpusLeftOut} GPUs are`} on one side only and not compared`]),
    ...shared("baseline", baseline.runs),
    ...shared("candidate", [...candidate.runs, ...fresh]),
    ...passed(groups),
    ...(groups.some(isFailing) ? newLoads(baseline.runs, [...candidate.runs, ...fresh]) : []),
    ...(groups.some(isFailing) && command === "compare"
      ? ["nothing was measured again: `pinbench check` confirms a loss in fresh processes"]
      : []),
    ...failures,
  ];
}

function passed(groups: readonly GroupComparison[]): string[] {
  return groups.flatMap((group) => {
    const { firstChange, change, threshold } = group;
    if (firstChange === null || firstChange > -threshold) return [];
    if (change === null || change <= -threshold) return [];
    return [
      `${groupName(group, groups)} was ${formatChange(firstChange, "down")} at first, not when it was measured again`,
    ];
  });
}

/**
 * Notes on devices that other programs used too: these may have changed the figures. Each sentence counts its runs; it
 * does not say which program came first, because that differs between runs.
 */
function shared(side: string, runs: readonly RunFigures[]): string[] {
  const all = `the ${side}'s ${runs.length} run${runs.length === 1 ? "" : "s"}`;
  return joinSharing(runs.map(({ sharing }) => sharing)).flatMap((joined) => {
    const ofDevice = runs.flatMap(({ sharing }) => sharing.filter(({ device }) => device === joined.device));
    return [withOthersAlone, withActivityAlone].flatMap((part) => {
      const count = ofDevice.filter((record) => describeSharing(part(record)).length > 0).length;
      return describeSharing(part(joined)).map((text) => `in ${count} of ${all} ${text}`);
    });
  });
}

function withOthersAlone(record: SharingRecord): SharingRecord {
  const others = record.others.map((other) => ({ ...other, wasThereBefore: true }));
  return { ...record, others, activityBefore: null };
}

function withActivityAlone(record: SharingRecord): SharingRecord {
  return { ...record, others: [] };
}

const endOf = {
  aborted: "was interrupted",
  running: "has not ended",
  failed: "failed",
} as const;

/** A sentence for each unfinished run on the part that is compared: "a.json was interrupted: …". */
export function describeUnfinished(runs: readonly RunFigures[]): string[] {
  return runs.flatMap(({ path, status, cells }) => {
    if (status === "complete") return [];
    const finished = cells.filter(({ figures }) => figures.length > 0).length;
    const compared =
      finished === 0
        ? `none of its ${cells.length} cells was finished`
        : `${finished} of its ${cells.length} cells ${finished === 1 ? "was" : "were"} finished, and only those are compared`;
    return [`${path ?? "a run"} ${endOf[status]}: ${compared}`];
  });
}

function imported(...sets: readonly ResultSet[]): string[] {
  const tools = new Set(sets.flatMap(({ runs }) => runs.map(({ importedFrom }) => importedFrom)));
  return [...tools]
    .filter((tool) => tool !== null)
    .map(
      (tool) => `a side was imported from ${tool}: machine facts that it does not record are not compared`,
    );
}

/** A load counts as new if its share exceeds that of all baseline runs by this much. */
const notableShare = 0.05;

/** Most explanatory first. */
const loadNames = {
  otherCpuShare: "CPU time of other programs",
  stealShare: "CPU time that the hypervisor gave to others",
  memoryPressureShare: "waiting for memory",
  ioPressureShare: "waiting for disks",
} as const satisfies Partial<Record<keyof LoadRecord, string>>;

function newLoads(baseline: readonly RunFigures[], candidate: readonly RunFigures[]): string[] {
  return (Object.keys(loadNames) as (keyof typeof loadNames)[]).flatMap((key) => {
    const most = (runs: readonly RunFigures[]) =>
      Math.max(...runs.map(({ load }) => load?.[key] ?? Number.NaN));
    const [usual, now] = [most(baseline), most(candidate)];
    if (!(now - usual > notableShare)) return [];
    return [
      `${loadNames[key]} reached ${formatWholeShare(now)} during a run, at most ${formatWholeShare(usual, roundUp)} in the baseline's`,
    ];
  });
}
