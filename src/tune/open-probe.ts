import { PinbenchError } from "../errors.js";
import { DeviceSharing } from "../host/device-sharing.js";
import { describeSharing } from "../host/other-programs.js";
import { usualPython } from "../host/python/python-programs.js";
import { choosePlacement } from "../host/topology.js";
import { type Backend, openBackend, sharedDevices } from "../native/backend.js";
import { type LoadedAddon, loadAddon } from "../native/load.js";
import { emulatedNote } from "../results/device-facts.js";
import { type TuneSettings, tuneSettings } from "../settings/tune-settings.js";
import type { Probe } from "./loader-probe.js";
import { listDataFolder } from "./model/data-folder.js";
import { openModelProbe } from "./model/model-probe.js";
import { openRankedProbe } from "./ranked-probe.js";
import { openTorchProbe } from "./torch/torch-probe.js";

/** Calls to the caller while a simulated loader opens its device. */
export interface Opening {
  /** Announces that this process uses devices, and may wait for them; false if interrupted. */
  begin(sharing: DeviceSharing): Promise<boolean>;
  /** Called with the backend, because figures of the emulated device are not a GPU's. */
  onOpen(opened: Pick<LoadedAddon, "passedOver"> & { backend: Backend }): void;
}

/**
 * Opens a probe for the user's own data, or a simulated loader, whose device `opening` announces to other users.
 * Rejects with a PinbenchError.
 */
export async function openProbe(
  settings: TuneSettings,
  signal: AbortSignal,
  opening?: Opening,
): Promise<Probe> {
  refuse(settings, "without a command", ["go", "loader"]);
  const { torch } = settings;
  if (settings.cold && settings.data === null) {
    throw new PinbenchError("usage", "--cold needs the files to drop from the page cache.", {
      hint: "Give the folder of the data set's files with --data.",
    });
  }
  const probe =
    torch === null ? await openModel(settings, signal, opening) : await openTorch(settings, torch, signal);
  const { step } = settings;
  if (step !== null && "timeNs" in step) probe.facts.notes.push(standInNote);
  return probe;
}

const standInNote =
  "The step is simulated, and unlike a real one takes no interpreter or memory: --torch and --step FILE:FUNCTION put your own there.";

function openTorch(settings: TuneSettings, torch: string, signal: AbortSignal): Promise<Probe> {
  refuse(settings, "with --torch", ["sample", "device"]);
  if (!settings.cold) refuse(settings, "with --torch, unless --cold is given", ["data"]);
  const { ranks } = settings;
  const open = (index: number) =>
    openTorchProbe({
      ...settings,
      torch,
      python: settings.python ?? usualPython(process.env),
      coldFolder: settings.data,
      rank: ranks === 1 ? null : { index, count: ranks },
      signal,
    });
  return openRankedProbe(ranks, open);
}

async function openModel(settings: TuneSettings, signal: AbortSignal, opening?: Opening): Promise<Probe> {
  const { step } = settings;
  if (step !== null && "function" in step) refuse(settings, "without --torch", ["step"]);
  const data = settings.data === null ? null : await listDataFolder(settings.data);
  // A decoded sample is usually larger than its file, by an unknown factor.
  const sampleBytes = settings.sample?.bytes ?? (data && Math.ceil(data.meanBytes));
  if (sampleBytes === null) {
    throw new PinbenchError("usage", "There is no data to tune for.", {
      hint: "Give --torch FILE:NAME, --data FOLDER or --sample BYTES, or a training job's command after --.",
    });
  }
  const { batchSize } = settings;
  if (batchSize === null) {
    throw new PinbenchError("usage", "The batch size is not known.", {
      hint: "Give --batch-size.",
    });
  }
  const loaded = loadAddon();
  const backend = await openBackend(settings.backend, loaded);
  opening?.onOpen({ backend, passedOver: loaded.passedOver });
  const device = backend.facts.devices.find(({ ordinal }) => ordinal === (settings.device ?? 0));
  if (device === undefined) {
    throw new PinbenchError("unavailable", `There is no device ${settings.device}.`, {
      hint: "pinbench devices lists them.",
    });
  }
  const { ranks } = settings;
  const others = backend.facts.devices.filter(({ ordinal }) => ordinal !== device.ordinal);
  // Each rank gets its own GPU, as in a training, if there are enough.
  const used = [device, ...others].slice(0, ranks);
  const shared = sharedDevices(backend, used);
  const sharing = shared.length === 0 ? null : new DeviceSharing(shared, { command: "tune", ownerPid: null });
  const open = (rank: number) => {
    const own = used[rank % used.length]!;
    return openModelProbe({
      driver: backend.driver,
      device: own,
      placement: choosePlacement(own.pciBusId, "local"),
      batchSize,
      sampleBytes,
      sampleCostNs: settings.sample?.costNs ?? 0,
      stepTimeNs: step !== null && "timeNs" in step ? step.timeNs : null,
      data,
      dropFiles: settings.cold ? (files) => loaded.addon.dropFromPageCache(files) : null,
      rank: { index: rank, count: ranks },
      signal,
    });
  };
  try {
    if (opening === undefined) await sharing?.begin();
    else if (sharing !== null && !(await opening.begin(sharing))) {
      throw new PinbenchError("measurement", "Waiting for the device was interrupted.");
    }
    const probe = await openRankedProbe(ranks, open);
    if (backend.facts.emulated) probe.facts.notes.unshift(emulatedNote);
    return sharing === null
      ? probe
      : watched(
          probe,
          sharing,
          used.map(({ ordinal }) => ordinal),
        );
  } catch (error) {
    await sharing?.release();
    throw error;
  }
}

/** Wraps a probe to check for other users of its devices after each trial; a note on them applies to all trials. */
export function watched(probe: Probe, sharing: DeviceSharing, open: readonly number[]): Probe {
  const { notes } = probe.facts;
  const addNotes = () => {
    const texts = sharing.records.flatMap(describeSharing).map((text) => `During this search ${text}.`);
    notes.push(...texts.filter((text) => !notes.includes(text)));
  };
  addNotes();
  return {
    facts: probe.facts,
    ready: async (signal) => probe.ready?.(signal),
    async measure(setting, control) {
      const trial = await probe.measure(setting, control);
      await sharing.look(open, []);
      addNotes();
      return trial;
    },
    async close() {
      try {
        await probe.close();
      } finally {
        await sharing.release();
      }
    },
  };
}

/** Throws a usage error for settings that only another source of data uses. */
export function refuse(
  settings: TuneSettings,
  where: string,
  strangers: readonly (keyof typeof tuneSettings)[],
): void {
  const stranger = strangers.find((key) => settings[key] !== tuneSettings[key].default);
  if (stranger === undefined) return;
  const [flag] = tuneSettings[stranger].flag.split(" ");
  throw new PinbenchError("usage", `${flag} has no effect ${where}.`, { hint: "Leave it out." });
}
