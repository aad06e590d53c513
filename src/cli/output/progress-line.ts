import { noter, shownText } from "./terminal.js";

/** Redrawing more often would only flicker. */
const redrawMs = 100;

/** Time goes by also where nothing else happens. */
const tickMs = 1000;

/** How often a log gets a line, and the shortest command that writes any: readers of a log want few lines. */
const logEveryMs = 30_000;

/** Where the terminal does not tell its width, which it may say is 0. */
const usualColumns = 80;

/** No line of a log is cut short. */
const logColumns = 1000;

const clearLine = "\r\u001b[2K";

/** Makes a line of at most this many columns from what is known at that moment. */
export type LineText = (columns: number) => string;

/**
 * How far a command has come, on stderr: one live line on a terminal; a line every 30 s where stderr is a log, or a terminal
 * that obeys no commands (TERM=dumb). Nothing at all with --quiet or --no-progress.
 */
export class ProgressLine {
  /** Whether anything may be shown, so that it is worth its making. */
  readonly isShown: boolean;
  readonly #isLive: boolean;
  readonly #note = noter({ quiet: false });
  #text: LineText | null = null;
  #timer: NodeJS.Timeout | null = null;
  #drawnMs: number;
  #isDrawn = false;

  constructor({ quiet, progress }: { quiet: boolean; progress: boolean }) {
    this.isShown = progress && !quiet;
    this.#isLive = process.stderr.isTTY === true && process.env.TERM !== "dumb";
    this.#drawnMs = this.#isLive ? Number.NEGATIVE_INFINITY : performance.now();
  }

  /** Shows this from now on, and again every second. */
  update(text: LineText): void {
    if (!this.isShown) return;
    this.#text = text;
    this.#timer ??= setInterval(() => this.#draw(), tickMs).unref();
    this.#draw();
  }

  /** Takes the line away, until the next update. */
  clear(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#text = null;
    if (this.#isDrawn) process.stderr.write(clearLine);
    this.#isDrawn = false;
  }

  #draw(): void {
    const nowMs = performance.now();
    if (this.#text === null || nowMs - this.#drawnMs < (this.#isLive ? redrawMs : logEveryMs)) return;
    this.#drawnMs = nowMs;
    if (!this.#isLive) {
      this.#note(this.#text(logColumns));
      return;
    }
    const columns = (process.stderr.columns || usualColumns) - 1;
    // A sign that ASCII spells makes the line longer.
    process.stderr.write(clearLine + shownText(this.#text(columns)).slice(0, columns));
    this.#isDrawn = true;
  }
}

/** Now on the clock by which commands reckon what is left: steady, in nanoseconds. */
export function nowNs(): number {
  return performance.now() * 1e6;
}
