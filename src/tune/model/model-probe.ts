import { PinbenchError } from "../../errors.js";
import { listNames, readText } from "../../host/files.js";
import { memoryTotalBytes } from "../../host/memory.js";
import type { Placement } from "../../host/topology.js";
import { Bench } from "../../measure/bench.js";
import type { NativeDriver, NativeError, NativeSession } from "../../native/contract.js";
import type { DeviceFacts } from "../../native/device-contract.js";
import type { LoaderOptions, LoaderStep } from "../../native/loader-contract.js";
import { planArenas } from "../../plan/geometry.js";
import { defaultPrefetchFactor, torchDefault } from "../../results/loader-setting.js";
import type { LoaderSetting, ProbeRecord } from "../../results/tuning.js";
import { formatDuration, formatSizeRounded } from "../../settings/units.js";
import { median } from "../../stats/order-statistics.js";
import type { Probe, ProbeFacts } from "../loader-probe.js";
import type { DataFolder } from "./data-folder.js";
import { closeLoader, runModelTrial } from "./model-trial.js";

/** Options of a simulated loader, with defaults filled in. */
export interface ModelProbeOptions {
  driver: NativeDriver;
  device: DeviceFacts;
  placement: Placement;
  batchSize: number;
  sampleBytes: number;
  /** CPU time per sample, in addition to reading its file and writing it. */
  sampleCostNs: number;
  /** Duration of the simulated step; "auto" is about that of a ResNet-50, null none. */
  stepTimeNs: number | "auto" | null;
  /** Files that samples read; null for generated samples. */
  data: DataFolder | null;
  /** Drops files from the page cache for cold trials; null for warm ones. */
  dropFiles: ((files: readonly string[]) => Promise<void>) | null;
  /** Index (from 0) of this training process, and the number that share the files. */
  rank: { index: number; count: number };
  signal: AbortSignal;
}

/** Opens a simulated loader. Rejects with a PinbenchError if the device cannot be opened or cannot run the step. */
export async function openModelProbe(options: ModelProbeOptions): Promise<Probe> {
  if (options.signal.aborted) throw interrupted();
  const notes: string[] = [];
  const { session, end } = await openBench(options, notes);
  try {
    const step = availableStep(options, session, notes);
    const stepNs = step === null ? null : await timeStep(session, options, step);
    const link = await measureLink(options, notes);
    await dropAllFiles(options);
    const facts = describeProbe(options, { stepNs, link, notes });
    // Each trial continues where the last one stopped, so that files are read again as late as possible.
    let firstSample = options.rank.index;
    // Whether a loader could not be closed: its threads may still use the session, which stays open.
    let isStuck = false;
    return {
      facts,
      measure: async (setting, control) => {
        if (isStuck) {
          throw new PinbenchError(
            "measurement",
            "The loader of an earlier setting hangs, and no other can run until it ends.",
          );
        }
        const signal = AbortSignal.any([control.signal, options.signal]);
        const loader = loaderOptions(options, step, setting, firstSample);
        const run = await runModelTrial(session, loader, setting, { ...control, signal }, options.signal);
        firstSample += run.samplesBegun * options.rank.count;
        isStuck = !run.isUsable;
        return run.trial;
      },
      close: async () => {
        if (!isStuck) await end();
      },
    };
  } catch (error) {
    await end();
    const isAborted = options.signal.aborted || (error as NativeError).code === "ABORTED";
    throw isAborted ? interrupted() : asPinbenchError(error as NativeError);
  }
}

async function openBench({ device, ...options }: ModelProbeOptions, notes: string[]) {
  const onRefused = ({ message }: NativeError) => {
    if (!notes.includes(`${message}.`)) notes.push(`${message}.`);
  };
  const bench = await Bench.open({ ...options, device: device.ordinal, onRefused }).catch(
    (error: NativeError) => {
      throw asPinbenchError(error);
    },
  );
  return { bench, session: bench.session, end: () => bench.close().catch(() => undefined) };
}

/**
 * ResNet-50's forward and backward pass take 12.3 GFLOP for an image of 602112 bytes (3 x 224 x 224 float32). That is
 * about 20 000 operations a byte; a multiply-add counts as two.
 */
