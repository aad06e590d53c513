import { emulatedNotice } from "../../results/device-facts.js";
import type { Examination } from "../examination.js";
import type { Suspect } from "./share-loss.js";

/** There is no GPU in this: whatever was measured describes the host. */
export function emulatedDevice({ emulated }: Examination): Suspect[] {
  if (!emulated) return [];
  return [
    {
      cause: "emulated",
      device: null,
      weight: "explains",
      summary: "This is the emulated device: its figures do not describe a GPU.",
      evidence: [emulatedNotice],
      cost: null,
      fix: null,
      sureness: "certain",
    },
  ];
}

/** This build has no kernels, as where it was compiled without nvcc, or the driver does not take them. */
export function kernelsMissing({ emulated, kernelsOff }: Examination): Suspect[] {
  if (kernelsOff === null || emulated) return [];
  return [
    {
      cause: "kernels-missing",
      device: null,
      weight: "explains",
      summary:
        "Kernels cannot be used here: mapped memory is not measured, and copies are compared by reading them back.",
      evidence: [kernelsOff],
      cost: null,
      fix: null,
      sureness: "certain",
    },
  ];
}
