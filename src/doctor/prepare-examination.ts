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
