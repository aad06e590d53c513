import { describeSharing, joinSharing, type SharingRecord } from "../host/other-programs.js";
import type { HistoryEntry } from "../results/history-entry.js";
import type { LoadRecord } from "../results/schema.js";
import { variantName } from "../results/variant.js";
import { controlledMemories, steadyMemories } from "../settings/choices.js";
import { type CellComparison, looksSlower } from "./comparison.js";
import { fewestOccasions, groupByOccasion } from "./occasions.js";
import type { ComparisonRequest, ResultSet, RunFigures } from "./result-set.js";

/** Notes besides the verdicts, a sentence each. */
export function notesOn(
  request: Pick<ComparisonRequest, "baseline" | "candidate" | "fresh" | "command" | "suspects" | "history">,
  { failures, gpusLeftOut }: { failures: readonly string[]; gpusLeftOut: number },
  cells: readonly CellComparison[],
): string[] {
  const { baseline, candidate, fresh, command, suspects } = request;
  return [
    ...imported(baseline, candidate),
    ...(gpusLeftOut === 0
      ? []
      : [`${gpusLeftOut === 1 ? "1 GPU is" : `${gpusLeftOut} GPUs are`} on one side only and not compared`]),
    ...shared("baseline", baseline.runs),
    ...shared("candidate", [...candidate.runs, ...fresh]),
    ...spreadSource(cells),
    ...commonCauses(suspects, cells),
    ...fewOccasions(baseline, request.history ?? [], cells),
    ...newLoads(baseline.runs, [...candidate.runs, ...fresh], cells),
    ...(command === "compare" && cells.some(looksSlower)
      ? ["nothing was measured again: `pinbench check` confirms what is slower with fresh processes"]
      : []),
    ...failures,
  ];
}

/** Fewest suspects of a memory kind that suggest a common cause. */
const fewestSuspects = 3;

/**
 * If most cells of a memory kind look slower together they have a common cause, which may be temporary. On a shared
 * H200 all pageable and staged copies were slower for three minutes (results/README.md). Pinned copies, in which the
 * CPU has no part, were not; what these share is the link.
 */
function commonCauses(suspects: readonly string[], cells: readonly CellComparison[]): string[] {
  const kinds = [...new Set(cells.map(nameOf))].flatMap((name) => {
    const ofKind = cells.filter((cell) => nameOf(cell) === name);
    const { memory } = ofKind[0]!;
    const slow = ofKind.filter(({ id }) => suspects.includes(id)).length;
    const isCommon = slow >= fewestSuspects && slow >= ofKind.length / 2;
    return isCommon ? [{ memory, share: `${slow} of ${ofKind.length} ${name}` }] : [];
  });
  return [true, false].flatMap((isSteady) => {
    const shares = kinds.filter(({ memory }) => steadyMemories.includes(memory) === isSteady);
    if (shares.length === 0) return [];
    const cause = isSteady
      ? "another program that copies over the link can cause that for a while"
      : "another program or virtual machine that uses the host's memory can cause that for a while";
    return [
      `${shares.map(({ share }) => share).join(" and ")} cells looked slower at the same time: ${cause}; --confirm-after 5min rules out a passing cause`,
    ];
  });
}

/** Memory kind and variant, which may have a common cause. */
function nameOf(cell: CellComparison): string {
  return `${cell.memory} ${variantName(cell)}`.trimEnd();
}

/** With a baseline of one hour, a change of host-dependent copies may be due to the hour as well as to a driver. */
function fewOccasions(
  { runs }: ResultSet,
  history: readonly HistoryEntry[],
  cells: readonly CellComparison[],
): string[] {
  const occasions = groupByOccasion(runs).length;
  const isKnown = Math.max(occasions, groupByOccasion(history).length) >= fewestOccasions;
  const isOfHost = ({ verdict, memory }: CellComparison) =>
    (verdict === "slower" || verdict === "probably slower") &&
    (memory === "host" || controlledMemories.includes(memory));
  if (isKnown || !cells.some(isOfHost)) return [];
  const measured = occasions === 1 ? "once" : "twice";
  return [
    `the baseline was measured ${measured}, and does not show how pageable and staged copies differ from hour to hour; \`pinbench baseline --append\` or \`check --history\` shows it`,
  ];
}

/** New loads of the machine during the candidate's runs, if something is slower. */
function newLoads(
  before: readonly RunFigures[],
  now: readonly RunFigures[],
  cells: readonly CellComparison[],
): string[] {
  if (!cells.some(looksSlower)) return [];
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  return findNewLoads(before, now).map(
    ({ name, usual, now: today }) =>
      `${name} reached ${percent(today)} during a run, at most ${percent(usual)} in the baseline's`,
  );
}

/**
 * Notes on devices that others used too, because such figures are not the device's alone. Each sentence counts the runs
 * that it is about. It leaves out which other program came first, because that differs between runs.
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

/** How an unfinished run ended. */
const endOf = {
  aborted: "was interrupted",
  running: "has not ended",
  failed: "failed",
} as const;

/** For each unfinished run, which part of it is compared: "a.json was interrupted: …". */
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

function spreadSource(cells: readonly CellComparison[]): string[] {
  const recorded = cells.filter(({ spread }) => spread?.source === "recorded");
  if (recorded.length === 0) return [];
  const kinds = [...new Set(recorded.map(({ memory }) => memory))].join(", ");
  return [
    `a side has only one or two runs: the spread between runs of ${kinds} is taken from runs recorded on an NVIDIA H200; measure several runs on each side`,
  ];
}

/** A load of the machine besides pinbench, as a share of all CPUs or of the time. */
interface NewLoad {
  /** In words: "CPU time of other programs". */
  name: string;
  /** The highest share during a run of the baseline, and of the candidate. */
  usual: number;
  now: number;
}

/** How much a share must exceed that of all baseline runs to be a new load. */
const notableShare = 0.05;

/** Ordered by how much they explain. */
const loadNames = {
  otherCpuShare: "CPU time of other programs",
  stealShare: "CPU time that the hypervisor gave to others",
  memoryPressureShare: "waiting for memory",
  ioPressureShare: "waiting for disks",
} as const satisfies Partial<Record<keyof LoadRecord, string>>;

/** Loads in the candidate's runs that no baseline run had; empty if unknown. */
export function findNewLoads(baseline: readonly RunFigures[], candidate: readonly RunFigures[]): NewLoad[] {
  return (Object.keys(loadNames) as (keyof typeof loadNames)[]).flatMap((key) => {
    const most = (runs: readonly RunFigures[]) =>
      Math.max(...runs.map(({ load }) => load?.[key] ?? Number.NaN));
    const [usual, now] = [most(baseline), most(candidate)];
    return now - usual > notableShare ? [{ name: loadNames[key], usual, now }] : [];
  });
}
