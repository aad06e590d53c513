import { PinbenchError } from "../errors.js";
import { presets } from "../settings/presets.js";
import type { PlanRequest } from "./request.js";

const MiB = 1024 * 1024;

/** When a cell has been measured enough. */
export interface Stopping {
  /** Relative half-width of the median's interval at which a cell has converged. */
  precision: number;
  /** Measuring time of the whole sweep. */
  budgetNs: number;
  /** A fixed count instead; null where precision and budget decide. */
  samplesPerCell: number | null;
}

/** What holds for every cell of a plan alike. */
export interface Settings {
  stopping: Stopping;
  staging: { chunkBytes: number; slots: number };
  verify: boolean;
  seed: number;
  /** As asked for; null leaves it to the memory available. */
  maxPinnedBytes: number | null;
}

/** The request's figures, with the defaults where they are absent. Throws a usage error for one out of bounds. */
export function resolveSettings(request: PlanRequest): Settings {
  return {
    stopping: {
      precision: boundedFigure("precision", request.precision, 0.01),
      budgetNs: boundedFigure("budgetNs", request.budgetNs, presets[request.preset ?? "default"].budgetNs),
      samplesPerCell: boundedFigure("samplesPerCell", request.samplesPerCell, null),
    },
    staging: {
      chunkBytes: boundedFigure("stagingChunkBytes", request.staging?.chunkBytes, 2 * MiB),
      slots: boundedFigure("stagingSlots", request.staging?.slots, 3),
    },
    verify: request.verify ?? true,
    seed: boundedFigure("seed", request.seed, 1),
    maxPinnedBytes: boundedFigure("maxPinnedBytes", request.maxPinnedBytes, null),
  };
}

/** How the request's figures are named and bounded; every one of them is a finite number. */
const bounds = {
  precision: {
    name: "precision",
    least: Number.MIN_VALUE,
    most: 0.5,
    whole: false,
    allowed: "above 0 and up to 0.5",
  },
  budgetNs: {
    name: "time budget",
    least: 0,
    most: 86_400e9,
    whole: false,
    allowed: "from 0 to 24 hours, in ns",
  },
  samplesPerCell: {
    name: "number of samples",
    least: 1,
    most: 1e6,
    whole: true,
    allowed: "from 1 to 1 000 000",
  },
  seed: { name: "seed", least: 0, most: Number.MAX_SAFE_INTEGER, whole: true, allowed: "from 0 to 2^53 - 1" },
  // With one slot there is nothing for a copy to overlap with.
  stagingSlots: { name: "number of staging slots", least: 2, most: 64, whole: true, allowed: "from 2 to 64" },
  stagingChunkBytes: {
    name: "staging chunk",
    least: 4096,
    most: 256 * 1024 * 1024,
    whole: true,
    allowed: "from 4 KiB to 256 MiB",
  },
  maxPinnedBytes: {
    name: "limit of pinned bytes",
    least: 0,
    most: Number.MAX_SAFE_INTEGER,
    whole: true,
    allowed: "from 0 up",
  },
} as const;

/** The figure as given, or `fallback` where it is absent. Throws a usage error outside its bounds. */
function boundedFigure<Fallback>(
  key: keyof typeof bounds,
  given: number | null | undefined,
  fallback: Fallback,
): number | Fallback {
  if (given === null || given === undefined) return fallback;
  const { name, least, most, whole, allowed } = bounds[key];
  if (given >= least && given <= most && (!whole || Number.isInteger(given))) return given;
  throw new PinbenchError(
    "usage",
    `The ${name} cannot be ${given}: it is ${whole ? "a whole number " : ""}${allowed}.`,
  );
}
