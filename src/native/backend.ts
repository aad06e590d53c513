import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { PinbenchError } from "../errors.js";
import { shortageHint } from "../machine-shortage.js";
import type { BackendChoice, BackendName } from "../settings/choices.js";
import type { NativeDriver, NativeError } from "./contract.js";
import type { DeviceFacts, DriverFacts } from "./device-contract.js";
import type { LoadedAddon } from "./load.js";

/** An initialised driver and the name of its backend. */
export interface Backend {
  name: BackendName;
  library: string;
  driver: NativeDriver;
  facts: DriverFacts;
  /** Why `auto` did not choose the GPU; null if it did or was not requested. */
  fallbackReason: string | null;
  fallbackCode?: string;
}

/** Hint for a person at a machine without a GPU; it does not help on a node of a fleet. */
export const emulatedHint = "To measure the emulated device instead, add --backend emulated.";

const cudaLibrary = "libcuda.so.1";
const nvmlLibrary = "libnvidia-ml.so.1";
/** Why there is no driver to use, by the code of the error. */
const absences: Readonly<Record<string, (library: string) => string>> = {
  LIBRARY_NOT_FOUND: (library) => `there is no driver library ${library} on this machine`,
  CUDA_ERROR_NO_DEVICE: () => "the CUDA driver reports no device",
};

/**
 * Opens and initialises a driver. `auto` chooses the GPU, and the emulated device only if the driver library is missing
 * or reports no device: a failing driver is an error, never a silent fallback. PINBENCH_CUDA_LIBRARY names another
 * driver library. Throws "unavailable".
 */
export async function openBackend(
  choice: BackendChoice,
  { addon, emulatedLibraryPath }: Pick<LoadedAddon, "addon" | "emulatedLibraryPath">,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Backend> {
  // The emulated NVML is part of the emulated driver; the variable configures it.
  const nvml = environment.PINBENCH_EMULATED_NVML ? emulatedLibraryPath : null;
  const emulated = { driver: emulatedLibraryPath, nvml };
  if (choice === "emulated") return openEmulated(addon, emulated, null);
  const named = environment.PINBENCH_CUDA_LIBRARY;
  const opened = await openCuda(addon, named || cudaLibrary).catch((error: NativeError) => {
    throw describeFailure(error);
  });
  if (!("absence" in opened)) return opened;
  const { code, absence } = opened;
  const cause = Object.assign(new Error(absence), { code });
  if (choice === "auto" && !named) return openEmulated(addon, emulated, cause);
  throw new PinbenchError("unavailable", `The CUDA backend is not available: ${absence}.`, {
    cause,
    hint: `Install NVIDIA's driver, or make the GPU visible (CUDA_VISIBLE_DEVICES, the container's --gpus). ${emulatedHint}`,
  });
}

async function openEmulated(
  addon: LoadedAddon["addon"],
  paths: Parameters<LoadedAddon["addon"]["openDriver"]>[0],
  fallback: (Error & { code: string }) | null,
): Promise<Backend> {
  try {
    const driver = addon.openDriver(paths);
    return {
      name: "emulated",
      library: paths.driver,
      driver,
      facts: await driver.initialize(),
      fallbackReason: fallback?.message ?? null,
      ...(fallback !== null && { fallbackCode: fallback.code }),
    };
  } catch (cause) {
    const error = cause as NativeError;
    const shortage = shortageHint(error.code);
    throw new PinbenchError("unavailable", `The emulated device cannot be used: ${error.message}.`, {
      hint:
        shortage ??
        (error.code.startsWith("CUDA_ERROR")
          ? "Check the variables PINBENCH_EMULATED_… of the environment."
          : "Install pinbench again."),
      cause,
    });
  }
}

async function openCuda(
  addon: LoadedAddon["addon"],
  library: string,
): Promise<Backend | { absence: string; code: string }> {
  try {
    const driver = addon.openDriver({ driver: library, nvml: nvmlLibrary });
    const facts = await driver.initialize();
    if (facts.devices.length === 0) return absenceOf("CUDA_ERROR_NO_DEVICE", library)!;
    return { name: "cuda", library, driver, facts, fallbackReason: null };
  } catch (error) {
    const absent = absenceOf((error as NativeError).code, library);
    if (absent === null) throw error;
    return absent;
  }
}

function absenceOf(code: string, library: string): { absence: string; code: string } | null {
  const absence = absences[code]?.(library);
  return absence === undefined ? null : { absence, code };
}

function describeFailure(error: NativeError): PinbenchError {
  const hints: Record<string, string> = {
    LIBRARY_UNUSABLE: "Check PINBENCH_CUDA_LIBRARY and the driver's installation, or use --backend emulated.",
    NOT_A_CUDA_DRIVER:
      "Check PINBENCH_CUDA_LIBRARY, or update NVIDIA's driver; --backend emulated needs none.",
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      "The driver's library and kernel module differ in version: reboot, or reinstall the driver.",
  };
  return new PinbenchError("unavailable", `The driver cannot be used: ${error.message}.`, {
    hint:
      hints[error.code] ??
      shortageHint(error.code) ??
      "See whether nvidia-smi works; --backend emulated needs no driver.",
    cause: error,
  });
}

/**
 * Devices that other processes may also use, each with a name that all processes share and its NVML reports. An
 * emulated device belongs to one process, unless PINBENCH_EMULATED_SHARED names a file for sharing it. Only pinbench
 * then uses it, unless the emulated NVML reports others.
 */
export function sharedDevices(
  { driver, facts }: Pick<Backend, "driver" | "facts">,
  devices: readonly DeviceFacts[],
  environment: NodeJS.ProcessEnv = process.env,
) {
  const file = environment.PINBENCH_EMULATED_SHARED;
  if (facts.emulated && !file) return [];
  const emulated = facts.emulated ? `emulated-${nameOfFile(file!)}` : null;
  const hasNvml = !facts.emulated || facts.nvmlError === null;
  return devices.map(({ ordinal, uuid, pciBusId }) => ({
    ordinal,
    key: emulated === null ? (uuid ?? pciBusId.replaceAll(":", "-")) : `${emulated}-${ordinal}`,
    nvml: hasNvml
      ? {
          readProcesses: () => driver.readProcesses(pciBusId),
          readActivity: () => driver.readActivity(pciBusId),
        }
      : null,
  }));
}

/** A short name for a file, independent of the path to it. */
function nameOfFile(path: string): string {
  let real = path;
  try {
    real = realpathSync(path);
  } catch {
    // The first process that opens a device creates the file.
  }
  return createHash("sha256").update(real).digest("hex").slice(0, 16);
}

/**
 * The folder with the machine's /proc and /sys. With an emulated device, another folder can emulate the machine too.
 */
export function machineRoot({ facts }: Backend): string {
  return (facts.emulated && process.env.PINBENCH_EMULATED_ROOT) || "/";
}
