import { distribution } from "../stats/order-statistics.js";
import { cellId } from "./cell-id.js";
import type { CellResult } from "./cell-schema.js";
import { fingerprint } from "./fingerprint.js";
import { type NvbandwidthFigure, type NvbandwidthFile, readNvbandwidth } from "./nvbandwidth-file.js";
import { checkPossible } from "./parse.js";
import type { ResultDocument } from "./schema.js";

/** What the file of nvbandwidth does not say, and what the document is to name. */
export interface ImportOptions {
  /** What messages call the file, a path as a rule. */
  path: string;
  /** Its name without a folder, for the document. */
  fileName: string;
  /** When it was measured; as nvbandwidth records none, the date of the file. */
  measuredAt: Date;
  /** nvbandwidth's -b in bytes; null for its default. */
  bufferSizeBytes: number | null;
  runId: string;
  pinbenchVersion: string;
}

/** The result document of an import, and what is to be told about it. */
export interface Imported
  extends Pick<NvbandwidthFile, "bufferSizeBytes" | "isBufferSizeAssumed" | "leftOut"> {
  document: ResultDocument;
}

/**
 * A result document of what nvbandwidth measured. All that it does not record is null; a cell has one sample, derived
 * from the figure that was published. Throws one PinbenchError (usage) for a file that cannot be used.
 */
export function importNvbandwidth(text: string, options: ImportOptions): Imported {
  const file = readNvbandwidth(text, options.path, options.bufferSizeBytes);
  const { bufferSizeBytes, isBufferSizeAssumed, leftOut, driverVersion, cudaVersion, devices } = file;
  const shared = { backend: "cuda" as const, driverVersion, cudaVersion, devices, host: null };
  const document: ResultDocument = {
    schemaVersion: 1,
    tool: { name: "pinbench", version: options.pinbenchVersion, compiler: null, kernels: null },
    importedFrom: { tool: "nvbandwidth", version: file.version, file: options.fileName },
    run: {
      id: options.runId,
      startedAt: options.measuredAt.toISOString(),
      finishedAt: null,
      wallNs: null,
      argv: [],
      status: "complete",
      error: null,
    },
    ...shared,
    notice: null,
    fingerprint: {
      ...fingerprint({ ...shared, pinbenchVersion: null }),
      // Without a list of GPUs the matrix still has a column for each.
      gpuCount: String(devices.length || file.gpuCount),
    },
    plan: null,
    coldStart: [],
    cells: file.figures.map((figure) => cellOf(figure, file)),
  };
  checkPossible(document, options.path);
  return { document, bufferSizeBytes, isBufferSizeAssumed, leftOut };
}

function cellOf(
  { direction, memory, device, publishedGBps }: NvbandwidthFigure,
  { bufferSizeBytes: sizeBytes, isBufferSizeAssumed, mayHaveHugePages }: NvbandwidthFile,
): CellResult {
  const parameters = {
    device,
    direction,
    memory,
    sizeBytes,
    workers: 1,
    mode: "throughput",
    timer: "event",
    cache: "warm",
  } as const;
  const ofDevice = direction === "d2d";
  return {
    id: cellId(parameters),
    ...parameters,
    workerKind: "thread",
    placement: null,
    pages: null,
    cachePool: null,
    syncMode: null,
    copiesPerSample: 1,
    samples: [
      {
        direction,
        bytesPerSample: sizeBytes,
        startNs: [0],
        durationNs: [sizeBytes / publishedGBps],
        round: [0],
      },
    ],
    stats: [
      {
        direction,
        samples: 1,
        bandwidthGBps: distribution([ofDevice ? 2 * publishedGBps : publishedGBps]),
        relativeHalfWidth: null,
        latencyUs: null,
        linkShare: null,
      },
    ],
    link: null,
    verification: null,
    // As a cell whose samples were too few for an interval.
    outcome: "budget",
    skipReason: null,
    error: null,
    warnings: [
      "one figure that nvbandwidth published: the sample is derived from it, and has no interval",
      ...(isBufferSizeAssumed
        ? ["the size is nvbandwidth's default: its file does not record what it was"]
        : []),
      ...(ofDevice ? ["the rate is twice the published one, which counts a byte read and written once"] : []),
      ...(memory === "pinned" && mayHaveHugePages
        ? ["nvbandwidth does not record whether -H gave host memory huge pages"]
        : []),
    ],
  };
}
