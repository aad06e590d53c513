import { setTimeout as sleep } from "node:timers/promises";
import { awaitsMoreRuns, compareResults, findSuspects } from "../compare/compare-results.js";
import type { Comparison } from "../compare/comparison.js";
import { findDifferences } from "../compare/differences.js";
import { checkRecord } from "../compare/history/check-record.js";
import {
  type ComparisonRequest,
  type ResultSet,
  type RunFigures,
  runFigures,
} from "../compare/result-set.js";
import { mostFreshRuns } from "../compare/slow-runs.js";
import { jsonReport } from "../draw/json.js";
import { counted } from "../draw/words.js";
import { measureInFreshProcesses } from "../measure/fresh-process.js";
import { programPath } from "../package-facts.js";
import type { ProgressItem, ProgressState } from "../report/progress.js";
import { parseCellId } from "../results/cell-id.js";
import type { HistoryEntry } from "../results/history-entry.js";
import { steadyMemories } from "../settings/choices.js";
import { presets } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { nowNs } from "./output/progress-line.js";

interface CheckMeasuringOptions {
  baseline: ResultSet;
  /** Includes the cells to measure. */
  settings: RunSettings & { cells: readonly string[] };
  runs: number;
  /** Time to wait before confirming, so that a disturbance can pass. */
  confirmAfterNs: number;
  signal: AbortSignal;
  /** Called at the start of each activity. `state` returns its progress at any time until the next call. */
  onProgress: (state: () => ProgressState) => void;
}

type CheckRequest = Omit<ComparisonRequest, "baseline" | "candidate" | "fresh" | "suspects">;

export class CheckMeasuring {
  readonly texts: string[] = [];
  readonly #first: RunFigures[] = [];
  #compared: ComparisonRequest | null = null;
  readonly #options: CheckMeasuringOptions;

  constructor(options: CheckMeasuringOptions) {
    this.#options = options;
  }

  /** Null if it was interrupted. */
  async compare(request: CheckRequest): Promise<Comparison | null> {
    const { baseline, settings, signal } = this.#options;
    const first = this.#first;
    // More runs cannot make another machine comparable.
    const isOtherMachine = () =>
      findDifferences(baseline.runs, first, request.rule).some(({ blocks }) => blocks);
    const cells = counted(settings.cells.length, "cell");
    for await (const document of this.#measure(settings, (run, runs) => ({
      text: `run ${run} of ${runs}`,
      more: cells,
    }))) {
      this.texts.push(jsonReport(document));
      first.push(runFigures(document, null));
      if (isOtherMachine()) break;
    }
    if (signal.aborted) return null;
    const measured = this.#measured(request);
    this.#compared = measured;
    if (isOtherMachine()) return compareResults(measured);
    const suspects = findSuspects(measured);
    const suspected = { ...measured, suspects: suspects.ids };
    const fresh = await this.#confirm(suspected, suspects.ownIds);
    this.#compared = { ...suspected, fresh };
    return signal.aborted ? null : compareResults(this.#compared);
  }

  /** Compares the check's runs with other runs, such as the baseline's first ones. Call it after `compare()`. */
  compareWith(baseline: ResultSet): Comparison {
    if (this.#compared === null) throw new Error("nothing was measured");
    // Cells that are slower only here were not measured again, so they cannot be confirmed.
    return compareResults({ ...this.#compared, command: "compare", baseline });
  }

  /** The comparison of an interrupted check, with the outcome "failed". Null before the first whole run. */
  compareSoFar(request: CheckRequest): Comparison | null {
    if (this.#first.length === 0) return null;
    const reason = `the check ended after ${this.#first.length} of ${this.#options.runs} runs, and confirmed nothing`;
    return compareResults({ ...this.#measured(request), failures: [reason] });
  }

  /** The check's entry in a history; null without a run, or if the baseline is not comparable. */
  record(comparison: Comparison): HistoryEntry | null {
    if (this.#first.length === 0 || comparison.outcome === "not comparable") return null;
    return checkRecord(this.#first, comparison);
  }

  #measured(request: CheckRequest): ComparisonRequest {
    const candidate = { path: null, runs: this.#first };
    return { ...request, baseline: this.#options.baseline, candidate, suspects: [], fresh: [] };
  }

  /** Measures the suspects again in the check's number of runs; in up to 24 to find slow runs again. */
  async #confirm(measured: ComparisonRequest, suspects: readonly string[]): Promise<RunFigures[]> {
    const { settings, runs, confirmAfterNs, signal, onProgress } = this.#options;
    const most = Math.max(runs, mostFreshRuns);
    const fresh: RunFigures[] = [];
    if (suspects.length === 0) return fresh;
    const what = counted(suspects.length, "suspect");
    const startedNs = nowNs();
    onProgress(() => ({
      elapsedNs: nowNs() - startedNs,
      limitNs: confirmAfterNs,
      done: { text: `waiting to measure ${what} again` },
    }));
    // Ignores the abort that ends the wait early: nothing is measured after it.
    await sleep(confirmAfterNs / 1e6, undefined, { signal }).catch(() => undefined);
    const cells = withControlsOf(suspects, settings.cells);
    const confirming = { ...settings, cells, budgetNs: confirmingBudgetNs(settings, cells) };
    for await (const document of this.#measure(
      confirming,
      (run, of) => ({
        text: `measuring ${what} again`,
        more: `run ${run} of ${most > runs ? `at most ${of}` : of}`,
      }),
      most,
    )) {
      fresh.push(runFigures(document, null));
      if (fresh.length >= runs && !awaitsMoreRuns({ ...measured, fresh })) break;
    }
    return fresh;
  }

  async *#measure(
    settings: RunSettings & { cells: readonly string[] },
    describe: (run: number, runs: number) => ProgressItem,
    runs = this.#options.runs,
  ) {
    const { signal, onProgress } = this.#options;
    const startedNs = nowNs();
    for await (const event of measureInFreshProcesses(settings, runs, { entry: programPath, signal })) {
      if (event.kind === "result") {
        yield event.document;
        continue;
      }
      const done = describe(event.run + 1, runs);
      onProgress(() => ({ elapsedNs: nowNs() - startedNs, limitNs: null, done }));
    }
  }
}

/** The suspects and, if the CPU copies any of them, the first runs' host cells as their control. */
function withControlsOf(suspects: readonly string[], measured: readonly string[]): string[] {
  const isNeeded = suspects
    .map((id) => parseCellId(id).memory)
    .some((memory) => !steadyMemories.includes(memory));
  const controls = isNeeded ? measured.filter((id) => parseCellId(id).memory === "host") : [];
  return [...new Set([...suspects, ...controls])];
}

/** Keeps the measuring time per cell as in the first runs. */
function confirmingBudgetNs(
  { budgetNs, cells }: RunSettings & { cells: readonly string[] },
  suspects: readonly string[],
): number {
  return ((budgetNs ?? presets.default.budgetNs) * suspects.length) / cells.length;
}
