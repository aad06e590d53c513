import { PinbenchError } from "../errors.js";
import { listNames, readText } from "../host/files.js";
import { shortageHint } from "../machine-shortage.js";
import type { NativeError } from "../native/contract.js";
import type { BackendChoice } from "../settings/choices.js";
import type { Found } from "./diagnosis.js";

/** Why CUDA does not start and the remedy, by CUresult (CUDA driver API). */
const remedies: Readonly<Record<number, readonly [summary: string, fix: string]>> = {
  // SYSTEM_NOT_READY
  802: [
    "CUDA does not start: the fabric manager of this NVSwitch machine is not running.",
    "Start it (systemctl start nvidia-fabricmanager), in the driver's version; nvidia-smi works without it.",
  ],
  // UNKNOWN
  999: [
    "CUDA does not start: the kernel module nvidia_uvm is missing or broken.",
    "Load it (modprobe nvidia_uvm, or nvidia-modprobe -u -c=0); if it is loaded, reboot.",
  ],
  // SYSTEM_DRIVER_MISMATCH
  803: [
    "CUDA does not start: the driver's library and kernel module differ in version.",
    "Reboot, or reinstall the driver.",
  ],
  // COMPAT_NOT_SUPPORTED_ON_DEVICE
  804: [
    "CUDA does not start: this GPU does not support the compatibility package (cuda-compat) that was loaded.",
    "Take cuda-compat out of LD_LIBRARY_PATH, and update the driver instead.",
  ],
  // NO_DEVICE
  100: [
    "CUDA sees no GPU, although the machine has one.",
    "See whether nvidia-smi lists it, look for Xid 79 in the kernel's log, and reboot; in a container, check --gpus.",
  ],
};

/**
 * The finding for a driver that exists but does not start. Null for other errors: no driver, no GPU, or GPUs hidden by
 * a user or a limit.
 */
export function startFailure(
  error: unknown,
  backend: BackendChoice,
  root = "/",
  environment: NodeJS.ProcessEnv = process.env,
): Found | null {
  if (backend === "emulated" || !(error instanceof PinbenchError)) return null;
  const { code = "", cudaResult = null } = (error.cause ?? {}) as Partial<NativeError>;
  const isWithoutDevice = code === "CUDA_ERROR_NO_DEVICE";
  if (!code.startsWith("CUDA_ERROR_") || shortageHint(code) !== null) return null;
  const gpus = isWithoutDevice ? nvidiaGpus(root) : [];
  if (isWithoutDevice && (gpus.length === 0 || hidesGpus(environment))) return null;
  const remedy = remedies[isWithoutDevice ? 100 : (cudaResult ?? 0)];
  if (remedy === undefined) return null;
  const [summary, fix] = remedy;
  return {
    cause: "cuda-fails",
    device: null,
    weight: "risk",
    summary,
    evidence: [error.sentence, ...gpus.map((name) => `${name}: an NVIDIA GPU (sysfs)`)],
    cost: null,
    fix,
    sureness: "certain",
  };
}

/** Whether the user or a container hides GPUs from this process. */
export function hidesGpus({ CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES }: NodeJS.ProcessEnv): boolean {
  return CUDA_VISIBLE_DEVICES !== undefined || ["void", "none"].includes(NVIDIA_VISIBLE_DEVICES ?? "");
}

/** NVIDIA's display and 3D controllers, without those of another kernel module (vfio-pci), by sysfs name. */
export function nvidiaGpus(root = "/"): string[] {
  const folder = "sys/bus/pci/devices";
  return listNames(root, folder).filter((name) => {
    const drivers = listNames(root, `${folder}/${name}/driver/module/drivers`);
    return (
      readText(root, `${folder}/${name}/vendor`) === "0x10de" &&
      readText(root, `${folder}/${name}/class`)?.startsWith("0x03") === true &&
      (drivers.length === 0 || drivers.includes("pci:nvidia"))
    );
  });
}
