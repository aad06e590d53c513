import { setTimeout as sleep } from "node:timers/promises";
import { drawDocument, type Show } from "../draw/document-kind.js";
import { formatGBps } from "../draw/numbers.js";
import type { Screen } from "../draw/screen.js";
import { counted } from "../draw/words.js";
import type { ProcessSeries } from "../measure/process-series.js";
import type { RunEvent } from "../measure/rounds.js";
import type { Run } from "../measure/run.js";
import { programPath } from "../package-facts.js";
import type { Plan } from "../plan/plan.js";
import { leastRounds } from "../plan/sampling.js";
import { preliminaryFigures } from "../report/findings/headline.js";
import { bestOf, type ProgressItem, type ProgressState, progressLine } from "../report/progress.js";
import { resultKind } from "../report/result-report.js";
import { writePartial } from "../results/files/store.js";
import { cellNames, type NameOfCell } from "../results/naming/wording.js";
import type { ResultDocument } from "../results/schema.js";
import type { FormatOf } from "../settings/document-formats.js";
import { aborted, callPatienceMs } from "./interruption.js";
import type { Output } from "./output/document-output.js";
import { nowNs, type ProgressLine } from "./output/progress-line.js";
import { noter } from "./output/terminal.js";

export interface ShowRunOptions {
  outputs: readonly Output<FormatOf<"result">>[];
  screen: Screen;
  line: ProgressLine;
  quiet: boolean;
  signal: AbortSignal;
}

/** Measures a run to its end. Meanwhile updates the progress line and every FILE.partial. Rejects like the run. */
export async function showRun(run: Run, plan: Plan, options: ShowRunOptions): Promise<void> {
  const { line, signal } = options;
  const partials = new Partials(options);
  const shown = line.isShown ? new RunProgressLine(run, plan) : null;
  const measuring = (async () => {
    for await (const event of run.measure(signal)) {
      shown?.note(event);
      if (event.kind === "round") await partials.write(() => run.document());
      else if (shown !== null) line.update((columns) => progressLine(shown.state(), columns), shown.found());
    }
  })();
  try {
    const isOver = await Promise.race([
      measuring.then(() => true),
      aborted(signal).then(() => sleep(callPatienceMs, false, { ref: false })),
    ]);
    if (!isOver) run.abandon();
  } finally {
    line.clear();
  }
}

export async function showProcesses(
  series: ProcessSeries,
  { plan, runs }: { plan: Plan; runs: number },
  options: ShowRunOptions,
): Promise<void> {
  const { line, signal } = options;
  const partials = new Partials(options);
  const { cells } = plan;
  const startedNs = nowNs();
  const limitNs = limitOf(plan, runs);
  const nameOf = cellNames(cells.map(({ id }) => id));
  try {
    for await (const _ of series.measure(programPath, signal)) {
      if (series.done > 0) await partials.write(() => series.document());
      const text = `run ${Math.min(series.done + 1, runs)} of ${runs}`;
      const done = { text, more: counted(cells.length, "cell") };
      const best = line.isShown && series.done > 0 ? bestOf(series.document().cells, nameOf) : null;
      line.update((columns) =>
        progressLine({ elapsedNs: nowNs() - startedNs, limitNs, done, best }, columns),
      );
    }
  } finally {
    line.clear();
  }
}

function limitOf({ stopping }: Plan, runs = 1): number | null {
  return stopping.samplesPerCell === null ? runs * stopping.budgetNs : null;
}

const foundEveryMs = 250;

class RunProgressLine {
  readonly #run: Run;
  readonly #startedNs = nowNs();
  readonly #limitNs: number | null;
  readonly #nameOf: NameOfCell;
  readonly #samplesPerCell: number | null;
  #event: Exclude<RunEvent, { kind: "round" }> | null = null;
  #found: string | null = null;
  #nextFoundMs = 0;

