import { expect } from "vitest";
import { jsonReport } from "../../src/draw/json.js";
import type { DeviceSharing } from "../../src/host/device-sharing.js";
import { Run } from "../../src/measure/run.js";
import type { Backend } from "../../src/native/backend.js";
import type { NativeRendezvous, NativeSession } from "../../src/native/contract.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildHost } from "../helpers/result-document.js";
import { schemaErrors } from "../helpers/schema-errors.js";
import { planOf } from "../plan/support.js";
import { deviceFacts, MiB } from "./support.js";

/** Three devices, which differ in their ordinals, caches and peers. */
export const devices = [0, 1, 2].map((ordinal, _, all) => ({
  ...deviceFacts,
  ...{ ordinal, l2CacheBytes: (ordinal + 1) * MiB, freeMemoryBytes: null, readsPageable: true },
  peers: all.filter((other) => other !== ordinal),
}));
/** A run of a few samples. */
export const small: Parameters<typeof planOf>[0] = {
  sizesBytes: [MiB],
  workers: [1],
  memory: ["pageable", "mapped"],
  directions: ["h2d"],
  caches: ["warm"],
  samplesPerCell: 6,
};

/** Runs the small plan on devices whose sessions `open` gives. */
export async function runOn(
  open: (device: number) => NativeSession,
  options: {
    selected?: number[];
    signal?: AbortSignal;
    plan?: Parameters<typeof planOf>[0];
    sharing?: Pick<DeviceSharing, "look" | "records">;
    rendezvous?: Partial<NativeRendezvous>;
  } = {},
): Promise<ResultDocument> {
  const backend: Backend = {
    name: "cuda",
    library: "libcuda.so.1",
    driver: {
      initialize: async () => backend.facts,
      openSession: async ({ device }) => open(device),
      readProcesses: async () => null,
      readActivity: async () => null,
      readHealth: async () => null,
    },
    facts: {
      emulated: false,
      cudaVersion: 12090,
      driverVersion: "575.1",
      missingSymbols: [],
      nvmlError: null,
      initNs: 5,
      devices: devices.map(({ freeMemoryBytes: _, ...facts }) => facts),
    },
    fallbackReason: null,
  };
  const run = new Run({
    startedAt: new Date(),
    startedMs: performance.now(),
    argv: [],
    build: { compiler: "g++", kernels: true, sanitizer: null },
    host: buildHost(),
    createRendezvous: () => ({
      ...{ path: "", reset: () => undefined, cancel: () => undefined },
      ...options.rendezvous,
    }),
    backend,
    root: "/",
    sharing: (options.sharing ?? null) as DeviceSharing | null,
    plan: planOf({ ...small, ...options.plan, devices: options.selected ?? [0] }, { devices }),
  });
  const signal = options.signal ?? new AbortController().signal;
  for await (const _ of run.measure(signal)) {
    // Reading the events is what drives the run on.
  }
  const document = run.document();
  expect(schemaErrors(document)).toBeNull();
  // Every field that is written is read back.
  const text = jsonReport(document);
  expect(parseResult(text)).toEqual(JSON.parse(text));
  return document;
}
