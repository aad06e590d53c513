import type { MachineNames } from "../results/history-entry.js";

/**
 * Runs that start less than this after the end of the one before them are of one occasion. Processes one after the other share
 * what the machine does in these minutes (other guests' load, clocks, where memory is free), and tell little of how it
 * is an hour later.
 */
export const occasionGapNs = 5 * 60e9;

/** From so many occasions on, the runs themselves tell how much a machine differs between them. */
export const fewestOccasions = 3;

/** What of a run says on which occasion it was measured. */
interface Dated {
  /** As in a result, ISO 8601. */
  startedAt: string;
  /** How long it took; absent or null where that is not known, and then taken to be nothing. */
  wallNs?: number | null;
  /** Runs on two machines are never of one occasion. */
  machine?: MachineNames;
}

/**
 * The runs by the occasions on which they were measured, each occasion's and the occasions in the order of their
 * starts. Every run is in exactly one; no runs have no occasions.
 */
export function groupByOccasion<Run extends Dated>(runs: readonly Run[]): Run[][] {
  const machineOf = ({ machine }: Run) => JSON.stringify(machine?.gpuUuids ?? []);
  const machines = new Set(runs.map(machineOf));
  const occasions = [...machines].flatMap((machine) =>
    groupByTime(runs.filter((run) => machineOf(run) === machine)),
  );
  return occasions.sort(([a], [b]) => startMs(a!) - startMs(b!));
}

function groupByTime<Run extends Dated>(runs: readonly Run[]): Run[][] {
  const occasions: Run[][] = [];
  let endMs = Number.NEGATIVE_INFINITY;
  for (const run of [...runs].sort((a, b) => startMs(a) - startMs(b))) {
    if ((startMs(run) - endMs) * 1e6 >= occasionGapNs) occasions.push([]);
    occasions.at(-1)!.push(run);
    endMs = Math.max(endMs, startMs(run) + (run.wallNs ?? 0) / 1e6);
  }
  return occasions;
}

function startMs({ startedAt }: Dated): number {
  return Date.parse(startedAt);
}
