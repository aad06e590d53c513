import { diagnoseFailedStart, diagnoseMachine, prepareExamination } from "../doctor/diagnose-machine.js";
import type { Diagnosis } from "../doctor/diagnosis.js";
import { PinbenchError } from "../errors.js";
import { explainMachine, openDevices } from "../explain/explain-machine.js";
import type { Explanation } from "../explain/explanation.js";
import { questionsNamed } from "../explain/questions.js";
import { announced } from "../measure/prepare.js";
import { PinMemory } from "../pin/pin-memory.js";
import type { Pinning } from "../pin/pinning-document.js";
import { preparePools } from "../pin/prepare-pools.js";
import { readSiteReference } from "../reference/expectation.js";
import { type DevicesReport, describeDevices } from "../report/describe-devices.js";
import type { QuestionName } from "../settings/choices.js";
import { commandSettings } from "../settings/command-settings.js";
import { pinSettings } from "../settings/pin-settings.js";
import type { Options } from "../settings/setting.js";
import { callNow, defaultsOf, readOptions } from "../settings/settings.js";
import { gpuAlone } from "./run-copies.js";

const { backend, devices, preset, reference } = commandSettings.doctor;
const listSettings = { backend } as const;
const doctorSettings = { backend, devices, preset, reference } as const;

export interface DevicesOptions extends Options<typeof listSettings> {}

/**
 * Lists the devices as `pinbench devices` does, in the document of its --json, without measuring. The emulated device
 * is listed only if `backend` asks for it. Wrong options or a missing driver reject as a PinbenchError.
 */
export async function listDevices(options: DevicesOptions = {}): Promise<DevicesReport> {
  const settings = { ...gpuAlone, ...readOptions(listSettings, options) };
  return describeDevices(settings.backend);
}

export interface DoctorOptions extends Options<typeof doctorSettings> {
  /** Ends the examination, which then rejects. */
  signal?: AbortSignal;
}

/**
 * Examines the machine as `pinbench doctor` does, and returns the document of its --json. Findings do not reject: see
 * its `verdict`. Wrong options or an unusable machine reject as a PinbenchError.
 */
export async function doctor({
  signal = new AbortController().signal,
  ...options
}: DoctorOptions = {}): Promise<Diagnosis> {
  const call = callNow();
  const settings = { ...defaultsOf(doctorSettings), ...gpuAlone, ...readOptions(doctorSettings, options) };
  const isQuick = settings.preset === "quick";
  const reference = settings.reference === null ? null : await readSiteReference(settings.reference);
  const prepared = await prepareExamination({ ...settings, isQuick }).catch((error: unknown) => {
    const diagnosis = diagnoseFailedStart(error, { ...call, backend: settings.backend, labels: {} });
    if (diagnosis === null) throw error;
    return diagnosis;
  });
  if ("findings" in prepared) return prepared;
  return announced(prepared, (sharing) =>
    diagnoseMachine({
      ...{ prepared, sharing, isQuick, reference, signal, labels: {} },
      ...call,
      countedFromMs: call.startedMs,
      onActivity: () => undefined,
    }),
  );
}

export interface PinOptions extends Options<typeof pinSettings> {
  /** Ends it early: its document has the results so far, and the status "aborted". */
  signal?: AbortSignal;
}

/**
 * Measures the cost of obtaining pinned memory as `pinbench pin` does, and returns the document of its --json. A
 * refused way does not reject: see its `pools` and `limits`. Wrong options or an unusable machine reject as a
 * PinbenchError. All memory is freed when it settles.
 */
export async function pin({
  signal = new AbortController().signal,
  ...options
}: PinOptions = {}): Promise<Pinning> {
  const call = callNow();
  const prepared = await preparePools({
    ...defaultsOf(pinSettings),
    ...gpuAlone,
    ...readOptions(pinSettings, options),
  });
  const { backend, devices } = prepared;
  return announced({ backend, devices: [...devices] }, async (sharing) => {
    const pinning = new PinMemory({
      ...{ prepared, sharing, signal, labels: {} },
      ...call,
      countedFromMs: call.startedMs,
      onActivity: () => undefined,
    });
    await pinning.measure();
    return pinning.document();
  });
}

const explainSettings = {
  backend: commandSettings.explain.backend,
  devices: commandSettings.explain.devices,
  python: commandSettings.explain.python,
} as const;

export interface ExplainOptions extends Options<typeof explainSettings> {
  questions: readonly QuestionName[] | "all";
  /** Ends it early, with the answers so far. */
  signal?: AbortSignal;
}

/**
 * Answers questions by experiments as `pinbench explain` does, and returns the document of its --json. A question that
 * fails does not reject: see its answer's `failure`. Wrong options reject as a PinbenchError.
 */
export async function explain({
  questions,
  signal = new AbortController().signal,
  ...options
}: ExplainOptions): Promise<Explanation> {
  const call = callNow();
  const names: unknown = questions;
  const areNames = Array.isArray(names) && names.every((name) => typeof name === "string");
  if (names !== "all" && !areNames) {
    throw new PinbenchError("usage", 'The option questions must be "all" or a list of names.');
  }
  const settings = { ...defaultsOf(explainSettings), ...gpuAlone, ...readOptions(explainSettings, options) };
  const asked = questionsNamed(questions);
  const prepared = await openDevices(settings);
  return announced(prepared, (sharing) =>
    explainMachine({
      ...{ questions: asked, prepared, sharing, settings, signal },
      ...call,
      onActivity: () => undefined,
    }),
  );
}
