import { PinbenchError } from "../errors.js";
import { choosePlacement } from "../measure/placement.js";
import { openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { emulatedNotice } from "../results/notice.js";
import type { Probe } from "../tune/loader-probe.js";
import { type DataFolder, defaultSampleBytes, listDataFolder } from "../tune/model/data-folder.js";
import { openModelProbe } from "../tune/model/model-probe.js";
import { openTorchProbe } from "../tune/torch/torch-probe.js";
import type { TuneFlags } from "./tune-options.js";

/** The probe that the flags ask for, opened. Rejects with a PinbenchError. */
export async function openProbe(flags: TuneFlags, signal: AbortSignal): Promise<Probe> {
  const { torch } = flags;
  if (torch === undefined) return openNative(flags, signal);
  refuse(flags, "with --torch", ["sampleBytes", "sampleCost", "data", "device"]);
  return openTorchProbe({
    python: flags.python,
    target: torch,
    batchSize: flags.batchSize ?? null,
    collate: flags.collate ?? null,
    kwargs: flags.kwargs ?? {},
    step: stepOf(flags),
    shuffle: flags.shuffle,
    seed: flags.seed,
    timeoutNs: flags.timeout,
    signal,
  });
}

async function openNative(flags: TuneFlags, signal: AbortSignal): Promise<Probe> {
  refuse(flags, "without --torch", ["collate", "kwargs"]);
  const data = flags.data === undefined ? null : await listDataFolder(flags.data);
  const sampleBytes = flags.sampleBytes ?? fileBytes(data);
  if (flags.batchSize === undefined) {
    throw new PinbenchError("usage", "How many samples make a batch is not known.", {
      hint: "Give --batch-size.",
    });
  }
  const backend = await openBackend(flags.backend, loadAddon());
  const device = backend.facts.devices.find(({ ordinal }) => ordinal === (flags.device ?? 0));
  if (device === undefined) {
    throw new PinbenchError("unavailable", `There is no device ${flags.device}.`, {
      hint: "pinbench devices lists them.",
    });
  }
  const probe = await openModelProbe({
    driver: backend.driver,
    device,
    placement: choosePlacement(device.pciBusId, "local"),
    batchSamples: flags.batchSize,
    sampleBytes,
    sampleCostNs: flags.sampleCost ?? 0,
    data,
    step: stepOf(flags),
    seed: flags.seed,
    signal,
  });
  if (backend.facts.emulated) probe.facts.notes.unshift(`${emulatedNotice}.`);
  return probe;
}

function fileBytes(data: DataFolder | null): number {
  if (data !== null) return defaultSampleBytes(data);
  throw new PinbenchError("usage", "There are no data to tune for.", {
    hint: "Give --torch FILE:NAME, --data FOLDER or --sample-bytes SIZE.",
  });
}

function stepOf({ stepTime }: TuneFlags): { durationNs: number } | "auto" | null {
  return typeof stepTime === "number" ? { durationNs: stepTime } : (stepTime ?? null);
}

/** Flags that only another source of data heeds are mistakes. */
function refuse(flags: TuneFlags, where: string, strangers: readonly (keyof TuneFlags)[]): void {
  const stranger = strangers.find((name) => flags[name] !== undefined);
  if (stranger === undefined) return;
  const flag = `--${stranger.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new PinbenchError("usage", `${flag} has no effect ${where}.`, { hint: "Leave it out." });
}
