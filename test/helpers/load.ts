import type { LoadedWay, WeightsLoad } from "../../src/load/load-document.js";

const GB = 1e9;

/** A way with one pass at each of these rates, in GB/s; mapping takes a tenth of a pass. */
export function buildWay(
  way: LoadedWay["way"],
  threads: number,
  rates: readonly number[],
  more: Partial<LoadedWay> = {},
): LoadedWay {
  const copiedBytes = 8 * GB;
  const sorted = [...rates].sort((a, b) => a - b);
  const spread = {
    median: sorted[Math.floor(sorted.length / 2)]!,
    least: sorted[0]!,
    most: sorted.at(-1)!,
  };
  const passes = rates.map((rate) => {
    const ns = copiedBytes / rate;
    return { mapNs: 0.1 * ns, copyNs: 0.9 * ns, storageBytes: more.isCold ? copiedBytes : 0 };
  });
  return {
    ...{ way, threads, isCold: false, passes, error: null },
    gigabytesPerSecond: rates.length === 0 ? null : spread,
    ...more,
  };
}

/** Made up: a checkpoint of 140 GB, of which 8 GB were copied. */
export function buildLoad(more: Partial<WeightsLoad> = {}): WeightsLoad {
  return {
    schemaVersion: 1,
    kind: "load",
    tool: { name: "pinbench", version: "0.1.0" },
    createdAt: "2026-11-21T10:22:00.000Z",
    wallNs: 40e9,
    status: "complete",
    backend: "cuda",
    notice: null,
    host: "node-1",
    device: {
      ...{ ordinal: 0, name: "NVIDIA H200", uuid: "GPU-1", pciBusId: "0000:18:00.0" },
      link: {
        ...{ generation: 5, width: 16, maxGeneration: 5, maxWidth: 16 },
        ...{ smClockMHz: null, memoryClockMHz: null },
      },
    },
    files: [{ path: "model.safetensors", bytes: 140 * GB, isSafetensors: true }],
    totalBytes: 140 * GB,
    copiedBytes: 8 * GB,
    pieces: { count: 400, medianBytes: 2 ** 24 },
    ways: [
      buildWay("mapped", 1, [8, 8.1, 8.2]),
      buildWay("registered", 1, [40, 40.5, 41]),
      buildWay("mapped-slots", 4, [21, 22, 20]),
      buildWay("read-slots", 4, [18, 19, 18.5]),
      buildWay("storage", 4, [3.4], { isCold: true }),
      buildWay("mapped", 1, [2.1], { isCold: true }),
      buildWay("direct-slots", 4, [3.3], { isCold: true }),
    ],
    verification: { checkedBytes: 80 * GB, mismatchedBytes: 0 },
    others: [],
    ...more,
  };
}
