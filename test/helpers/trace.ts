import { packageVersion } from "../../src/package-facts.js";
import type { Trace, TracedCopy, TracedProcess } from "../../src/trace/trace-document.js";

const MiB = 1024 ** 2;

/** Copies of 8 MiB each from pageable memory at 8 GB/s, which pinned memory makes at 56 GB/s, unless said otherwise. */
export function buildTraced(copy: Partial<TracedCopy> = {}): TracedCopy {
  const { count = 100, sizeBytes = 8 * MiB } = copy;
  const totalBytes = count * (sizeBytes || MiB);
  const engineNs = totalBytes / 8;
  return {
    ...{ direction: "h2d", memory: "pageable", call: "cudaMemcpyAsync", range: "" },
    ...{ sizeBytes, count, totalBytes, engineNs, blockedNs: 1.1 * engineNs, waitNs: 0, behindKernelsNs: 0 },
    ...{ pinnedGBps: 56, savedNs: engineNs - totalBytes / 56 },
    ...copy,
  };
}

export const pinnedCopy = (copy: Partial<TracedCopy> = {}) =>
  buildTraced({ memory: "pinned", blockedNs: 4e5, pinnedGBps: null, savedNs: 0, ...copy });

export function buildProcess(
  copies: readonly TracedCopy[] = [buildTraced()],
  more: Partial<TracedProcess> = {},
): TracedProcess {
  return {
    ...{ pid: 4711, rank: "", cupti: "libcupti.so.13 130001", error: null, observedNs: 2.2e9 },
    ...{ isComplete: true, isSilent: false, droppedRecords: 0, copiesWithoutCall: 0, pinningCalls: [] },
    copies: [...copies],
    ...more,
  };
}

export function buildTrace(
  processes: readonly TracedProcess[] = [buildProcess()],
  more: Partial<Trace> = {},
): Trace {
  return {
    ...{ schemaVersion: 1, kind: "trace", tool: { name: "pinbench", version: packageVersion() } },
    ...{ host: "node-1", createdAt: "2026-11-29T12:00:00.000Z", command: "python3 train.py" },
    ...{ processes: [...processes], pinnedRates: "before.json", earlier: null },
    ...more,
  };
}
