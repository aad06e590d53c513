import { stat } from "node:fs/promises";
import { PinbenchError } from "../errors.js";
import type { MeasuringTurn } from "../host/device-sharing.js";
import { checkFileFolder } from "../host/file-folder.js";
import { memoryAvailableBytes } from "../host/memory.js";
import { describeSharing } from "../host/other-programs.js";
import { hostname } from "../host/system.js";
import { choosePlacement, type Placement } from "../host/topology.js";
import { WorkerProcess } from "../measure/worker-process.js";
import { type Backend, machineRoot, openBackend } from "../native/backend.js";
import type { NativeError } from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import { type LoadedAddon, loadAddon } from "../native/load.js";
import type { WeightsPiece } from "../native/loader-contract.js";
import { programPath } from "../package-facts.js";
import { headOf } from "../results/document-head.js";
import type { BackendChoice } from "../settings/choices.js";
import { formatSizeRounded, MiB } from "../settings/units.js";
import { distribution, median } from "../stats/order-statistics.js";
import { sumOf } from "../stats/variance.js";
import type { LoadedWay, WeightsLoad } from "./load-document.js";
import { makeFile, type WeightsFile, weightsFiles } from "./weights-files.js";

interface LoadRequest {
  backend: BackendChoice;
  device: number;
  /** Files and folders; if empty, a file of `makeBytes` is created. */
  paths: readonly string[];
  makeBytes: number | null;
  fileFolder: string | null;
  cold: boolean;
  /** Numbers of threads that fill slots; null for 1 and one per CPU, up to 8. */
  threads: readonly number[] | null;
  budgetNs: number;
}

interface PreparedLoad extends LoadedAddon {
  request: LoadRequest;
  backend: Backend;
  devices: readonly [DeviceFacts];
  /** Empty if a file will be created. */
  files: readonly WeightsFile[];
  mostBytes: number;
}

/** Maximum bytes to copy: takes long compared with starting threads, on any link. */
const usualBytes = 8192 * MiB;

/** Bytes that a thread pins: cuda/weights/weights_load.cpp. */
const slotsBytes = 3 * 16 * MiB;

const mostUsualThreads = 8;

/** Maximum passes of each method, within the budget; the first is always made. */
const mostPasses = 3;

export async function prepareLoad(request: LoadRequest): Promise<PreparedLoad> {
  const { paths, makeBytes } = request;
  if ((paths.length === 0) === (makeBytes === null)) {
    throw new PinbenchError("usage", "load takes files and folders, or --make.", {
      hint: "Give for example model.safetensors, or --make 8GiB without a file.",
    });
  }
  const files = await weightsFiles(paths, request.cold);
  const loaded = loadAddon();
  const backend = await openBackend(request.backend, loaded);
  const device = backend.facts.devices.find(({ ordinal }) => ordinal === request.device);
  if (device === undefined) {
    throw new PinbenchError("unavailable", `There is no device ${request.device}.`, {
      hint: "pinbench devices lists them.",
    });
  }
  const thirdBytes = Math.floor(Math.min(memoryAvailableBytes(), device.totalMemoryBytes) / 3);
  const needBytes = Math.max(makeBytes ?? 0, slotsBytes * Math.max(...(request.threads ?? [1])));
  if (needBytes > thirdBytes) {
    const [need, most] = [needBytes, thirdBytes].map((bytes) => formatSizeRounded(bytes));
    throw new PinbenchError(
      "limit",
      `load takes a third of the free memory at most, ${most}, and not ${need}.`,
      {
        hint: "Make a smaller file, or ask for fewer --threads.",
      },
    );
  }
  if (makeBytes !== null) checkFileFolder(request.fileFolder, makeBytes, request.cold);
  const mostBytes = Math.min(thirdBytes, makeBytes ?? usualBytes);
  return { ...loaded, request, backend, devices: [device], files, mostBytes };
}

function waysOf(threads: readonly number[], isCold: boolean): LoadedWay[] {
  const most = Math.max(...threads);
  const usual = ([way, count]: readonly [LoadedWay["way"], number], cold = false) => ({
    ...{ way, threads: count, isCold: cold },
    ...{ passes: [], gigabytesPerSecond: null, error: null },
  });
  const mappings = [["mapped", 1] as const, ["registered", 1] as const];
  const slots = (counts: readonly number[]) =>
    (["mapped-slots", "read-slots"] as const).flatMap((way) => counts.map((count) => [way, count] as const));
  const direct = [["storage", most] as const, ["direct-slots", most] as const];
  return [
    ...[...mappings, ...slots(threads)].map((one) => usual(one)),
    ...(isCold ? [...direct, ...mappings, ...slots([most])].map((one) => usual(one, true)) : []),
  ];
}

/**
 * Measures all methods in another process, because a mapping of a truncated file kills its process. Resolves with the
 * results, also after an interruption; rejects with a PinbenchError if a file changes or the device fails.
 */
export async function loadWeights(turn: MeasuringTurn<PreparedLoad>): Promise<WeightsLoad> {
  const { prepared, sharing, signal, onActivity } = turn;
  const { makeBytes, fileFolder } = prepared.request;
  if (makeBytes !== null) onActivity("making a file");
  const made = makeBytes === null ? null : await makeFile(makeBytes, fileFolder, signal);
  const passes = new WeightsPasses(turn, made === null ? prepared.files : [made.file]);
  try {
    if (!signal.aborted) await passes.measure();
    if (!signal.aborted) await sharing?.look([prepared.devices[0].ordinal], [], true);
  } catch (error) {
    if (error instanceof PinbenchError) throw error;
    const { message } = error as Error;
    if (!signal.aborted)
      throw new PinbenchError("measurement", `Loading failed: ${message}.`, { cause: error });
  } finally {
    await made?.remove();
  }
  return passes.document();
}