  constructor(run: Run, plan: Plan) {
    this.#run = run;
    this.#limitNs = limitOf(plan);
    this.#samplesPerCell = plan.stopping.samplesPerCell;
    this.#nameOf = cellNames(plan.cells.map(({ id }) => id));
  }

  note(event: RunEvent): void {
    if (event.kind !== "round") this.#event = event;
  }

  /** The main rates so far; null at first. Refreshed only occasionally, because each refresh builds a document. */
  found(): string | null {
    const startedMs = performance.now();
    if (startedMs < this.#nextFoundMs) return this.#found;
    this.#found = preliminaryFigures(this.#run.document());
    const tookMs = performance.now() - startedMs;
    this.#nextFoundMs = startedMs + Math.max(foundEveryMs, tookMs / mostTimeShare);
    return this.#found;
  }

  state(): ProgressState {
    return {
      elapsedNs: nowNs() - this.#startedNs,
      limitNs: this.#limitNs,
      done: this.#done(),
      now: this.#now(),
      best: bestOf(
        this.#run.cells.map(({ cell, stats }) => ({ ...cell, stats })),
        this.#nameOf,
      ),
    };
  }

  /** The finished part: converged cells; samples if their number is fixed, because cells then do not converge. */
  #done(): ProgressItem {
    const cells = this.#run.cells.filter(({ outcome }) => outcome !== "skipped");
    const samples = this.#samplesPerCell;
    const text =
      samples === null
        ? `${cells.filter(({ outcome }) => outcome === "converged").length} of ${counted(cells.length, "cell")} converged`
        : `${cells.reduce((sum, { taken }) => sum + taken, 0)} of ${counted(cells.length * samples, "sample")} taken`;
    return this.#event?.kind === "visit" ? { text, more: describeRound(this.#event.round + 1) } : { text };
  }

  #now(): ProgressItem | null {
    if (this.#event === null) return null;
    if (this.#event.kind === "activity") return { text: this.#event.activity };
    const { cell, stats } = this.#event.progress;
    const [last] = stats.slice(-1);
    const text = this.#nameOf(cell.id);
    return last === undefined ? { text } : { text, more: `${formatGBps(last.bandwidthGBps.median)} GB/s` };
  }
}

/** Every cell takes part in the first rounds; the intervals decide on further ones. */
export function describeRound(round: number): string {
  return round > leastRounds ? `round ${round}` : `round ${round} of at least ${leastRounds}`;
}

/** Shortest time between writes of FILE.partial: rewriting every file takes longer than a short round. */
const partialEveryMs = 1000;

/** Largest share of time for drawing, because the text of ten thousand cells takes seconds. */
const mostTimeShare = 0.05;

/** If a FILE.partial cannot be written, reports it and gives it up, so that the measurement goes on. */
class Partials {
  readonly #outputs: Set<Output<FormatOf<"result">>>;
  readonly #show: Show;
  readonly #note: (text: string) => void;
  #nextMs = performance.now() + partialEveryMs;

  constructor({ outputs, screen, line, quiet }: ShowRunOptions) {
    this.#outputs = new Set(outputs);
    this.#show = { screen };
    this.#note = (text) => {
      line.clear();
      noter({ quiet })(text);
    };
  }

  async write(documentSoFar: () => ResultDocument): Promise<void> {
    const startedMs = performance.now();
    if (this.#outputs.size === 0 || startedMs < this.#nextMs) return;
    const document = documentSoFar();
    for (const output of this.#outputs) {
      try {
        await writePartial(output.path, drawDocument(resultKind, document, output.format, this.#show));
      } catch (error) {
        this.#outputs.delete(output);
        this.#note(`${error instanceof Error ? error.message : String(error)} The run goes on without it.`);
      }
    }
    const tookMs = performance.now() - startedMs;
    this.#nextMs = startedMs + Math.max(partialEveryMs, tookMs / mostTimeShare);
  }
}
