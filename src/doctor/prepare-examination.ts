import { PinbenchError } from "../errors.js";
import { type PreparedRun, prepareRun } from "../measure/prepare.js";
import type { BackendChoice, Cache, Memory } from "../settings/choices.js";
import { fillRunSettings } from "../settings/settings.js";
import { MiB } from "../settings/units.js";

/** Which devices are examined, and what is known of the machine beforehand. */
export interface ExaminationRequest {
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
 * this one has no memory for that. Rejects with a PinbenchError where a device is not there, or nothing fits.
 */
export async function prepareExamination(request: ExaminationRequest): Promise<PreparedRun> {
  const { backend, devices, isQuick, lastLevelCacheBytes } = request;
  let failure: unknown;
  for (const { sizeBytes, caches, memory } of attempts(isQuick)) {
    const settings = fillRunSettings({
      origin: "caller",
      given: {
        backend,
        devices,
        lastLevelCacheBytes,
        caches,
        memory,
        sizesBytes: [sizeBytes],
        workers: [1],
        directions: ["h2d", "d2h"],
      },
    });
    try {
      return await prepareRun(settings);
    } catch (error) {
      if (!(error instanceof PinbenchError) || error.kind !== "limit") throw error;
      failure = error;
    }
  }
  throw failure;
}
