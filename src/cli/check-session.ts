import { setTimeout as sleep } from "node:timers/promises";
import { type ComparisonRequest, compareResults, findSuspects } from "../compare/compare-results.js";
import type { Comparison } from "../compare/comparison.js";
import { findDifferences } from "../compare/differences.js";
import { type ResultSet, type RunFigures, runFigures } from "../compare/result-set.js";
import { repeatInFreshProcesses } from "../measure/repeat.js";
import { jsonReport } from "../report/json.js";
import { counted } from "../report/wording.js";
import type { RepeatSettings } from "../results/repeat-settings.js";
import { entry } from "./entry.js";

export interface CheckPlan {
  baseline: ResultSet;
  cellIds: readonly string[];
  settings: RepeatSettings;
  /** First processes, and as many to confirm. */
  runs: number;
  /** How long to wait before these, for what disturbs the machine to pass. */
  confirmAfterNs: number;
}

/** The measuring part of a check: first processes, then fresh ones for what looks slower. */
export class CheckSession {
  /** The documents of the first processes, as JSON: what --update and --keep write. */
  readonly texts: string[] = [];
  readonly #plan: CheckPlan;
  readonly #signal: AbortSignal;
  readonly #onProgress: (text: string) => void;

  constructor(plan: CheckPlan, signal: AbortSignal, onProgress: (text: string) => void) {
    this.#plan = plan;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  /** Null where it was interrupted. */
  async run(request: Omit<ComparisonRequest, "baseline" | "candidate">): Promise<Comparison | null> {
    const { baseline, cellIds, settings, runs } = this.#plan;
    const first: RunFigures[] = [];
    const isOtherMachine = () =>
      findDifferences(baseline.runs, first, request.rule).some(({ blocks }) => blocks);
    await repeatInFreshProcesses(
      { cellIds, settings, runs, entry },
      (document) => {
        this.texts.push(jsonReport(document));
        first.push(runFigures(document, null));
        // The machine will not become the baseline's by measuring on.
        return isOtherMachine() ? "stop" : undefined;
      },
      (run) => this.#onProgress(`run ${run + 1} of ${runs}, ${counted(cellIds.length, "cell")}`),
      this.#signal,
    );
    if (this.#signal.aborted) return null;
    const measured = { ...request, baseline, candidate: { path: null, runs: first } };
    if (isOtherMachine()) return compareResults(measured);
    const suspects = findSuspects(measured);
    const fresh = await this.#confirm(suspects);
    return this.#signal.aborted ? null : compareResults({ ...measured, fresh, suspects });
  }

  async #confirm(suspects: readonly string[]): Promise<RunFigures[]> {
    const { cellIds, settings, runs, confirmAfterNs } = this.#plan;
    const fresh: RunFigures[] = [];
    if (suspects.length === 0) return fresh;
    this.#onProgress(`waiting to measure ${counted(suspects.length, "suspect")} again`);
    // An abort ends the waiting, and then measures nothing.
    await sleep(confirmAfterNs / 1e6, undefined, { signal: this.#signal }).catch(() => undefined);
    // As much time a cell as before.
    const budgetNs = (settings.budgetNs * suspects.length) / cellIds.length;
    await repeatInFreshProcesses(
      { cellIds: suspects, settings: { ...settings, budgetNs }, runs, entry },
      (document) => {
        fresh.push(runFigures(document, null));
        return undefined;
      },
      (run) =>
        this.#onProgress(`measuring ${counted(suspects.length, "suspect")} again, run ${run + 1} of ${runs}`),
      this.#signal,
    );
    return fresh;
  }
}
