import { setTimeout as sleep } from "node:timers/promises";
import { awaitsMoreRuns, compareResults, findSuspects } from "../compare/compare-results.js";
import type { Comparison } from "../compare/comparison.js";
import { findDifferences } from "../compare/differences.js";
import { mostConfirmingRuns } from "../compare/evidence/uneven-runs.js";
import { checkRecord } from "../compare/history/check-record.js";
import {
  type ComparisonRequest,
  type ResultSet,
  type RunFigures,
  runFigures,
} from "../compare/result-set.js";
import { jsonReport } from "../draw/json.js";
import { counted } from "../draw/words.js";
import { measureInFreshProcesses } from "../measure/fresh-process.js";
import { SeriesTime } from "../measure/remaining-time.js";
import { programPath } from "../package-facts.js";
import type { ProgressState, Told } from "../report/progress.js";
import { parseCellId } from "../results/cell-id.js";
import type { HistoryEntry } from "../results/history-entry.js";
import { controlledMemories } from "../settings/choices.js";
import { presets } from "../settings/presets.js";
import type { RunSettings } from "../settings/table.js";
import { median } from "../stats/order-statistics.js";
import { nowNs } from "./output/progress-line.js";

/** What to measure, how often, and whom to tell. */
export interface CheckMeasuringOptions {
  baseline: ResultSet;
  /** With the cells to measure. */
  settings: RunSettings & { cells: readonly string[] };
  /** First processes, and as many to confirm. */
  runs: number;
  /** How long to wait before these, for what disturbs the machine to pass. */
  confirmAfterNs: number;
  signal: AbortSignal;
  /** Told when something begins: makes what is to be said of it at any moment until the next one. */
  onProgress: (state: () => ProgressState) => void;
}

type CheckRequest = Omit<ComparisonRequest, "baseline" | "candidate" | "fresh" | "suspects">;

/** The measuring part of a check: first processes, then fresh ones for what looks slower. */
export class CheckMeasuring {
  /** The documents of the first processes, as JSON: what --update and --keep write. */
  readonly texts: string[] = [];
  readonly #first: RunFigures[] = [];
  #compared: ComparisonRequest | null = null;
  readonly #options: CheckMeasuringOptions;

  constructor(options: CheckMeasuringOptions) {
    this.#options = options;
  }

  /** Null where it was interrupted. */
  async compare(request: CheckRequest): Promise<Comparison | null> {
    const { baseline, settings, signal } = this.#options;
    const first = this.#first;
    // The machine will not become the baseline's by measuring on.
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
    // What the first fresh processes do not settle is measured on.
    const mostFresh = Math.max(this.#options.runs, mostConfirmingRuns);
    const suspected = { ...measured, suspects: suspects.ids, mostFresh };
    const fresh = await this.#confirm(suspected, mostFresh);
    this.#compared = { ...suspected, fresh };
    return signal.aborted ? null : compareResults(this.#compared);
  }

  /** All runs of the check against others than the baseline's. After `compare()`. */
  compareWith(baseline: ResultSet): Comparison {
    if (this.#compared === null) throw new Error("nothing was measured");
    // What is not as these were was not measured again, and cannot be asked to be confirmed.
    return compareResults({ ...this.#compared, command: "compare", baseline });
  }

  /** What an interrupted check can say: its outcome is that it failed. Null before there was a whole run. */
  compareSoFar(request: CheckRequest): Comparison | null {
    if (this.#first.length === 0) return null;
    const reason = `the check ended after ${this.#first.length} of ${this.#options.runs} runs, and confirmed nothing`;
    return compareResults({ ...this.#measured(request), failures: [reason] });
  }

  /** What a history keeps of the check; null where there is nothing that others could be set against. */
  record(comparison: Comparison): HistoryEntry | null {
    if (this.#first.length === 0 || comparison.outcome === "not comparable") return null;
    return checkRecord(this.#first, comparison);
  }

  #measured(request: CheckRequest): ComparisonRequest {
    const candidate = { path: null, runs: this.#first };
    return { ...request, baseline: this.#options.baseline, candidate, suspects: [], fresh: [] };
  }

  /** Measures the suspects again: as often as at first, or until slow runs among these have come again. */
  async #confirm(measured: ComparisonRequest, most: number): Promise<RunFigures[]> {
    const { settings, runs, confirmAfterNs, signal, onProgress } = this.#options;
    const { suspects } = measured;
    const fresh: RunFigures[] = [];
    if (suspects.length === 0) return fresh;
    const what = counted(suspects.length, "suspect");
    const untilNs = nowNs() + confirmAfterNs;
    onProgress(() => ({
      leftNs: untilNs - nowNs(),
      leftOf: `until ${what} ${suspects.length === 1 ? "is" : "are"} measured again`,
      done: { text: `${counted(runs, "run")} done` },
      now: null,
      best: null,
    }));
    // An abort ends the waiting, and then measures nothing.
    await sleep(confirmAfterNs / 1e6, undefined, { signal }).catch(() => undefined);
    const cells = withHostControls(suspects, settings.cells);
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
    describe: (run: number, runs: number) => Told,
    runs = this.#options.runs,
  ) {
    const { signal, onProgress } = this.#options;
    // More than at first are measured only until they have shown what was looked for.
    const isMost = runs > this.#options.runs;
    const time = new SeriesTime(runs, this.#expectedNs(settings));
    for await (const event of measureInFreshProcesses(settings, runs, { entry: programPath, signal })) {
      if (event.kind === "result") {
        time.finish(nowNs());
        yield event.document;
        continue;
      }
      time.next(nowNs());
      const done = describe(event.run + 1, runs);
      onProgress(() => ({ leftNs: time.leftNs(nowNs()), isMost, done, now: null, best: null }));
    }
  }

  /** As long as the baseline's runs of all cells took, by the share of these cells; null where it does not tell. */
  #expectedNs({ cells }: { cells: readonly string[] }): number | null {
    const { baseline, settings } = this.#options;
    const tookNs = baseline.runs.flatMap(({ wallNs }) => wallNs ?? []);
    return tookNs.length === 0 ? null : (median(tookNs) * cells.length) / settings.cells.length;
  }
}

/** The suspects, and the host's own copies as the first runs measured them: only the same cells are a control. */
function withHostControls(suspects: readonly string[], measured: readonly string[]): string[] {
  const isNeeded = suspects
    .map((id) => parseCellId(id).memory)
    .some((memory) => memory === "host" || controlledMemories.includes(memory));
  const controls = isNeeded ? measured.filter((id) => parseCellId(id).memory === "host") : [];
  return [...new Set([...suspects, ...controls])];
}

/** As much time a cell as before: the suspects' part of the whole budget. */
export function confirmingBudgetNs(
  { budgetNs, cells }: RunSettings & { cells: readonly string[] },
  suspects: readonly string[],
): number {
  return ((budgetNs ?? presets.default.budgetNs) * suspects.length) / cells.length;
}
