import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { PinbenchError } from "../errors.js";
import type { DeviceSharing, MeasuringTurn } from "../host/device-sharing.js";
import { choosePlacement } from "../host/topology.js";
import { measureInFreshProcess } from "../measure/fresh-process.js";
import { type PreparedRun, prepareRun } from "../measure/prepare.js";
import { Run } from "../measure/run.js";
import { openBackend, patternSeed } from "../native/backend.js";
import type { NativeSession } from "../native/contract.js";
import { loadAddon } from "../native/load.js";
import { packageVersion, programPath } from "../package-facts.js";
import { selectDevices } from "../plan/facts.js";
import { noticeOf } from "../results/device-facts.js";
import type { ResultDocument } from "../results/schema.js";
import type { BackendChoice } from "../settings/choices.js";
import { fillRunSettings } from "../settings/settings.js";
import type { RunSettings } from "../settings/table.js";
import { formatDuration, formatSize } from "../settings/units.js";
import { usualPython } from "../tune/python-programs.js";
import type { ExplainedAnswer, Explanation } from "./explanation.js";
import { commandOf, explainCommand, type Question, type RunRequest, type Tools } from "./question.js";
import { TorchBench } from "./torch/torch-bench.js";

/** What all questions share to find their answers. */
export interface Bench {
  prepared: Pick<PreparedRun, "backend" | "devices">;
  sharing: DeviceSharing | null;
  torch: TorchBench;
  /** Settings chosen by the caller. */
  settings: { backend: BackendChoice; python: string | null };
  onActivity: (text: string) => void;
}

/** Opens a driver, and chooses the devices. Rejects with a PinbenchError if the driver or a device is missing. */
export async function openDevices({
  backend: choice,
  devices: wanted,
}: {
  backend: BackendChoice;
  devices: readonly number[] | "all";
}): Promise<Pick<PreparedRun, "backend" | "devices" | "passedOver">> {
  const loaded = loadAddon();
  const backend = await openBackend(choice, loaded);
  const { devices } = backend.facts;
  const ordinals = selectDevices(
    { devices: devices.map((device) => ({ ...device, freeMemoryBytes: null })) },
    wanted,
  ).map(({ ordinal }) => ordinal);
  const { passedOver } = loaded;
  return { backend, passedOver, devices: devices.filter(({ ordinal }) => ordinals.includes(ordinal)) };
}

/** The tools of one question, which stop with `signal`. */
export function toolsOn(bench: Bench, signal: AbortSignal): Tools {
  const { prepared, onActivity } = bench;
  return {
    signal,
    onActivity,
    backend: prepared.backend,
    devices: prepared.devices,
    torch: bench.torch,
    run: async (request) => {
      const call = { argv: [], startedAt: new Date(), startedMs: performance.now() };
      const planned = await prepareRun(settingsOf(bench, request));
      const run = new Run({ ...call, ...planned, sharing: bench.sharing });
      for await (const event of run.measure(signal)) {
        if (event.kind !== "visit") continue;
        const { memory, sizeBytes } = event.progress.cell;
        onActivity(`${memory} copies of ${formatSize(sizeBytes)}`);
      }
      return wholeResult(run.document());
    },
    runInFreshProcess: async (request) =>
      wholeResult(await measureInFreshProcess(settingsOf(bench, request), { entry: programPath, signal })),
    inSession: (work) => inSession(prepared, signal, work),
    commandFor: (request) => commandOf(withBench(bench, request), prepared.backend.name === "emulated"),
  };
}

async function inSession<Result>(
  { backend, devices: [device] }: Bench["prepared"],
  signal: AbortSignal,
  work: (session: NativeSession) => Promise<Result>,
): Promise<Result> {
  if (device === undefined) throw new PinbenchError("unavailable", "there is no device.");
  const { cpus, threads } = choosePlacement(device.pciBusId, "local");
  const options = { device: device.ordinal, cpus, threads, numaNode: null, seed: patternSeed };
  const session = await backend.driver.openSession(options);
  const abort = () => session.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    return await work(session);
  } finally {
    signal.removeEventListener("abort", abort);
    await session.close();
  }
}

