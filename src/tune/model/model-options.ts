import { listNames, readText } from "../../host/files.js";
import { memoryTotalBytes } from "../../host/memory.js";
import type { Placement } from "../../host/placement.js";
import type { DeviceFacts, LoaderOptions, LoaderStep, NativeDriver } from "../../native/contract.js";
import { defaultPrefetchFactor } from "../../results/loader-setting.js";
import type { LoaderSetting, ProbeRecord } from "../../results/tuning.js";
import type { TuneSettings } from "../../settings/settings.js";
import { formatDuration, formatSizeRounded } from "../../settings/units.js";
import type { ProbeFacts } from "../loader-probe.js";
import type { DataFolder } from "./data-folder.js";

/** What a model of a loader does, and where: the settings, with what they leave open. */
export interface ModelProbeOptions extends Pick<TuneSettings, "stepTime" | "seed"> {
  driver: NativeDriver;
  /** The device that batches are copied to. */
  device: DeviceFacts;
  placement: Placement;
  batchSize: number;
  /** Bytes of a sample in its batch. */
  sampleBytes: number;
  /** CPU time that making a sample takes beyond writing it (and reading its file). */
  sampleCostNs: number;
  /** Files that samples read; null for generated samples. */
  data: DataFolder | null;
  /** Ends opening and measuring. */
  signal: AbortSignal;
}

/**
 * ResNet-50's forward and backward pass take 12.3 GFLOP for an image of 3 x 224 x 224 float32, 602112 bytes: some 20 000
 * operations a byte, of which a multiply-add is two.
 */
const resnet50MultiplyAddsPerByte = 10_000;

/** The step as the engine takes it; null without one. */
export function loaderStep({ stepTime }: ModelProbeOptions): LoaderStep | null {
  if (stepTime === "auto") return { multiplyAddsPerByte: resnet50MultiplyAddsPerByte };
  return stepTime === null ? null : { durationNs: stepTime };
}

/** The engine's loader for a trial of `setting`; `step` is null where the build has no kernels for it. */
export function loaderOptions(
  options: ModelProbeOptions,
  step: LoaderStep | null,
  setting: LoaderSetting,
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
    step,
  };
}

/** The facts of a probe that has just opened; `notes` are what was noticed in opening it. */
export function describeProbe(
  options: ModelProbeOptions,
  { stepNs, link, notes }: Pick<ProbeRecord, "stepNs" | "link" | "notes">,
): ProbeFacts {
  const { batchSize, sampleBytes, data, device } = options;
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
    epochBatches: data === null ? null : Math.ceil(data.files.length / batchSize),
    startingPoint: null,
    pinningOff: null,
    workersOff: null,
    link,
    stepNs,
    filesPerBatch: 1,
    ...fileDescriptors(),
    notes: [
      "This is a model of a loader, with threads of pinbench for workers: no Python runs, and so no global lock holds them up and no process is started.",
      ...dataNotes(options),
      ...notes,
    ],
  };
}

/** "generated samples of 602112 B, 500 us each", "2000 files of DIR, each read whole". */
function describeSource({ data, sampleBytes, sampleCostNs }: ModelProbeOptions): string {
  const cost = sampleCostNs === 0 ? null : formatDuration(sampleCostNs);
  if (data === null) return `generated samples of ${sampleBytes} B${cost === null ? "" : `, ${cost} each`}`;
  const count = data.files.length;
  const files = count === 1 ? `1 file of ${data.path}` : `${count} files of ${data.path}, each`;
  return `${files} read whole${cost === null ? "" : `, then ${cost} of computing`}`;
}

function dataNotes({ data, sampleBytes, sampleCostNs }: ModelProbeOptions): string[] {
  if (data === null) return [];
  const notes = [
    `Each file becomes a sample of ${sampleBytes} B (the mean file has ${Math.ceil(data.meanBytes)} B).`,
  ];
  if (sampleCostNs === 0) notes.push("Nothing stands for decoding the files: no time for it was given.");
  const total = formatSizeRounded(data.totalBytes);
  notes.push(
    data.totalBytes < memoryTotalBytes()
      ? `The files have ${total}, which memory holds: once they have been read they come from the page cache, as they would from the second epoch on.`
      : `The files have ${total}, more than memory holds: storage delivers them in every epoch.`,
  );
  return notes;
}

/** File descriptors of this process: the soft limit, and those open; null where the system does not tell. */
function fileDescriptors(): Pick<ProbeFacts, "fileLimit" | "filesInUse"> {
  const soft = /^Max open files\s+(\d+)/m.exec(readText("/", "proc/self/limits") ?? "")?.[1];
  const open = listNames("/", "proc/self/fd").length;
  return { fileLimit: soft === undefined ? null : Number(soft), filesInUse: open === 0 ? null : open };
}
