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

/** What a load did in one visit of a cell, in units (operations or bytes) a nanosecond: by itself, and during the copies. */
export interface LoadVisit {
  alone: number;
  during: number;
}

/**
 * The loads of one device, of which one runs at a time. It runs on from one visit to the next, so that what it does by
 * itself is measured under the same lasting load as what it does beside the copies: a GPU that was idle is faster for a
 * while, which would look like a loss.
 */
export class BesideLoads {
  readonly #session: NativeSession;
  readonly #limits: LoadLimits;
  #running: { kind: LoadOptions["kind"]; load: NativeLoad; work: LoadWork } | null = null;

  constructor(session: NativeSession, limits: LoadLimits) {
    this.#session = session;
    this.#limits = limits;
  }

  /** Sees to it that this load runs and no other; null for none. Rejects with the NativeError that it meets. */
  async switchTo(kind: LoadOptions["kind"] | null): Promise<void> {
    if (this.#running?.kind === kind) return;
    const before = this.#running;
    this.#running = null;
    // What made it end was told to the cells that it ran beside.
    await before?.load.stop().catch(() => undefined);
    if (kind === null) return;
    const load = await this.#session.startLoad({ kind, ...this.#limits });
    this.#running = { kind, load, work: new LoadWork() };
    await sleep(loadSettlingNs / 1e6);
  }

  /**
   * Measures beside the load that runs, and what that does meanwhile: null where nothing came of the measurement.
   * Rejects with the NativeError of either.
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
    // Nothing can be told of a load that has come to nothing on a machine so busy.
    return [result, alone > 0 ? { alone, during: work.rateIn([during]) } : null];
  }

  /** The span of time in which nothing but the load ran. */
  async #watch(): Promise<Span> {
    const startNs = this.#nowNs();
    await sleep(loadAloneNs / 1e6);
    return { startNs, endNs: this.#nowNs() };
  }

  /** On the session's clock. */
  #nowNs(): number {
    return Number(process.hrtime.bigint()) - this.#session.opening.openedAtNs;
  }
}

/** From the session's zero. */
interface Span {
  startNs: number;
  endNs: number;
}

/** From the first start to the last end of all samples. */
function spanOf(columns: readonly SampleColumns[]): Span {
  let [startNs, endNs] = [Number.POSITIVE_INFINITY, 0];
  for (const column of columns) {
    for (const [i, ns] of column.startNs.entries()) {
      startNs = Math.min(startNs, ns);
      endNs = Math.max(endNs, ns + column.durationNs[i]!);
    }
  }
  return { startNs, endNs };
}

/** Pieces of work that follow one another without a gap, each ending when it was completed. */
class LoadWork {
  #atNs: number[] = [];
  #unitsEach = 0;

  /** Those before the last visit are forgotten but for the last of them, after which the next one began. */
  add({ atNs, unitsEach }: { atNs: Float64Array; unitsEach: number }): void {
    this.#atNs = [...this.#atNs.slice(-1), ...atNs];
    this.#unitsEach = unitsEach;
  }

  /** The part of the span in which all that was done has been completed. */
  completed({ startNs, endNs }: Span): Span {
    return { startNs, endNs: Math.max(startNs, Math.min(endNs, this.#atNs.at(-1) ?? 0)) };
  }

  /** Units done in a nanosecond of the spans; 0 for spans of no length. */
  rateIn(spans: readonly Span[]): number {
    const total = (of: (span: Span) => number) => spans.reduce((sum, span) => sum + of(span), 0);
    const lengthNs = total(({ startNs, endNs }) => endNs - startNs);
    return lengthNs > 0 ? total((span) => this.#within(span)) / lengthNs : 0;
  }

  /** Units done in the span; of a piece that lies in it in part, that part of its own. */
  #within({ startNs, endNs }: Span): number {
    let pieces = 0;
    for (let i = 1; i < this.#atNs.length; ++i) {
      const [begunNs, doneNs] = [this.#atNs[i - 1]!, this.#atNs[i]!];
      const shared = Math.min(doneNs, endNs) - Math.max(begunNs, startNs);
      if (shared > 0) pieces += shared / (doneNs - begunNs);
    }
    return pieces * this.#unitsEach;
  }
}
