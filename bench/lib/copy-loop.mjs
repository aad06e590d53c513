// The bare copy loop as a process, which answers a line of options with a line of measurements.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../build/Release/copy_loop", import.meta.url));

export class CopyLoop {
  #child;
  #lines;

  constructor(library) {
    this.library = library;
    this.#child = spawn(program, ["--serve"], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** The duration of each sample of `copies` copies, in ns. */
  async measure({ direction, memory, sizeBytes, copies, samples, warmup, buffers }) {
    const { durationNs } = await this.#ask({
      direction,
      memory,
      size: sizeBytes,
      copies,
      samples,
      warmup,
      buffers,
    });
    return durationNs;
  }

  /** GB/s from `startAtNs` (on the clock of process.hrtime.bigint()) for `runForNs`. */
  async measureFrom(startAtNs, { direction, memory, sizeBytes, copies, warmup, buffers, runForNs }) {
    const run = await this.#ask({
      direction,
      memory,
      size: sizeBytes,
      copies,
      warmup,
      buffers,
      "start-at": startAtNs,
      "run-for": runForNs,
    });
    return (run.copies * sizeBytes) / (run.endNs - run.startNs);
  }

  async #ask(options) {
    const words = Object.entries({ library: this.library, ...options }).map(
      ([name, value]) => `--${name} ${value}`,
    );
    this.#child.stdin.write(`${words.join(" ")}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the copy loop ended early");
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(`the copy loop failed: ${answer.error}`);
    return answer;
  }

  async close() {
    this.#child.stdin.end();
    await once(this.#child, "close");
  }
}
