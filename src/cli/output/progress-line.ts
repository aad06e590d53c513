import { noter, shownText } from "./terminal.js";

/** Redrawing more often would only flicker. */
const redrawMs = 100;

/** Redraws at least this often, because the elapsed time changes. */
const tickMs = 1000;

/** Interval between lines in a log, where readers want few. Shorter commands write none. */
const logEveryMs = 30_000;

/** Assumed if the terminal reports no width, or 0. */
const terminalColumns = 80;

/** Lines of a log are not cut. */
const logColumns = 1000;

const clearLine = "\r\u001b[2K";
const clearTwoLines = `${clearLine}\u001b[1A\u001b[2K`;

type LineText = (columns: number) => string;

/**
 * Progress on stderr. A terminal shows one live line, below a line with the results so far. A log, or a terminal
 * without control sequences (TERM=dumb), gets a line every 30 s. Silent with --quiet.
 */
export class ProgressLine {
  /** Whether progress is shown, so that it is worth computing. */
  readonly isShown: boolean;
  readonly #isLive: boolean;
  readonly #note = noter({ quiet: false });
  #text: LineText | null = null;
  /** The line above it on a terminal; null for none. */
  #found: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #drawnMs: number;
  #drawnLines = 0;

  constructor({ quiet }: { quiet: boolean }) {
    this.isShown = !quiet;
    this.#isLive = process.stderr.isTTY === true && process.env.TERM !== "dumb";
    this.#drawnMs = this.#isLive ? Number.NEGATIVE_INFINITY : performance.now();
  }

  /** Shows this text and refreshes it every second. `found`, the results so far, is above it on a terminal. */
  update(text: LineText, found: string | null = null): void {
    if (!this.isShown) return;
    this.#text = text;
    this.#found = found;
    this.#timer ??= setInterval(() => this.#draw(), tickMs).unref();
    this.#draw();
  }

  clear(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#text = null;
    if (this.#drawnLines > 0) process.stderr.write(this.#cleared());
    this.#drawnLines = 0;
  }

  #cleared(): string {
    return this.#drawnLines > 1 ? clearTwoLines : clearLine;
  }

  #draw(): void {
    const nowMs = performance.now();
    if (this.#text === null || nowMs - this.#drawnMs < (this.#isLive ? redrawMs : logEveryMs)) return;
    this.#drawnMs = nowMs;
    if (!this.#isLive) {
      this.#note(this.#text(logColumns));
      return;
    }
    const columns = (process.stderr.columns || terminalColumns) - 1;
    const lines = [...(this.#found === null ? [] : [this.#found]), this.#text(columns)];
    // Cut after conversion, because signs spelled out in ASCII are longer.
    const drawn = lines.map((line) => shownText(line).slice(0, columns)).join("\n");
    process.stderr.write(this.#cleared() + drawn);
    this.#drawnLines = lines.length;
  }
}

/** The time in ns on the steady clock, for the elapsed time. */
export function nowNs(): number {
  return performance.now() * 1e6;
}