/** Passes of all methods over the same pieces. */
class WeightsPasses {
  readonly #turn: MeasuringTurn<PreparedLoad>;
  readonly #files: readonly WeightsFile[];
  readonly #pieces: readonly WeightsPiece[];
  readonly #placement: Placement;
  readonly #ways: readonly LoadedWay[];
  readonly #verification = { checkedBytes: 0, mismatchedBytes: 0 };

  constructor(turn: MeasuringTurn<PreparedLoad>, files: readonly WeightsFile[]) {
    const { request, backend, devices, mostBytes } = turn.prepared;
    this.#turn = turn;
    this.#files = files;
    this.#pieces = firstPieces(files, mostBytes);
    this.#placement = choosePlacement(devices[0].pciBusId, "local", machineRoot(backend));
    const usualThreads = new Set([1, Math.min(this.#placement.threads, mostUsualThreads)]);
    this.#ways = waysOf(request.threads ?? [...usualThreads], request.cold);
  }

  async measure(): Promise<void> {
    const { prepared, signal, countedFromMs } = this.#turn;
    const { backend, devices, request } = prepared;
    const { cpus, threads, numaNode } = this.#placement;
    const worker = new WorkerProcess(programPath, { index: 0, count: 1 });
    const abort = () => worker.abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const session = { device: devices[0].ordinal, cpus, threads, numaNode };
      await worker.call("open", { backend: backend.name, session });
      // A warm-up: reads the files into the page cache, and sets up driver and link.
      await this.#measureWay({ ...this.#ways[0]!, passes: [] }, worker);
      const endMs = countedFromMs + request.budgetNs / 1e6;
      for (let round = 0; round < mostPasses; ++round) {
        for (const way of this.#ways) {
          if (round > 0 && performance.now() > endMs) return;
          await this.#measureWay(way, worker);
        }
      }
    } finally {
      signal.removeEventListener("abort", abort);
      await worker.close(!signal.aborted);
    }
  }

  /** Measures a method; a refusal by this machine is a result. */
  async #measureWay(way: LoadedWay, worker: WorkerProcess): Promise<void> {
    try {
      if (way.error === null) await this.#measurePass(way, worker);
    } catch (error) {
      await refuseChange(this.#files);
      const { code, message, sticky } = error as NativeError;
      if (sticky || code === "WORKER_PROCESS_ENDED" || this.#turn.signal.aborted) throw error;
      way.error = { code, message: message.replace(/^worker process[^:]*: /, "") };
    }
  }

  async #measurePass(way: LoadedWay, worker: WorkerProcess): Promise<void> {
    const files = this.#files.map(({ openPath }) => openPath);
    this.#turn.onActivity(`${way.isCold ? "cold" : "warm"} ${way.way}, ${way.threads} at once`);
    if (way.isCold) await this.#turn.prepared.addon.dropFromPageCache(files);
    const request = { files, pieces: this.#pieces, way: way.way, threads: way.threads };
    const { checkedBytes, mismatchedBytes, ...pass } = await worker.call("loadWeights", request);
    // If a file was changed during the pass, differing bytes are no copy error.
    await refuseChange(this.#files);
    way.passes.push(pass);
    this.#verification.checkedBytes += checkedBytes;
    this.#verification.mismatchedBytes += mismatchedBytes;
  }

  document(): WeightsLoad {
    const { prepared, sharing, signal, startedAt, startedMs } = this.#turn;
    const [{ ordinal, name, uuid, pciBusId, link }] = prepared.devices;
    const sizes = this.#pieces.map(({ bytes }) => bytes);
    const copiedBytes = sumOf(sizes);
    return {
      ...headOf("load", {
        ...{ backend: prepared.backend.name, host: hostname(), createdAt: startedAt },
        wallNs: (performance.now() - startedMs) * 1e6,
      }),
      status: signal.aborted ? "aborted" : "complete",
      device: { ordinal, name, uuid, pciBusId, link },
      files: this.#files.map(({ path, bytes, isSafetensors }) => ({ path, bytes, isSafetensors })),
      totalBytes: sumOf(this.#files.flatMap((file) => file.pieces.map(({ bytes }) => bytes))),
      copiedBytes,
      pieces: { count: sizes.length, medianBytes: Math.round(median(sizes)) },
      ways: this.#ways.map((way) => ({ ...way, gigabytesPerSecond: ratesOf(way, copiedBytes) })),
      verification: this.#verification,
      others: sharing?.records.flatMap(describeSharing) ?? [],
    };
  }
}

function ratesOf({ passes }: LoadedWay, bytes: number): LoadedWay["gigabytesPerSecond"] {
  if (passes.length === 0) return null;
  const { median, min, max } = distribution(passes.map(({ mapNs, copyNs }) => bytes / (mapNs + copyNs)));
  return { median, least: min, most: max };
}

async function refuseChange(files: readonly WeightsFile[]): Promise<void> {
  for (const { path, openPath, bytes, modifiedMs } of files) {
    const info = await stat(openPath).catch(() => null);
    if (info?.size === bytes && info.mtimeMs === modifiedMs) continue;
    throw new PinbenchError("measurement", `${path} was changed or cut while it was loaded.`);
  }
}

/** The first pieces of the files, up to this many bytes; the last one may be cut. */
function firstPieces(files: readonly WeightsFile[], mostBytes: number): WeightsPiece[] {
  let leftBytes = mostBytes;
  const all = files.flatMap(({ pieces }, file) => pieces.map((piece) => ({ ...piece, file })));
  return all.flatMap((piece) => {
    const bytes = Math.min(piece.bytes, leftBytes);
    leftBytes -= bytes;
    return bytes === 0 ? [] : [{ ...piece, bytes }];
  });
}
