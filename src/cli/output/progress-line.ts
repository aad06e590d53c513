import { noter, shownText } from "./terminal.js";

/** Redrawing more often would only flicker. */
const redrawMs = 100;

/** The elapsed time changes even if nothing else does. */
const tickMs = 1000;

/** Interval of lines in a log, and the shortest command that writes any: readers of a log want few lines. */
const logEveryMs = 30_000;

/** Columns if the terminal does not report its width, or reports 0. */
const terminalColumns = 80;

/** Lines of a log are not cut. */
const logColumns = 1000;

const clearLine = "\r\u001b[2K";
const clearTwoLines = `${clearLine}\u001b[1A\u001b[2K`;

type LineText = (columns: number) => string;

/**
 * Progress on stderr. On a terminal it is one live line, and above it a line with the results so far; in a log, or on a
 * terminal without commands (TERM=dumb), a line every 30 s. Nothing with --quiet.
 */
export class ProgressLine {
  /** Whether anything may be shown, so that making it is worthwhile. */
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

  /** Shows this from now on, and refreshes it every second; on a terminal below `found`, the results so far. */
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
    // A sign that ASCII spells out makes the line longer.
    const drawn = lines.map((line) => shownText(line).slice(0, columns)).join("\n");
    process.stderr.write(this.#cleared() + drawn);
    this.#drawnLines = lines.length;
  }
}

/** The steady clock by which commands count the elapsed time, in nanoseconds. */
export function nowNs(): number {
  return performance.now() * 1e6;
}
