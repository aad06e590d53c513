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
const clearTwoLines = `${clearLine}\u001b[1A\u001b[2K`;

/** Makes a line of at most this many columns from what is known at that moment. */
export type LineText = (columns: number) => string;

/**
 * How far a command has come, on stderr: one live line, and one above it with what it has found, on a terminal; a line every 30 s where stderr is a log, or a terminal
 * that obeys no commands (TERM=dumb). Nothing at all with --quiet or --no-progress.
 */
export class ProgressLine {
  /** Whether anything may be shown, so that it is worth its making. */
  readonly isShown: boolean;
  readonly #isLive: boolean;
  readonly #note = noter({ quiet: false });
  #text: LineText | null = null;
  /** Above it on a terminal; null for nothing. */
  #found: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #drawnMs: number;
  /** Lines that are drawn: none, one, or two. */
  #drawnLines = 0;

  constructor({ quiet, progress }: { quiet: boolean; progress: boolean }) {
    this.isShown = progress && !quiet;
    this.#isLive = process.stderr.isTTY === true && process.env.TERM !== "dumb";
    this.#drawnMs = this.#isLive ? Number.NEGATIVE_INFINITY : performance.now();
  }

  /** Shows this from now on, and again every second; on a terminal below `found`, what is found so far. */
  update(text: LineText, found: string | null = null): void {
    if (!this.isShown) return;
    this.#text = text;
    this.#found = found;
    this.#timer ??= setInterval(() => this.#draw(), tickMs).unref();
    this.#draw();
  }

  /** Takes the line away, until the next update. */
  clear(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#text = null;
    if (this.#drawnLines > 0) process.stderr.write(this.#cleared());
    this.#drawnLines = 0;
  }

  /** What takes away the lines that are drawn. */
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
    const columns = (process.stderr.columns || usualColumns) - 1;
    const lines = [...(this.#found === null ? [] : [this.#found]), this.#text(columns)];
    // A sign that ASCII spells makes the line longer.
    const drawn = lines.map((line) => shownText(line).slice(0, columns)).join("\n");
    process.stderr.write(this.#cleared() + drawn);
    this.#drawnLines = lines.length;
  }
}

/** Now on the clock by which commands reckon what is left: steady, in nanoseconds. */
export function nowNs(): number {
  return performance.now() * 1e6;
}
