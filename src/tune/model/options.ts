import { fieldOf, listNames, readText } from "../../host/files.js";
import type { DeviceFacts, LoaderOptions, LoaderStep, NativeDriver } from "../../native/contract.js";
import { defaultPrefetchFactor, type LoaderSetting } from "../setting.js";
import type { DataFolder } from "./data-folder.js";

export interface NativeProbeOptions {
  driver: NativeDriver;
  /** The device that batches are copied to. */
  device: DeviceFacts;
  /** As measure/placement.ts chooses it: the CPUs of the device's node, where memory comes from too. */
  placement: { cpus: number[]; threads: number; numaNode: number | null };
  batchSamples: number;
  /** Bytes of a sample in its batch; `defaultSampleBytes` where files are read and nobody says. */
  sampleBytes: number;
  /** CPU time that making a sample takes beyond writing it (and reading its file). */
  sampleCostNs: number;
  /** Files that samples read; null for generated samples. */
  data: DataFolder | null;
  /** The training step beside the loader; "auto" is a ResNet-50's, by the bytes of the batch. */
  step: { durationNs: number } | "auto" | null;
  seed: number;
  /** Ends opening and measuring. */
  signal: AbortSignal;
}

/**
 * ResNet-50's forward and backward pass take 12.3 GFLOP for an image of 3 x 224 x 224 float32, 602112 bytes: some 20 000
 * operations a byte, of which a multiply-add is two.
 */
const resnet50MultiplyAddsPerByte = 10_000;

/** What the step is in a loader. */
export function loaderStep(step: NativeProbeOptions["step"]): LoaderStep | null {
  return step === "auto" ? { multiplyAddsPerByte: resnet50MultiplyAddsPerByte } : step;
}

/** A trial's loader; `step` is what is left of it where there are no kernels. */
export function loaderOptions(
  options: NativeProbeOptions,
  step: LoaderStep | null,
  setting: LoaderSetting,
): LoaderOptions {
  return {
    workers: setting.numWorkers,
    pinMemory: setting.pinMemory,
    prefetchFactor: setting.prefetchFactor ?? defaultPrefetchFactor,
    nonBlocking: setting.nonBlocking,
    batchSamples: options.batchSamples,
    sampleBytes: options.sampleBytes,
    sampleCostNs: options.sampleCostNs,
    files: options.data?.files ?? [],
    step,
  };
}

/** File descriptors of this process: the soft limit, and those open; null where the system does not tell. */
export function fileDescriptors(root = "/"): { fileLimit: number | null; filesInUse: number | null } {
  const soft = /^Max open files\s+(\d+)/m.exec(readText(root, "proc/self/limits") ?? "")?.[1];
  const open = listNames(root, "proc/self/fd").length;
  return { fileLimit: soft === undefined ? null : Number(soft), filesInUse: open === 0 ? null : open };
}

/** Bytes that storage has delivered to this process so far; null where the kernel does not tell. */
export function storageBytesRead(root = "/"): number | null {
  const count = fieldOf(readText(root, "proc/self/io"), "read_bytes");
  return count === null ? null : Number(count);
}
