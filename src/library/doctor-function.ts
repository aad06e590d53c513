import { diagnoseFailedStart, diagnoseMachine, prepareExamination } from "../doctor/diagnose-machine.js";
import type { Diagnosis } from "../doctor/diagnosis.js";
import { announced } from "../measure/prepare.js";
import { readSiteReference } from "../reference/expectation.js";
import { commandSettings } from "../settings/command-settings.js";
import type { Options } from "../settings/setting.js";
import { callNow, defaultsOf, readOptions } from "../settings/settings.js";
import { forCallers, gpuAlone } from "./for-callers.js";

const { backend, devices, preset, reference } = commandSettings.doctor;
const doctorSettings = { backend, devices, preset, reference } as const;

export interface DoctorOptions extends Options<typeof doctorSettings> {
  /** Ends the examination, which then rejects. */
  signal?: AbortSignal;
}

/**
 * Examines the machine as `pinbench doctor` does, and returns the document of its --json. Findings, even that
 * CUDA fails, do not reject: see the document's `verdict`. Wrong options or a missing GPU or driver reject as
 * a PinbenchError.
 */
export const doctor = forCallers(
  async ({ signal = new AbortController().signal, ...options }: DoctorOptions = {}): Promise<Diagnosis> => {
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
  },
);