const resnet50MultiplyAddsPerByte = 10_000;

/** Number of files dropped per call; an abort takes effect between calls. */
const droppedAtOnce = 1024;

/** Drops all files from the page cache before the first cold trial. Loaders drop each after reading it. */
async function dropAllFiles({ data, dropFiles, rank, signal }: ModelProbeOptions): Promise<void> {
  if (data === null || dropFiles === null || rank.index > 0) return;
  for (let first = 0; first < data.files.length; first += droppedAtOnce) {
    if (signal.aborted) throw interrupted();
    await dropFiles(data.files.slice(first, first + droppedAtOnce));
  }
}

const noStep: LoaderStep = { durationNs: 0, multiplyAddsPerByte: 0 };

/** The step, if kernels are available. Without them, "auto" becomes a note, and a fixed duration throws. */
function availableStep(
  { stepTimeNs }: ModelProbeOptions,
  { opening: { kernelsOff } }: NativeSession,
  notes: string[],
): LoaderStep | null {
  if (stepTimeNs === null) return null;
  if (kernelsOff === null) {
    return stepTimeNs === "auto"
      ? { ...noStep, multiplyAddsPerByte: resnet50MultiplyAddsPerByte }
      : { ...noStep, durationNs: stepTimeNs };
  }
  if (stepTimeNs !== "auto") {
    throw new PinbenchError("unsupported", `There is no training step: ${kernelsOff}.`);
  }
  notes.push(`The loader runs without a training step: ${kernelsOff}.`);
  return null;
}

/** Loader options for a trial of `setting` from sample `firstSample` on; `step` is null for none. */
export function loaderOptions(
  options: ModelProbeOptions,
  step: LoaderStep | null,
  setting: LoaderSetting,
  firstSample = options.rank.index,
): LoaderOptions {
  return {
    workers: setting.numWorkers,
    pinMemory: setting.pinMemory,
    prefetchFactor: setting.prefetchFactor ?? defaultPrefetchFactor,
    nonBlocking: setting.nonBlocking,
    batchSamples: options.batchSize,
    sampleBytes: options.sampleBytes,
    sampleCostNs: options.sampleCostNs,
    files: options.data?.files ?? [],
    firstSample,
    sampleStride: options.rank.count,
    dropFiles: options.dropFiles !== null,
    step: step ?? noStep,
  };
}

async function timeStep(
  session: NativeSession,
  options: ModelProbeOptions,
  step: LoaderStep,
): Promise<number | null> {
  const plain = { ...options, data: null, sampleCostNs: 0 };
  const loader = await session.openLoader(loaderOptions(plain, step, torchDefault));
  await closeLoader(loader, options.signal);
  return loader.stepNs;
}

/** Number of timed copies; their median repeats within a few per cent. */
const linkCopies = 15;

/**
 * Times copies of one batch from pinned and from pageable memory on an idle device. A separate session frees their
 * memory. Null without enough memory; `notes` has the reason.
 */
async function measureLink(options: ModelProbeOptions, notes: string[]): Promise<ProbeRecord["link"]> {
  const { bench, end } = await openBench(options, notes);
  const sizeBytes = options.batchSize * options.sampleBytes;
  const cell = { direction: "h2d", sizeBytes, workers: 1, mode: "throughput", cache: "warm" } as const;
  const arenas = planArenas(
    (["pinned", "pageable"] as const).map((memory) => ({
      ...{ ...cell, device: options.device.ordinal, memory, buffersPerWorker: 1 },
    })),
  );
  const bytesPerSecond = async (memory: "pinned" | "pageable") => {
    await bench.reserve(arenas, memory);
    const { columns } = await bench.copy({
      ...cell,
      memory,
      buffers: 1,
      firstBuffer: 0,
      warmupCopies: 2,
      warmupBytes: sizeBytes,
      copiesPerSample: 1,
      samples: linkCopies,
      // No result uses the copied data.
      verify: "none",
      readLink: false,
    });
    return sizeBytes / (median([...columns[0]!.durationNs]) / 1e9);
  };
  try {
    return {
      pinnedBytesPerSecond: await bytesPerSecond("pinned"),
      pageableBytesPerSecond: await bytesPerSecond("pageable"),
    };
  } catch (error) {
    const { code, message } = error as NativeError;
    if (options.signal.aborted || !code?.endsWith("OUT_OF_MEMORY")) throw error;
    notes.push(`Copies of a batch alone could not be timed: ${message}.`);
    return null;
  } finally {
    await end();
  }
}

