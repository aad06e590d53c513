import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../../errors.js";
import { hostname } from "../../host/system.js";
import { measureInFreshProcess } from "../../measure/fresh-process.js";
import { labelsIn } from "../../measure/run.js";
import { emulatedHint } from "../../native/backend.js";
import { finalize } from "../../results/files/store.js";
import type { ResultDocument } from "../../results/schema.js";
import { formatDuration } from "../../settings/units.js";
import { figuresOfNode } from "../node-figures.js";
import { claimNode, endStates, isOrderGone, type NodeEnd, readOrder, writeNodeEnd } from "./launch-folder.js";

interface NodeOptions {
  entry: string;
  render: (document: ResultDocument) => string;
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
}

/** Interval at which a node checks whether the order still exists. */
const lookEveryMs = 1000;

/** How long after its deadline the measuring process may take to end, before it is abandoned (fresh-process.ts). */
const patienceMs = 4000;

/**
 * Measures one node of a fleet by the order in `launchFolder`, in a process that may crash or hang. Leaves the result
 * in the parent folder and reports the end in `launchFolder`. Resolves then, or when the order is gone. Rejects with a
 * PinbenchError if the node cannot start.
 */
export async function measureAsNode(
  launchFolder: string,
  { entry, render, signal, env }: NodeOptions,
): Promise<void> {
  const startedMs = performance.now();
  const { settings, labels, nodeDeadlineNs } = await readOrder(launchFolder);
  const host = nodeName(env);
  const name = await claimNode(launchFolder, host);
  if (name === null) {
    throw new PinbenchError("usage", `another process of this fleet measures on ${host} already.`, {
      hint: "Let the launcher start one process a node; PINBENCH_NODE_NAME names nodes whose host names are equal.",
    });
  }
  const ending = new AbortController();
  let cut: Pick<NodeEnd, "state" | "reason"> | "forgotten" | null = null;
  const stop = (outcome: NonNullable<typeof cut>) => {
    cut ??= outcome;
    ending.abort();
  };
  const late = `it was not done ${formatDuration(nodeDeadlineNs)} after its start`;
  const onInterruption = () => stop({ state: "failed", reason: "it was interrupted by a signal" });
  signal.addEventListener("abort", onInterruption, { once: true });
  if (signal.aborted) onInterruption();
  const look = async () => (await isOrderGone(launchFolder)) && stop("forgotten");
  const timers = [
    setTimeout(() => stop({ state: "late", reason: late }), nodeDeadlineNs / 1e6),
    setInterval(look, lookEveryMs),
  ];
  let measured: { document: ResultDocument | null; end: Pick<NodeEnd, "state" | "reason"> };
  try {
    const measuring = measureInFreshProcess(settings, { entry, signal: ending.signal });
    const document = await Promise.race([measuring, patience(ending.signal)]);
    measured = { document, end: outcomeOf(document) };
  } catch (error) {
    measured = { document: null, end: { state: "failed", reason: oneLine(error) } };
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
  // The compiler does not see that it changes during the await.
  const wasCut = cut as NodeEnd | "forgotten" | null;
  if (wasCut === "forgotten") return;
  const { document, end } = measured;
  const file = document !== null && wasCut === null ? `${name}.json` : null;
  if (document !== null && file !== null) {
    const run = { ...document.run, ...labelsIn({ ...labels, node: host }) };
    await finalize(join(launchFolder, "..", file), render({ ...document, run }));
  }
  const wallNs = Math.round((performance.now() - startedMs) * 1e6);
  await writeNodeEnd(launchFolder, name, { ...(wasCut ?? end), file, wallNs });
}

export function nodeName(env: NodeJS.ProcessEnv): string {
  return env.PINBENCH_NODE_NAME || env.SLURMD_NODENAME || hostname();
}

/** Rejects some time after `signal` is aborted: the kernel may block the process, which then cannot be ended. */
async function patience(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }
  await sleep(patienceMs, undefined, { ref: false });
  throw new PinbenchError(
    "measurement",
    "The measuring process on it cannot be ended: it hangs in the kernel.",
  );
}

function outcomeOf(document: ResultDocument): Pick<NodeEnd, "state" | "reason"> {
  const { state, reason } = figuresOfNode(document, null);
  return { state: endStates.find((one) => one === state) ?? "failed", reason };
}

function oneLine(error: unknown): string {
  if (!(error instanceof PinbenchError)) return String(error);
  const text = error.hint === null ? error.message : `${error.message} ${error.hint}`;
  return text.replace(` ${emulatedHint}`, "");
}