/**
 * Keeps the contexts of devices open during the questions, so that runs need not create new ones. Resolves with a
 * function that releases them. The run reports a device that cannot be opened.
 */
export async function keepContexts(
  backend: PreparedRun["backend"],
  devices: PreparedRun["devices"],
): Promise<() => Promise<void>> {
  const sessions: NativeSession[] = [];
  for (const { ordinal, pciBusId } of devices) {
    const { cpus } = choosePlacement(pciBusId, "local");
    const options = { device: ordinal, cpus, threads: 1, numaNode: null, seed: patternSeed };
    const session = await backend.driver.openSession(options).catch(() => null);
    if (session !== null) sessions.push(session);
  }
  return async () => {
    await Promise.allSettled(sessions.map((session) => session.close()));
  };
}

function settingsOf(bench: Bench, request: RunRequest): RunSettings {
  const { backend } = bench.settings;
  return fillRunSettings({ origin: "caller", given: { backend, ...withBench(bench, request) } });
}

/** The request for the chosen devices. */
function withBench({ prepared }: Bench, request: RunRequest): RunRequest {
  const [first] = prepared.devices;
  return first === undefined || first.ordinal === 0 ? request : { devices: [first.ordinal], ...request };
}

/** Returns the document if it is complete, without failures and wrong data; otherwise throws a PinbenchError. */
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

/** A request to answer questions: which ones, on which devices, the start time, and the listener. */
interface ExplainRequest
  extends Omit<MeasuringTurn<Pick<PreparedRun, "backend" | "devices">>, "countedFromMs"> {
  questions: readonly Question[];
  settings: Bench["settings"];
}

/**
 * Answers questions one after the other. A question that fails, or exceeds its time, is inconclusive, and the others go
 * on. If `signal` is aborted, the document has the answers so far.
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
    // A hanging call keeps its context.
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

/**
 * The devices that pinbench itself measures on: none for questions about torch, all for questions about several, and
 * otherwise the first.
 */
function devicesFor(questions: readonly Question[], devices: PreparedRun["devices"]): PreparedRun["devices"] {
  const needs = questions.map((question) => question.needs);
  if (needs.includes("devices")) return devices;
  return needs.includes("device") ? devices.slice(0, 1) : [];
}

/** Time for a stopped experiment to end; after that, a driver call that does not return is abandoned. */
const patienceMs = 700;

/** Null if the whole command was interrupted meanwhile. */
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
  let hasWrongData = false;
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
        hasWrongData = error instanceof PinbenchError && error.kind === "wrongData";
        return null;
      },
    );
    if (signal.aborted) return null;
    if (end.signal.aborted && answer === null) {
      failure = `It took longer than its limit of ${formatDuration(question.mostMs * 1e6)}.`;
    }
    const wallNs = (performance.now() - startedMs) * 1e6;
    const asked = { question: name, title, claim, parts: [], wallNs };
    if (answer !== null) return { ...asked, ...answer, failure: null, hasWrongData };
    return {
      ...asked,
      verdict: "inconclusive",
      figures: [],
      sentences: [failure!],
      command: explainCommand(question, { ...bench.prepared, torch: bench.torch }),
      failure,
      hasWrongData,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function sentenceOf(error: unknown): string {
  const hint = error instanceof PinbenchError ? error.hint : null;
  const message = error instanceof Error ? error.message : String(error);
  // Names of driver functions keep their spelling.
  const begun = message.replace(/^[a-z](?=[a-z]*\b)/, (letter) => letter.toUpperCase());
  const sentence = /[.!?]$/.test(begun) ? begun : `${begun}.`;
  return hint === null ? sentence : `${sentence} ${hint}`;
}
