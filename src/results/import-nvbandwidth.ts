import { distribution } from "../stats/order-statistics.js";
import { cellId } from "./cell-id.js";
import type { CellResult } from "./cell-schema.js";
import { fingerprint } from "./fingerprint.js";
import { type NvbandwidthFigure, type NvbandwidthFile, readNvbandwidth } from "./nvbandwidth-file.js";
import { checkPossible } from "./parse.js";
import type { ResultDocument } from "./schema.js";

interface ImportOptions {
  /** The file's name in messages, usually a path. */
  path: string;
  fileName: string;
  /** Date of the file, because nvbandwidth records no time. */
  measuredAt: Date;
  /** nvbandwidth's -b in bytes; null for its default. */
  bufferSizeBytes: number | null;
  runId: string;
  pinbenchVersion: string;
}

export interface Imported
  extends Pick<NvbandwidthFile, "bufferSizeBytes" | "isBufferSizeAssumed" | "leftOut"> {
  document: ResultDocument;
}

/**
 * A result document of nvbandwidth's measurements. Values that it does not record are null; a cell has one sample,
 * derived from the published figure. Throws a PinbenchError (usage) for an unusable file.
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
      load: null,
      ...(file.hostname !== null && { labels: { node: file.hostname } }),
    },
    ...shared,
    notice: null,
    fingerprint: {
      ...fingerprint({ ...shared, pinbenchVersion: null }),
      // Without a list of GPUs, the matrix still has one column each.
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
  { bufferSizeBytes: sizeBytes, isBufferSizeAssumed }: NvbandwidthFile,
): CellResult {
  const parameters = {
    device,
    direction,
    memory,
    sizeBytes,
    workers: 1,
    mode: "throughput",
    cache: "warm",
  } as const;
  const ofDevice = direction === "d2d";
  const rate = ofDevice ? 2 * publishedGBps : publishedGBps;
  return {
    id: cellId(parameters),
    ...parameters,
    workerKind: "thread",
    placement: null,
    pages: null,
    cachePool: null,
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
        bandwidthGBps: { ...distribution([rate]), p10: rate, p90: rate },
        overTimeGBps: rate,
        relativeHalfWidth: null,
        latencyUs: null,
        linkShare: null,
      },
    ],
    link: null,
    verification: null,
    // As for a cell with too few samples for an interval.
    outcome: "budget",
    skipReason: null,
    error: null,
    warnings: [
      "one figure that nvbandwidth published: the sample is derived from it, and has no interval",
      ...(isBufferSizeAssumed
        ? ["the size is nvbandwidth's default, because its file does not record the size"]
        : []),
      ...(ofDevice ? ["the rate is twice the published one, which counts a byte read and written once"] : []),
    ],
  };
}
