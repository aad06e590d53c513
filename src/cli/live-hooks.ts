import type { RunHooks } from "../measure/run.js";
import type { Plan } from "../plan/plan.js";
import { type ProgressState, progressLine } from "../report/progress.js";
import { type ReportFormat, renderReport } from "../report/result-formats.js";
import { writePartial } from "../results/store.js";
import { plainChalk } from "./colour.js";
import { ProgressLine } from "./progress-line.js";

export interface Output {
  path: string;
  format: ReportFormat;
}

/** Rewriting every file after every round would take longer than a short round itself. */
const partialEveryMs = 1000;

/**
 * Keeps the progress line alive and FILE.partial up to date while a plan runs. A FILE.partial that cannot be written is
 * given up with a note: it must not cost the measurement.
 */
export function liveHooks(
  plan: Plan,
  outputs: readonly Output[],
  options: { quiet: boolean },
): RunHooks & { clear(): void } {
  const line = new ProgressLine(options);
  const partials = new Set(outputs);
  const startedMs = performance.now();
  let writtenMs = startedMs;
  const state = (now: Partial<ProgressState>): ProgressState => ({
    round: 0,
    convergedCells: 0,
    totalCells: plan.cells.length,
    elapsedNs: (performance.now() - startedMs) * 1e6,
    budgetNs: plan.stopping.samplesPerCell === null ? plan.stopping.budgetNs : null,
    activity: null,
    cell: null,
    bandwidthGBps: null,
    ...now,
  });
  return {
    onActivity: (activity) => line.update((columns) => progressLine(state({ activity }), columns)),
    onCell: (progress, round, all) =>
      line.update((columns) =>
        progressLine(
          state({
            round: round + 1,
            convergedCells: all.filter(({ outcome }) => outcome === "converged").length,
            cell: progress.cell,
            bandwidthGBps: progress.stats.at(-1)?.bandwidthGBps.median ?? null,
          }),
          columns,
        ),
      ),
    onRound: async (document) => {
      if (partials.size === 0 || performance.now() - writtenMs < partialEveryMs) return;
      writtenMs = performance.now();
      const soFar = document();
      for (const output of partials) {
        try {
          await writePartial(output.path, renderReport(soFar, output.format, plainChalk()));
        } catch (error) {
          partials.delete(output);
          if (options.quiet) continue;
          line.clear();
          const reason = error instanceof Error ? error.message : String(error);
          process.stderr.write(`pinbench: ${reason} The run goes on without it.\n`);
        }
      }
    },
    clear: () => line.clear(),
  };
}
