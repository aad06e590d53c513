import { setTimeout as sleep } from "node:timers/promises";
import type {
  LoadOptions,
  MeasureResult,
  NativeLoad,
  NativeSession,
  SampleColumns,
} from "../native/contract.js";
import type { LoadLimits } from "../plan/limits.js";
import { loadAloneNs, loadSettlingNs } from "../plan/sampling.js";

/** Rates of a load in one visit of a cell, in units (operations or bytes) per nanosecond: alone, and during copies. */
export interface LoadVisit {
  alone: number;
  during: number;
}

/**
 * The loads of one device, one at a time. A load runs on between visits, so that its rate alone is also measured under
 * sustained load: a GPU that was idle is faster for a while, which would look like a loss.
 */
export class BesideLoads {
  readonly #session: NativeSession;
  readonly #limits: LoadLimits;
  #running: { kind: LoadOptions["kind"]; load: NativeLoad; work: LoadWork } | null = null;

  constructor(session: NativeSession, limits: LoadLimits) {
    this.#session = session;
    this.#limits = limits;
  }

  /** Starts this load and stops any other; null for none. Rejects with a load's NativeError. */
  async switchTo(kind: LoadOptions["kind"] | null): Promise<void> {
    if (this.#running?.kind === kind) return;
    const before = this.#running;
    this.#running = null;
    // Its error was already reported to the cells that used it.
    await before?.load.stop().catch(() => undefined);
    if (kind === null) return;
    const load = await this.#session.startLoad({ kind, ...this.#limits });
    this.#running = { kind, load, work: new LoadWork() };
    await sleep(loadSettlingNs / 1e6);
  }

  /**
   * Measures while the load runs; also returns the load's rates, or null if they are unknown. Rejects with the
   * NativeError of either.
   */
  async visit(measure: () => Promise<MeasureResult>): Promise<[MeasureResult, LoadVisit | null]> {
    const { load, work } = this.#running!;
    const before = await this.#watch();
    const result = await measure();
    const after = await this.#watch();
    work.add(load.completions());
    if (result.aborted) return [result, null];
    const during = spanOf(result.columns);
    const alone = work.rateIn([before, work.completed(after)]);
    // On a busy machine the load may complete nothing, so its rates are unknown.
    return [result, alone > 0 ? { alone, during: work.rateIn([during]) } : null];
  }

  /** Waits; returns the span in which only the load ran. */
  async #watch(): Promise<LoadSpan> {
    const startNs = this.#nowNs();
    await sleep(loadAloneNs / 1e6);
    return { startNs, endNs: this.#nowNs() };
  }

  /** On the session's clock. */
  #nowNs(): number {
    return Number(process.hrtime.bigint()) - this.#session.opening.openedAtNs;
  }
}

/** Times since the session's zero. */
interface LoadSpan {
  startNs: number;
  endNs: number;
}

/** From the first start to the last end of all samples. */
function spanOf(columns: readonly SampleColumns[]): LoadSpan {
  let [startNs, endNs] = [Number.POSITIVE_INFINITY, 0];
  for (const column of columns) {
    for (const [i, ns] of column.startNs.entries()) {
      startNs = Math.min(startNs, ns);
      endNs = Math.max(endNs, ns + column.durationNs[i]!);
    }
  }
  return { startNs, endNs };
}

/** Pieces of work by their times of completion: each begins when the previous one ends. */
class LoadWork {
  #atNs: number[] = [];
  #unitsEach = 0;

  /** Adds pieces and drops earlier ones, except the latest, at whose end the first new one begins. */
  add({ atNs, unitsEach }: { atNs: Float64Array; unitsEach: number }): void {
    this.#atNs = [...this.#atNs.slice(-1), ...atNs];
    this.#unitsEach = unitsEach;
  }

  /** The part of the span up to the last completed piece. */
  completed({ startNs, endNs }: LoadSpan): LoadSpan {
    return { startNs, endNs: Math.max(startNs, Math.min(endNs, this.#atNs.at(-1) ?? 0)) };
  }

  /** Units per nanosecond in the spans; 0 for spans without length. */
  rateIn(spans: readonly LoadSpan[]): number {
    const total = (of: (span: LoadSpan) => number) => spans.reduce((sum, span) => sum + of(span), 0);
    const lengthNs = total(({ startNs, endNs }) => endNs - startNs);
    return lengthNs > 0 ? total((span) => this.#within(span)) / lengthNs : 0;
  }

  /** Units done in the span; a piece partly in it counts in proportion. */
  #within({ startNs, endNs }: LoadSpan): number {
    let pieces = 0;
    for (let i = 1; i < this.#atNs.length; ++i) {
      const [begunNs, doneNs] = [this.#atNs[i - 1]!, this.#atNs[i]!];
      const shared = Math.min(doneNs, endNs) - Math.max(begunNs, startNs);
      if (shared > 0) pieces += shared / (doneNs - begunNs);
    }
    return pieces * this.#unitsEach;
  }
}
