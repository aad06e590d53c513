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
  const machines = new Map<string, Started<Run>[]>();
  for (const run of runs) {
    const machine = JSON.stringify(run.machine?.gpuUuids ?? []);
    const ofMachine = machines.get(machine) ?? [];
    if (ofMachine.length === 0) machines.set(machine, ofMachine);
    ofMachine.push({ run, startMs: Date.parse(run.startedAt) });
  }
  return [...machines.values()]
    .flatMap(groupByTime)
    .sort(([a], [b]) => a!.startMs - b!.startMs)
    .map((occasion) => occasion.map(({ run }) => run));
}

interface Started<Run> {
  run: Run;
  startMs: number;
}

function groupByTime<Run extends Dated>(runs: readonly Started<Run>[]): Started<Run>[][] {
  const occasions: Started<Run>[][] = [];
  let endMs = Number.NEGATIVE_INFINITY;
  for (const one of [...runs].sort((a, b) => a.startMs - b.startMs)) {
    if ((one.startMs - endMs) * 1e6 >= occasionGapNs) occasions.push([]);
    occasions.at(-1)!.push(one);
    endMs = Math.max(endMs, one.startMs + (one.run.wallNs ?? 0) / 1e6);
  }
  return occasions;
}
