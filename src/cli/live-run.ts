import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessSeries } from "../measure/process-series.js";
import type { RunEvent } from "../measure/rounds.js";
import type { Run } from "../measure/run.js";
import { programPath } from "../package-facts.js";
import type { Plan } from "../plan/plan.js";
import { type ProgressState, progressLine } from "../report/progress.js";
import { renderReport } from "../report/result-formats.js";
import type { Screen } from "../report/screen.js";
import { counted } from "../report/wording.js";
import type { ResultDocument } from "../results/schema.js";
import { writePartial } from "../results/store.js";
import type { ReportFormat } from "../settings/choices.js";
import type { Output } from "./delivery.js";
import { noter, ProgressLine } from "./terminal.js";

/** Which files a run is to be kept in while it goes on, what is said of it, and what ends it. */
export interface ShowOptions {
  outputs: readonly Output<ReportFormat>[];
  /** What the files show. */
  screen: Screen;
  progress: boolean;
  quiet: boolean;
  signal: AbortSignal;
}

/**
 * Measures a run to its end, and keeps the progress line alive and every FILE.partial up to date meanwhile. Rejects
 * with what the run rejects with.
 */
export async function showRun(
  run: Run,
  plan: Plan,
  { outputs, screen, quiet, progress, signal }: ShowOptions,
): Promise<void> {
  const line = new ProgressLine({ quiet, progress });
  const partials = new Partials(outputs, screen, (text) => {
    line.clear();
    noter({ quiet })(text);
  });
  const startedMs = performance.now();
  const measuring = (async () => {
    for await (const event of run.measure(signal)) {
      if (event.kind === "round") await partials.write(() => run.document());
      else line.update((columns) => progressLine(progressOf(event, run, plan, startedMs), columns));
    }
  })();
  try {
    const isOver = await Promise.race([measuring.then(() => true), afterAbort(signal, patienceMs)]);
    if (!isOver) run.abandon();
  } finally {
    line.clear();
  }
}

/** As showRun(), of a plan that several processes carry out one after the other. */
export async function showProcesses(
  series: ProcessSeries,
  { cells, processes }: { cells: number; processes: number },
  { outputs, screen, quiet, progress, signal }: ShowOptions,
): Promise<void> {
  const line = new ProgressLine({ quiet, progress });
  const partials = new Partials(outputs, screen, (text) => {
    line.clear();
    noter({ quiet })(text);
  });
  try {
    for await (const _ of series.measure(programPath, signal)) {
      if (series.done > 0) await partials.write(() => series.document());
      const text = `process ${Math.min(series.done + 1, processes)} of ${processes}, ${counted(cells, "cell")}`;
      line.update((columns) => text.slice(0, columns));
    }
  } finally {
    line.clear();
  }
}

/** How long an interrupted run may wait for the driver's call in flight. */
const patienceMs = 1000;

/** False so long after an abort; without one it stays pending. */
async function afterAbort(signal: AbortSignal, delayMs: number): Promise<false> {
  if (!signal.aborted) await once(signal, "abort");
  return sleep(delayMs, false, { ref: false });
}

function progressOf(
  event: Exclude<RunEvent, { kind: "round" }>,
  { cells }: Run,
  { stopping }: Plan,
  startedMs: number,
): ProgressState {
  const isVisit = event.kind === "visit";
  return {
    round: isVisit ? event.round + 1 : 0,
    convergedCells: isVisit ? cells.filter(({ outcome }) => outcome === "converged").length : 0,
    totalCells: cells.length,
    elapsedNs: (performance.now() - startedMs) * 1e6,
    budgetNs: stopping.samplesPerCell === null ? stopping.budgetNs : null,
    activity: isVisit ? null : event.activity,
    cell: isVisit ? event.progress.cell : null,
    bandwidthGBps: isVisit ? (event.progress.stats.at(-1)?.bandwidthGBps.median ?? null) : null,
  };
}

/** Rewriting every file after every round would take longer than a short round itself. */
const partialEveryMs = 1000;

/** Nor may it take more than so much of the time: the text of ten thousand cells takes seconds. */
const mostTimeShare = 0.05;

/**
 * What a run has so far, in FILE.partial beside every file that it will write. One that cannot be written is given up
 * with a note: it must not cost the measurement.
 */
class Partials {
  readonly #outputs: Set<Output<ReportFormat>>;
  readonly #screen: Screen;
  readonly #note: (text: string) => void;
  #nextMs = performance.now() + partialEveryMs;

  constructor(outputs: readonly Output<ReportFormat>[], screen: Screen, note: (text: string) => void) {
    this.#outputs = new Set(outputs);
    this.#screen = screen;
    this.#note = note;
  }

  async write(documentSoFar: () => ResultDocument): Promise<void> {
    const startedMs = performance.now();
    if (this.#outputs.size === 0 || startedMs < this.#nextMs) return;
    const document = documentSoFar();
    for (const output of this.#outputs) {
      try {
        await writePartial(output.path, renderReport(document, output.format, this.#screen));
      } catch (error) {
        this.#outputs.delete(output);
        this.#note(`${error instanceof Error ? error.message : String(error)} The run goes on without it.`);
      }
    }
    const tookMs = performance.now() - startedMs;
    this.#nextMs = startedMs + Math.max(partialEveryMs, tookMs / mostTimeShare);
  }
}
