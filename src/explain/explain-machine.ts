import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../errors.js";
import type { DeviceSharing } from "../host/device-sharing.js";
import type { PreparedRun } from "../measure/prepare.js";
import { packageVersion } from "../package-facts.js";
import { noticeOf } from "../results/device-facts.js";
import { formatDuration } from "../settings/units.js";
import { usualPython } from "../tune/training-python.js";
import { type Bench, keepContexts, toolsOn } from "./experiment-tools.js";
import type { ExplainedAnswer, Explanation } from "./explanation.js";
import { explainCommand, type Question } from "./question.js";
import { TorchBench } from "./torch/torch-bench.js";

/** What is asked, on what, since when, and who hears of it. */
export interface ExplainRequest {
  questions: readonly Question[];
  prepared: Pick<PreparedRun, "backend" | "devices">;
  /** Who else uses the devices, of a process that has announced itself; null where nobody else can. */
  sharing: DeviceSharing | null;
  settings: Bench["settings"];
  startedAt: Date;
  startedMs: number;
  signal: AbortSignal;
  /** What is being done, in words. */
  onActivity: (text: string) => void;
}

/**
 * Answers questions one after the other. One that fails, or takes longer than it may, cannot be told, and the others go
 * on. Where `signal` is aborted, the document has what was answered until then.
 */
export async function explainMachine(request: ExplainRequest): Promise<Explanation> {
  const { questions, prepared, signal, startedAt, startedMs } = request;
  const { backend, devices } = prepared;
  const release = await keepContexts(backend, devicesFor(questions, devices));
  const python = request.settings.python ?? usualPython(process.env);
  const torch = new TorchBench(python, devices[0]?.ordinal ?? 0);
  const answers: ExplainedAnswer[] = [];
  try {
    for (const [index, question] of questions.entries()) {
      if (signal.aborted) break;
      const place = `${index + 1} of ${questions.length}`;
      const onActivity = (text: string) => request.onActivity(`${question.name} (${place}): ${text}`);
      request.onActivity(`${question.name} (${place})`);
      const answer = await answerInTime(question, { ...request, torch, onActivity }, signal);
      if (answer !== null) answers.push(answer);
    }
  } finally {
    // A call that hangs holds its context.
    const released = Promise.race([release(), sleep(patienceMs, undefined, { ref: false })]);
    await Promise.all([released, torch.close()]);
  }
  return {
    schemaVersion: 1,
    kind: "explanation",
    tool: { name: "pinbench", version: packageVersion() },
    createdAt: startedAt.toISOString(),
    wallNs: (performance.now() - startedMs) * 1e6,
    backend: backend.name,
    notice: noticeOf(backend.name),
    host: hostname(),
    devices: devices.map(({ ordinal, name }) => ({ ordinal, name })),
    asked: questions.map(({ name }) => name),
    answers,
  };
}

/** The devices that pinbench itself measures on: none for questions about torch, and the first unless one is about several. */
function devicesFor(questions: readonly Question[], devices: PreparedRun["devices"]): PreparedRun["devices"] {
  const needs = questions.map((question) => question.needs);
  if (needs.includes("devices")) return devices;
  return needs.includes("device") ? devices.slice(0, 1) : [];
}

/** How long an experiment that was ended may take to end; a driver's call that does not return is then left alone. */
const patienceMs = 700;

/** Null where the whole was interrupted meanwhile. */
async function answerInTime(
  question: Question,
  bench: Bench,
  signal: AbortSignal,
): Promise<ExplainedAnswer | null> {
  const startedMs = performance.now();
  const end = new AbortController();
  const abort = () => end.abort();
  signal.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(abort, question.mostMs);
  let failure: string | null = null;
  const ended = new Promise<null>((resolve) => {
    end.signal.addEventListener("abort", () => {
      sleep(patienceMs, null, { ref: false }).then(resolve);
    });
  });
  try {
    const { name, title, claim } = question;
    const answer = await Promise.race([question.answer(toolsOn(bench, end.signal)), ended]).catch(
      (error: unknown) => {
        failure = sentenceOf(error);
        return null;
      },
    );
    if (signal.aborted) return null;
    if (end.signal.aborted && answer === null) {
      failure = `It took longer than its limit of ${formatDuration(question.mostMs * 1e6)}.`;
    }
    const wallNs = (performance.now() - startedMs) * 1e6;
    const asked = { question: name, title, claim, parts: [], wallNs };
    if (answer !== null) return { ...asked, ...answer, failure: null };
    return {
      ...asked,
      verdict: "cannot be told",
      figures: [],
      sentences: [failure!],
      command: explainCommand(question, { ...bench.prepared, torch: bench.torch }),
      failure,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** What went wrong as a sentence of its own. */
function sentenceOf(error: unknown): string {
  const hint = error instanceof PinbenchError ? error.hint : null;
  const message = error instanceof Error ? error.message : String(error);
  // A function of the driver's keeps its name.
  const begun = message.replace(/^[a-z](?=[a-z]*\b)/, (letter) => letter.toUpperCase());
  const sentence = /[.!?]$/.test(begun) ? begun : `${begun}.`;
  return hint === null ? sentence : `${sentence} ${hint}`;
}
