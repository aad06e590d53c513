import { PinbenchError } from "../errors.js";
import type { DeviceSharing } from "../host/device-sharing.js";
import { type PreparedRun, prepareRun } from "../measure/prepare.js";
import type { BackendChoice, Cache, Memory } from "../settings/choices.js";
import type { Labels } from "../settings/labels.js";
import { fillRunSettings } from "../settings/settings.js";
import { MiB } from "../settings/units.js";
import { diagnose } from "./diagnose.js";
import type { Diagnosis } from "./diagnosis.js";
import type { DeviceExamination, Examination } from "./examination.js";
import { beginSubject, examinedDevice, readHealth, type Subject } from "./examined-device.js";
import type { SiteReference } from "./expectation.js";
import { type ExamineOptions, Experiments } from "./experiments.js";
import { readMachineCounters, readMachineFacts } from "./facts/machine-facts.js";

/** What is diagnosed, since when, and who hears of it. */
export interface DiagnosisRequest {
  prepared: PreparedRun;
  /** Who else uses the devices, of a process that has announced itself; null where nobody else can. */
  sharing: DeviceSharing | null;
  isQuick: boolean;
  /** The site's own reference; null without one. */
  reference: SiteReference | null;
  labels: Labels;
  /** When the caller began, as a date and on the clock of performance.now(). */
  startedAt: Date;
  startedMs: number;
  /** On the same clock: when its time began to count, which is later where it has waited for its turn. */
  countedFromMs: number;
  signal: AbortSignal;
  /** What is being done, in words. */
  onActivity: (text: string) => void;
}

/** So long after the beginning nothing is begun that would end later: with what is over by itself, 20 s. */
const budgetMs = 17_000;

/** Examines a machine's devices and says what that comes to. Rejects as examine() does. */
export async function diagnoseMachine(request: DiagnosisRequest): Promise<Diagnosis> {
  const {
    prepared,
    sharing,
    isQuick,
    reference,
    labels,
    startedAt,
    startedMs,
    countedFromMs,
    signal,
    onActivity,
  } = request;
  const { backend, plan } = prepared;
  const examination = await examine({
    prepared,
    sharing,
    root: rootOf(prepared),
    isQuick,
    reference,
    endMs: countedFromMs + budgetMs,
    signal,
    onActivity,
  });
  return diagnose(examination, {
    backend: backend.name,
    sizeBytes: plan.cells[0]!.sizeBytes,
    createdAt: startedAt,
    wallNs: (performance.now() - startedMs) * 1e6,
    labels,
  });
}

/** Where the machine of these devices has its /proc and /sys. Of an emulated device the rest of the machine can be made up as well: a folder with its /proc and /sys. */
export function rootOf({ backend }: PreparedRun): string {
  return (backend.facts.emulated && process.env.PINBENCH_EMULATED_ROOT) || "/";
}

/**
 * Reads and measures all that causes are looked for in. First on each device what its verdict needs; then, while there is
 * time, what tells causes apart, and what only a device below its expectation needs. A device that fails is left out of
 * what follows, and its examination says why; an error that loses the process' contexts ends the experiments. Rejects
 * where `signal` is aborted.
 */
async function examine(options: ExamineOptions): Promise<Examination> {
  const { prepared, root, signal } = options;
  const { driver } = prepared.backend;
  const counters = readMachineCounters(root);
  const subjects: Subject[] = [];
  for (const facts of prepared.devices) {
    subjects.push(await beginSubject(facts, options.reference, driver, root));
  }
  const work = new Experiments(subjects, options);
  const abort = () => work.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await work.measureAll();
    const devices: DeviceExamination[] = [];
    for (const subject of subjects) {
      subject.health.after = await readHealth(driver, subject.facts);
      const { lost, together } = work;
      const context = { backend: prepared.backend, sharing: options.sharing, root, lost, together };
      devices.push(await examinedDevice(subject, context));
    }
    // The memory of copies is none that others have taken.
    await work.close();
    return {
      emulated: prepared.backend.facts.emulated,
      kernelsOff: work.kernelsOff,
      machine: readMachineFacts(root, counters),
      devices,
      omitted: work.omitted,
    };
  } finally {
    signal.removeEventListener("abort", abort);
    await work.close();
  }
}

/** Which devices are examined, and what is known of the machine beforehand. */
interface ExaminationRequest {
  backend: BackendChoice;
  devices: readonly number[] | "all";
  isQuick: boolean;
  /** Null is what the system says. */
  lastLevelCacheBytes: number | null;
}

/** What is measured, and with less memory where there is no room for that. */
interface Attempt {
  sizeBytes: number;
  caches: readonly Cache[];
  memory: readonly Memory[];
}

const attempts = (isQuick: boolean): readonly Attempt[] => [
  {
    sizeBytes: 64 * MiB,
    caches: ["cold"],
    memory: isQuick ? ["pinned"] : ["pageable", "pinned", "registered"],
  },
  { sizeBytes: 64 * MiB, caches: ["cold"], memory: ["pinned"] },
  { sizeBytes: 16 * MiB, caches: ["warm"], memory: ["pinned"] },
];

/**
 * Opens a driver, and plans the copies of an examination: of 64 MiB as in the recordings of other machines, or less where
 * this one has no memory for that. Several devices are planned as copying at the same time. Rejects with a PinbenchError
 * where a device is not there, or nothing fits.
 */
export async function prepareExamination(request: ExaminationRequest): Promise<PreparedRun> {
  let failure: unknown;
  for (const attempt of attempts(request.isQuick)) {
    try {
      const prepared = await prepare(request, attempt, false);
      // How many devices there are, only an open driver tells.
      return prepared.devices.length > 1 ? await prepare(request, attempt, true) : prepared;
    } catch (error) {
      if (!(error instanceof PinbenchError) || error.kind !== "limit") throw error;
      failure = error;
    }
  }
  throw failure;
}

function prepare(
  { backend, devices, lastLevelCacheBytes, isQuick }: ExaminationRequest,
  { sizeBytes, caches, memory }: Attempt,
  together: boolean,
): Promise<PreparedRun> {
  const settings = fillRunSettings({
    origin: "caller",
    given: {
      backend,
      devices,
      lastLevelCacheBytes,
      caches,
      memory,
      together,
      verify: isQuick ? "every" : true,
      sizesBytes: [sizeBytes],
      workers: [1],
      directions: ["h2d", "d2h"],
    },
  });
  return prepareRun(settings);
}
