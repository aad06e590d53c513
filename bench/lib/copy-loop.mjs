// The bare copy loop as a process that answers one line of options with one line of durations.
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

  /** Durations in ns, one a sample of `copies` copies. */
  async measure({ direction, memory, timer, sizeBytes, copies, samples, warmup, buffers }) {
    this.#child.stdin.write(
      `--library ${this.library} --direction ${direction} --memory ${memory} --timer ${timer} --size ${sizeBytes} ` +
        `--copies ${copies} --samples ${samples} --warmup ${warmup} --buffers ${buffers}\n`,
    );
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the copy loop ended early");
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(`the copy loop failed: ${answer.error}`);
    return answer.durationNs;
  }

  async close() {
    this.#child.stdin.end();
    await once(this.#child, "close");
  }
}
