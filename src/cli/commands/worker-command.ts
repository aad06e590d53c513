import { withoutFullStop } from "../../draw/words.js";
import { ExitCode, endingSignals, PinbenchError } from "../../errors.js";
import { Bench } from "../../measure/bench.js";
import {
  sentError,
  type WorkerAnswer,
  type WorkerCall,
  type WorkerCalls,
  type WorkerOptions,
} from "../../measure/worker-messages.js";
import { openBackend } from "../../native/backend.js";
import type { NativeRendezvous, NativeSession, SessionOpening } from "../../native/contract.js";
import { loadAddon } from "../../native/load.js";
import { killAfterPatience } from "../kill-after-patience.js";

/**
 * `pinbench worker`, which other pinbench processes start: a worker with its own context on a device. It answers the
 * calls on its IPC channel until the channel closes because its parent has ended.
 */
export async function workerCommand(): Promise<ExitCode> {
  if (process.send === undefined) {
    throw new PinbenchError("usage", "Only another pinbench process starts a worker process.", {
      hint: "Write pinbench run --worker-kind process.",
    });
  }
  // Ctrl-C and closing a terminal signal all processes, but the parent decides how this one ends.
  for (const signal of endingSignals) process.on(signal, () => undefined);
  const worker = new WorkerLoop();
  const isOver = new Promise<void>((resolve) => {
    process.on("disconnect", resolve);
    if (!process.connected) resolve();
  });
  let answered = Promise.resolve();
  process.on("message", (message: WorkerCall) => {
    if (message.call === "abort") return worker.abort();
    answered = answered.then(async () => send(await worker.answer(message)));
  });
  await isOver;
  killAfterPatience();
  worker.abort();
  await answered;
  await worker.close();
  return ExitCode.ok;
}

/** Drops the answer if the parent is gone: this process is about to end. */
function send(answer: WorkerAnswer): void {
  if (process.connected) process.send?.(answer, () => undefined);
}

class WorkerLoop {
  #bench: Bench | null = null;
  #openRendezvous: ((path: string) => NativeRendezvous) | null = null;
  readonly #rendezvous = new Map<string, NativeRendezvous>();
  readonly #end = new AbortController();

  async answer(message: Exclude<WorkerCall, { call: "abort" }>): Promise<WorkerAnswer> {
    try {
      return { result: await this.#carryOut(message) };
    } catch (error) {
      const sent = sentError(error);
      // The text becomes part of a longer sentence.
      return { error: { ...sent, message: withoutFullStop(sent.message) } };
    }
  }

  abort(): void {
    this.#end.abort();
  }

  async close(): Promise<undefined> {
    const bench = this.#bench;
    this.#bench = null;
    await bench?.close();
    return undefined;
  }

  #carryOut(
    message: Exclude<WorkerCall, { call: "abort" }>,
  ): Promise<WorkerCalls[keyof WorkerCalls]["result"]> {
    switch (message.call) {
      case "open":
        return this.#open(...message.args);
      case "reserveDevice":
        return this.#opened.reserveDevice(...message.args, 1);
      case "reserveHost":
        return this.#opened.reserveHost(...message.args);
      case "reserveStaging":
        return this.#opened.reserveStaging(...message.args);
      case "measure":
        return this.#measure(...message.args);
      case "loadWeights":
        return this.#opened.loadWeights(...message.args);
      case "close":
        return this.close();
    }
  }

  async #open({ backend, session }: WorkerOptions): Promise<SessionOpening> {
    const loaded = loadAddon();
    this.#openRendezvous = (path) => loaded.addon.openRendezvous(path);
    const { driver } = await openBackend(backend, loaded);
    const { device, cpus, threads, numaNode, ...more } = session;
    const placement = { cpus, threads, numaNode };
    this.#bench = await Bench.open({ driver, device, placement, ...more, signal: this.#end.signal });
    return this.#bench.session.opening;
  }

  #measure(...[request, { path, flow }]: WorkerCalls["measure"]["args"]) {
    let rendezvous = this.#rendezvous.get(path);
    if (rendezvous === undefined) {
      rendezvous = this.#openRendezvous!(path);
      this.#rendezvous.set(path, rendezvous);
    }
    return this.#opened.measure({ ...request, company: { rendezvous, flow } });
  }

  get #opened(): NativeSession {
    if (this.#bench === null) throw new Error("the worker's session is not open");
    return this.#bench.session;
  }
}
