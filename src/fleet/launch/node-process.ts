import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../../errors.js";
import { readText } from "../../host/files.js";
import { hostname } from "../../host/system.js";
import { measureInFreshProcess } from "../../measure/fresh-process.js";
import { labelsIn } from "../../measure/run.js";
import { finalize } from "../../results/files/store.js";
import type { ResultDocument } from "../../results/schema.js";
import { formatDuration } from "../../settings/units.js";
import { figuresOfNode } from "../node-figures.js";
import {
  claimNode,
  endStates,
  isOrderGone,
  type NodeEnd,
  type NodeStart,
  readOrder,
  writeNodeEnd,
} from "./launch-folder.js";

/** Options of a node besides the folder. */
export interface NodeOptions {
  /** The measuring program, bin/pinbench.js. */
  entry: string;
  /** Renders the file of a result. */
  render: (document: ResultDocument) => string;
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
}

/** How often a node checks that somebody still waits for it. */
const lookEveryMs = 1000;

/** How long after its deadline a measuring process may take to end before it is abandoned (fresh-process.ts). */
const patienceMs = 4000;

/**
 * One node of a fleet: follows the order in `launchFolder` with a process of its own, which may crash or hang, and
 * leaves its result in the parent folder, and its end in `launchFolder`. Resolves when the end is reported, or nobody
 * waits for it any more. Rejects with a PinbenchError if the node cannot begin.
 */
export async function measureAsNode(
  launchFolder: string,
  { entry, render, signal, env }: NodeOptions,
): Promise<void> {
  const startedMs = performance.now();
  const order = await readOrder(launchFolder);
  const start = nodeStart(env);
  const name = await claimNode(launchFolder, start);
  if (name === null) {
    throw new PinbenchError("usage", `another process of this fleet measures on ${start.host} already.`, {
      hint: "Let the launcher start one process a node.",
    });
  }
  const watch = new NodeWatch(launchFolder, order.nodeDeadlineNs, signal);
  let document: ResultDocument | null = null;
  let end: Pick<NodeEnd, "state" | "reason">;
  try {
    const measuring = measureInFreshProcess(order.settings, { entry, signal: watch.signal });
    document = await Promise.race([measuring, watch.patience()]);
    end = watch.ended() ?? outcomeOf(document);
  } catch (error) {
    end = watch.ended() ?? { state: "failed", reason: oneLine(error) };
  } finally {
    watch.stop();
  }
  if (watch.isForgotten) return;
  const isWhole = document !== null && end.state !== "late" && !signal.aborted;
  const file = isWhole ? `${name}.json` : null;
  if (document !== null && file !== null) {
    const { run } = document;
    const labelled = { ...run, ...labelsIn({ ...order.labels, node: start.host }) };
    await finalize(join(launchFolder, "..", file), render({ ...document, run: labelled }));
  }
  await writeNodeEnd(launchFolder, name, {
    ...end,
    file,
    wallNs: Math.round((performance.now() - startedMs) * 1e6),
  });
}

/** The name of a node: from the user, from Slurm, or of the machine. */
export function nodeName(env: NodeJS.ProcessEnv): string {
  return env.PINBENCH_NODE_NAME || env.SLURMD_NODENAME || hostname();
}

function nodeStart(env: NodeJS.ProcessEnv): NodeStart {
  const jobId = number(env.SLURM_JOB_ID);
  return {
    host: nodeName(env),
    bootId: readText("/", "proc/sys/kernel/random/boot_id"),
    slurm:
      jobId === null
        ? null
        : { jobId, stepId: number(env.SLURM_STEP_ID), nodes: env.SLURM_STEP_NODELIST ?? null },
  };
}

function number(text: string | undefined): string | null {
  return text !== undefined && /^\d{1,20}$/.test(text) ? text : null;
}

/** Ends the measuring of a node at its deadline, on an interruption, and if nobody waits for it. */
class NodeWatch {
  isForgotten = false;
  readonly #ending = new AbortController();
  readonly #deadlineNs: number;
  readonly #interruption: AbortSignal;
  readonly #timers: NodeJS.Timeout[];
  #isLate = false;

  constructor(launchFolder: string, deadlineNs: number, interruption: AbortSignal) {
    this.#deadlineNs = deadlineNs;
    this.#interruption = interruption;
    interruption.addEventListener("abort", () => this.#ending.abort(), { once: true });
    if (interruption.aborted) this.#ending.abort();
    const late = () => {
      this.#isLate = true;
      this.#ending.abort();
    };
    const look = async () => {
      if (!(await isOrderGone(launchFolder))) return;
      this.isForgotten = true;
      this.#ending.abort();
    };
    this.#timers = [setTimeout(late, deadlineNs / 1e6), setInterval(look, lookEveryMs)];
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Rejects some time after the end was requested: the kernel may block the measuring process, which then cannot be
   * ended.
   */
  async patience(): Promise<never> {
    await new Promise<void>((resolve) => {
      if (this.signal.aborted) resolve();
      this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await sleep(patienceMs, undefined, { ref: false });
    throw new PinbenchError(
      "measurement",
      "The measuring process on it cannot be ended: it hangs in the kernel.",
    );
  }

  /** How the node ended, if its measuring did not finish. */
  ended(): Pick<NodeEnd, "state" | "reason"> | null {
    if (this.#isLate) {
      return { state: "late", reason: `it was not done ${formatDuration(this.#deadlineNs)} after its start` };
    }
    return this.#interruption.aborted ? { state: "failed", reason: "it was interrupted by a signal" } : null;
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

/** The outcome of a result for its reader. */
function outcomeOf(document: ResultDocument): Pick<NodeEnd, "state" | "reason"> {
  const { state, reason } = figuresOfNode(document, null);
  return { state: endStates.find((one) => one === state) ?? "failed", reason };
}

function oneLine(error: unknown): string {
  if (!(error instanceof PinbenchError)) return String(error);
  return error.hint === null ? error.message : `${error.message} ${error.hint}`;
}
