import { hostname } from "node:os";
import { PinbenchError } from "../errors.js";
import type { DeviceSharing, MeasuringTurn } from "../host/device-sharing.js";
import { usualPython } from "../host/python/python-programs.js";
import { measureInFreshProcess } from "../measure/fresh-process.js";
import { type PreparedRun, prepareRun } from "../measure/prepare.js";
import { Run } from "../measure/run.js";
import { openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { programPath } from "../package-facts.js";
import { selectDevices } from "../plan/facts.js";
import { headOf } from "../results/document-head.js";
import type { ResultDocument } from "../results/schema.js";
import type { CommandSettings } from "../settings/command-settings.js";
import { fillRunSettings } from "../settings/settings.js";
import type { RunSettings } from "../settings/table.js";
import { formatDuration, formatSize } from "../settings/units.js";
import type { ExplainedAnswer, Explanation } from "./explanation.js";
import type { Answer, Question, RunRequest, Tools } from "./question.js";
import { Torch } from "./torch.js";

type Opened = Pick<PreparedRun, "backend" | "devices">;

export interface Experiments {
  prepared: Opened;
  sharing: DeviceSharing | null;
  torch: Torch;
  settings: Pick<CommandSettings<"explain">, "backend" | "python">;
  onActivity: (text: string) => void;
}

/** Opens a driver and chooses devices. Rejects with a PinbenchError if the driver or a device is missing. */
export async function openDevices({
  backend: choice,
  devices,
}: Pick<CommandSettings<"explain">, "backend" | "devices">): Promise<
  Opened & Pick<PreparedRun, "passedOver">
> {
  const loaded = loadAddon();
  const backend = await openBackend(choice, loaded);
  return { backend, passedOver: loaded.passedOver, devices: selectDevices(backend.facts, devices) };
}

/** The tools for one question; `signal` stops them. */
export function toolsOn(experiments: Experiments, signal: AbortSignal): Tools {
  const { prepared, sharing, torch, onActivity } = experiments;
  return {
    signal,
    onActivity,
    backend: prepared.backend,
    devices: prepared.devices,
    torch,
    run: async (request) => {
      const call = { argv: [], startedAt: new Date(), startedMs: performance.now() };
      const run = new Run({ ...call, ...(await prepareRun(settingsOf(experiments, request))), sharing });
      for await (const event of run.measure(signal)) {
        if (event.kind !== "visit") continue;
        const { memory, sizeBytes } = event.progress.cell;
        onActivity(`${memory} copies of ${formatSize(sizeBytes)}`);
      }
      return wholeResult(run.document());
    },
    runInFreshProcess: async (request) =>
      wholeResult(
        await measureInFreshProcess(settingsOf(experiments, request), { entry: programPath, signal }),
      ),
  };
}

/** Settings of a run: on the first chosen device, unless the request names others. */
function settingsOf({ settings, prepared: { devices } }: Experiments, request: RunRequest): RunSettings {
  const { backend } = settings;
  return fillRunSettings({
    origin: "caller",
    values: { backend, ...(devices[0] === undefined ? {} : { devices: [devices[0].ordinal] }), ...request },
  });
}

/** Returns the document; throws a PinbenchError if it is incomplete, or has failures or wrong data. */
export function wholeResult(document: ResultDocument): ResultDocument {
  const { status, error } = document.run;
  if (status === "aborted") throw new PinbenchError("measurement", "the measurement was cut short.");
  if (error !== null) throw new PinbenchError("measurement", error.message);
  for (const cell of document.cells) {
    if (cell.outcome === "mismatch") {
      throw new PinbenchError("wrongData", `data came back wrong from ${cell.id}.`);
    }
    if (cell.error !== null) throw new PinbenchError("measurement", cell.error.message);
  }
  return document;
}

interface ExplainRequest extends Omit<MeasuringTurn<Opened>, "countedFromMs">, Pick<Experiments, "settings"> {
  questions: readonly Question[];
  /** Time limit of a question in milliseconds; after it, the claim is inconclusive. */
  mostMs?: number;
}

/**
 * Answers questions one after the other. A question that fails or takes too long is inconclusive, and the next one
 * follows. If `signal` is aborted, the document has the answers so far.
 */
export async function explainMachine(request: ExplainRequest): Promise<Explanation> {
  const { questions, prepared, signal, startedAt, startedMs, mostMs = 30_000 } = request;
  const { backend, devices } = prepared;
  const torch = new Torch(request.settings.python ?? usualPython(process.env), devices[0]?.ordinal ?? 0);
  const answers: ExplainedAnswer[] = [];
  try {
    for (const [index, question] of questions.entries()) {
      if (signal.aborted) break;
      const progress = `${question.name} (${index + 1} of ${questions.length})`;
      const onActivity = (text: string) => request.onActivity(`${progress}: ${text}`);
      request.onActivity(progress);
      const answer = await answerInTime(question, { ...request, torch, onActivity }, mostMs, signal);
      if (answer !== null) answers.push(answer);
    }
  } finally {
    await torch.close();
  }
  return {
    ...headOf("explanation", {
      ...{ backend: backend.name, host: hostname(), createdAt: startedAt },
      wallNs: (performance.now() - startedMs) * 1e6,
    }),
    devices: devices.map(({ ordinal, name }) => ({ ordinal, name })),
    asked: questions.map(({ name }) => name),
    answers,
  };
}

/** Time for a stopped experiment to end, before a hanging driver call is abandoned. */
const patienceMs = 700;

/** The answer to a question; null if the whole command was interrupted. */
async function answerInTime(
  question: Question,
  experiments: Experiments,
  mostMs: number,
  signal: AbortSignal,
): Promise<ExplainedAnswer | null> {
  const { name, title, claim } = question;
  const startedMs = performance.now();
  const timeout = AbortSignal.timeout(mostMs);
  const end = AbortSignal.any([signal, timeout]);
  let answer: Answer;
  let isLacking = false;
  let reason: Pick<ExplainedAnswer, "failure" | "hasWrongData"> = { failure: null, hasWrongData: false };
  try {
    const abandoned = new Promise<never>((_, reject) => {
      end.addEventListener("abort", () => setTimeout(() => reject(end.reason), patienceMs).unref());
    });
    answer = await Promise.race([question.answer(toolsOn(experiments, end)), abandoned]);
  } catch (error) {
    const summary = timeout.aborted
      ? `It took longer than its limit of ${formatDuration(mostMs * 1e6)}.`
      : sentenceOf(error);
    answer = { holds: null, summary, figures: [] };
    const kind = error instanceof PinbenchError && !timeout.aborted ? error.kind : null;
    isLacking = kind === "unavailable";
    if (!isLacking) reason = { failure: summary, hasWrongData: kind === "wrongData" };
  }
  if (signal.aborted) return null;
  const { holds, ...found } = answer;
  return {
    ...{ question: name, title, claim, ...found, ...reason },
    verdict: isLacking ? "not run" : holds === null ? "inconclusive" : holds ? "true" : "not here",
    wallNs: (performance.now() - startedMs) * 1e6,
  };
}

function sentenceOf(error: unknown): string {
  const hint = error instanceof PinbenchError ? error.hint : null;
  const message = error instanceof Error ? error.message : String(error);
  // Driver functions such as cuInit keep their spelling.
  const begun = message.replace(/^[a-z](?=[a-z]*\b)/, (letter) => letter.toUpperCase());
  const sentence = /[.!?]$/.test(begun) ? begun : `${begun}.`;
  return hint === null ? sentence : `${sentence} ${hint}`;
}
