import { PinbenchError } from "../errors.js";
import type { MeasuringTurn } from "../host/device-sharing.js";
import { type PreparedRun, prepareRun } from "../measure/prepare.js";
import type { BackendChoice, BackendName } from "../settings/choices.js";
import type { Labels } from "../settings/labels.js";
import { fillRunSettings } from "../settings/settings.js";
import type { RunSettings } from "../settings/table.js";
import { MiB } from "../settings/units.js";
import { diagnose } from "./diagnose.js";
import type { Diagnosis } from "./diagnosis.js";
import type { DeviceExamination, Examination } from "./examination.js";
import {
  beginSubject,
  type ExamineOptions,
  examinedDevice,
  readHealth,
  type Subject,
} from "./examined-device.js";
import { Experiments } from "./experiments.js";
import { readMachineCounters, readMachineFacts } from "./facts/machine-facts.js";
import { hidesGpus, nvidiaGpus, startFailure } from "./start-failure.js";

interface DiagnosisRequest extends MeasuringTurn<PreparedRun>, Pick<ExamineOptions, "isQuick" | "reference"> {
  labels: Labels;
}

/** Nothing that would probably end later is started. Experiments that take longer than expected end within 20 s. */
const budgetMs = 17_000;

/** Examines a machine's devices and makes the diagnosis. Rejects like examine(). */
export async function diagnoseMachine(request: DiagnosisRequest): Promise<Diagnosis> {
  const { prepared, countedFromMs } = request;
  const { backend, plan, root } = prepared;
  const examination = await examine({ ...request, root, endMs: countedFromMs + budgetMs });
  return diagnose(examination, contextOf(request, backend.name, plan.cells[0]!.sizeBytes));
}

/** Start time and labels of a diagnosis. */
type Beginning = Pick<DiagnosisRequest, "labels" | "startedAt" | "startedMs">;

function contextOf({ labels, startedAt, startedMs }: Beginning, backend: BackendName, sizeBytes: number) {
  const wallNs = (performance.now() - startedMs) * 1e6;
  return { backend, sizeBytes, createdAt: startedAt, wallNs, labels };
}

/**
 * Reads and measures what causes need: first what each device's verdict needs, then, as time allows, experiments that
 * distinguish causes, and those for slow devices. A failed device is skipped, with the reason in its examination; an
 * error that loses the process' contexts ends all experiments. Rejects if `signal` is aborted.
 */
async function examine(options: ExamineOptions): Promise<Examination> {
  const { prepared, root } = options;
  const { driver } = prepared.backend;
  const counters = readMachineCounters(root);
  const subjects: Subject[] = [];
  for (const facts of prepared.devices) {
    subjects.push(await beginSubject(facts, options.reference, driver, root));
  }
  const work = new Experiments(subjects, options);
  try {
    await work.measureAll();
    const devices: DeviceExamination[] = [];
    for (const subject of subjects) {
      subject.health.after = await readHealth(driver, subject.facts);
      const { lost, together } = work;
      devices.push(await examinedDevice(subject, { ...options, ...prepared, lost, together }));
    }
    // Frees memory first, so that it does not look like other programs' use.
    await work.close();
    return {
      emulated: prepared.backend.facts.emulated,
      machine: readMachineFacts(root, counters),
      devices,
      omitted: work.omitted,
    };
  } finally {
    await work.close();
  }
}

/** The diagnosis if the driver exists but does not start; null for other errors. Its only finding has the remedy. */
export function diagnoseFailedStart(
  error: unknown,
  { backend, ...beginning }: Beginning & { backend: BackendChoice },
): Diagnosis | null {
  const failure = startFailure(error, backend);
  if (failure === null) return null;
  const examination = {
    ...{ emulated: false, devices: [], startFailure: failure },
    machine: readMachineFacts(),
  };
  return diagnose(examination, contextOf(beginning, "cuda", usualBytes));
}

type ExaminationRequest = Pick<RunSettings, "backend" | "devices"> & { isQuick: boolean };

type Attempt = Pick<RunSettings, "sizesBytes" | "caches" | "memory">;

const usualBytes = 64 * MiB;

/** Plans to try in order, with less and less memory. */
const attempts = (isQuick: boolean): readonly Attempt[] => [
  {
    sizesBytes: [usualBytes],
    caches: ["cold"],
    memory: isQuick ? ["pinned"] : ["pageable", "pinned", "registered"],
  },
  { sizesBytes: [usualBytes], caches: ["cold"], memory: ["pinned"] },
  { sizesBytes: [16 * MiB], caches: ["warm"], memory: ["pinned"] },
];

/**
 * Opens a driver, which counts the devices, and plans copies of 64 MiB like the recorded ones, or less if memory is
 * short. Plans several devices to copy at once. Rejects with a PinbenchError if a device is missing or nothing fits.
 */
export async function prepareExamination(request: ExaminationRequest): Promise<PreparedRun> {
  let failure: unknown;
  for (const attempt of attempts(request.isQuick)) {
    try {
      const prepared = await prepare(request, attempt, false);
      const isHiddenByDriver =
        prepared.backend.fallbackCode === "CUDA_ERROR_NO_DEVICE" && !hidesGpus(process.env);
      if (isHiddenByDriver && nvidiaGpus().length > 0) {
        return await prepare({ ...request, backend: "cuda" }, attempt, false);
      }
      return prepared.devices.length > 1 ? await prepare(request, attempt, true) : prepared;
    } catch (error) {
      if (!(error instanceof PinbenchError) || error.kind !== "limit") throw error;
      failure = error;
    }
  }
  throw failure;
}

function prepare(
  { backend, devices, isQuick }: ExaminationRequest,
  attempt: Attempt,
  together: boolean,
): Promise<PreparedRun> {
  const settings = fillRunSettings({
    origin: "caller",
    values: {
      ...{ backend, devices, together, ...attempt },
      verify: isQuick ? "every" : "last",
      workers: [1],
      directions: ["h2d", "d2h"],
    },
  });
  return prepareRun(settings);
}