function asPinbenchError(error: NativeError | PinbenchError): PinbenchError {
  if (error instanceof PinbenchError) return error;
  const isShort = error.code === "CUDA_ERROR_OUT_OF_MEMORY";
  const hint = isShort ? { hint: "Ask for smaller batches, or free the device." } : {};
  return new PinbenchError("unavailable", `The loader cannot be opened: ${error.message}.`, {
    ...hint,
    cause: error,
  });
}

function interrupted(): PinbenchError {
  return new PinbenchError("measurement", "Opening the loader was interrupted.");
}

function describeProbe(
  options: ModelProbeOptions,
  { stepNs, link, notes }: Pick<ProbeRecord, "stepNs" | "link" | "notes">,
): ProbeFacts {
  const { batchSize, sampleBytes, data, device, rank } = options;
  return {
    kind: "native",
    source: describeSource(options),
    device: device.name,
    runtime: null,
    batch: {
      samples: batchSize,
      bytes: batchSize * sampleBytes,
      description: `uint8 [${batchSize}, ${sampleBytes}]`,
    },
    epochBatches: data === null ? null : Math.ceil(data.files.length / (batchSize * rank.count)),
    fileBytesPerBatch: data === null ? null : data.meanBytes * batchSize,
    isCold: options.dropFiles !== null,
    startingPoint: null,
    pinningOff: null,
    workersOff: null,
    link,
    stepNs,
    // This process holds the batches of all ranks.
    filesPerBatch: rank.count,
    ...fileDescriptors(),
    checks: [],
    notes: [
      "This is a model of a loader: its workers are threads of pinbench. No Python runs, so there is no global lock and no process to start.",
      ...dataNotes(options),
      ...(stepNs === null ? [] : ["The loop waits for each step, as a loop that reads the loss does."]),
      ...notes,
    ],
  };
}

/** "generated samples of 602112 B, 500 µs each", "2000 files of DIR, each read whole". */
function describeSource({ data, sampleBytes, sampleCostNs }: ModelProbeOptions): string {
  const cost = sampleCostNs === 0 ? null : formatDuration(sampleCostNs);
  if (data === null) return `generated samples of ${sampleBytes} B${cost === null ? "" : `, ${cost} each`}`;
  const count = data.files.length;
  const files = count === 1 ? `1 file of ${data.path}` : `${count} files of ${data.path}, each`;
  return `${files} read whole${cost === null ? "" : `, then ${cost} of computing`}`;
}

function dataNotes({ data, sampleBytes, sampleCostNs, dropFiles }: ModelProbeOptions): string[] {
  if (data === null) return [];
  const notes = [
    `Each file becomes a sample of ${sampleBytes} B (the mean file has ${Math.ceil(data.meanBytes)} B).`,
  ];
  if (sampleCostNs === 0)
    notes.push("Decoding the files is not part of the model: --sample BYTES,TIME adds its time.");
  if (dropFiles !== null) return notes;
  const total = formatSizeRounded(data.totalBytes);
  notes.push(
    data.totalBytes < memoryTotalBytes()
      ? `The files have ${total}, which fit in memory: after the first read they come from the page cache, as in a second epoch.`
      : `The files have ${total}, more than fits in memory: every epoch reads them from storage.`,
  );
  return notes;
}

/** Soft limit and number of open file descriptors of this process; null if unknown. */
function fileDescriptors(): Pick<ProbeFacts, "fileLimit" | "filesInUse"> {
  const soft = /^Max open files\s+(\d+)/m.exec(readText("/", "proc/self/limits") ?? "")?.[1];
  const open = listNames("/", "proc/self/fd").length;
  return { fileLimit: soft === undefined ? null : Number(soft), filesInUse: open === 0 ? null : open };
}
