import type { MachineNames } from "../results/history-entry.js";

/**
 * Runs that start less than this after the previous run's end share a session. Such processes share the machine's state
 * (other guests' load, clocks, where memory is free), so they say little about an hour later.
 */
export const sessionGapNs = 5 * 60e9;

interface Dated {
  startedAt: string;
  /** Duration; 0 if absent or null. */
  wallNs?: number | null;
  /** Runs on two machines never share a session. */
  machine?: MachineNames;
}

/** Runs by session; runs and sessions are ordered by start. */
export function groupBySession<Run extends Dated>(runs: readonly Run[]): Run[][] {
  const machines = new Map<string, Started<Run>[]>();
  for (const run of runs) {
    const machine = gpuSet(run.machine?.gpuUuids ?? []);
    const ofMachine = machines.get(machine) ?? [];
    if (ofMachine.length === 0) machines.set(machine, ofMachine);
    ofMachine.push({ run, startMs: Date.parse(run.startedAt) });
  }
  return [...machines.values()]
    .flatMap(groupByTime)
    .sort(([a], [b]) => a!.startMs - b!.startMs)
    .map((session) => session.map(({ run }) => run));
}

/** A name for a set of GPUs in any order: CUDA may number them differently. */
function gpuSet(uuids: readonly string[]): string {
  return [...uuids].sort().join();
}

interface Started<Run> {
  run: Run;
  startMs: number;
}

function groupByTime<Run extends Dated>(runs: readonly Started<Run>[]): Started<Run>[][] {
  const sessions: Started<Run>[][] = [];
  let endMs = Number.NEGATIVE_INFINITY;
  for (const one of [...runs].sort((a, b) => a.startMs - b.startMs)) {
    if ((one.startMs - endMs) * 1e6 >= sessionGapNs) sessions.push([]);
    sessions.at(-1)!.push(one);
    endMs = Math.max(endMs, one.startMs + (one.run.wallNs ?? 0) / 1e6);
  }
  return sessions;
}
