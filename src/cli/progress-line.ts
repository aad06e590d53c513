/** Redrawing more often would only flicker. */
const redrawMs = 100;
/** Where the terminal does not tell its width, which it may say is 0. */
const usualColumns = 80;
const clearLine = "\r\u001b[2K";

/** The live line on stderr; nothing at all where stderr is no terminal. */
export class ProgressLine {
  readonly #isLive: boolean;
  #drawnMs = 0;

  constructor(options: { quiet: boolean }) {
    this.#isLive = process.stderr.isTTY === true && !options.quiet;
  }

  /** `text` makes a line of at most so many columns. */
  update(text: (columns: number) => string): void {
    const nowMs = performance.now();
    if (!this.#isLive || nowMs - this.#drawnMs < redrawMs) return;
    this.#drawnMs = nowMs;
    process.stderr.write(clearLine + text((process.stderr.columns || usualColumns) - 1));
  }

  clear(): void {
    if (this.#isLive && this.#drawnMs > 0) process.stderr.write(clearLine);
  }
}
