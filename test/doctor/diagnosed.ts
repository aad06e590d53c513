import { diagnose } from "../../src/doctor/diagnose.js";
import type { Diagnosis } from "../../src/doctor/diagnosis.js";
import type { Examination } from "../../src/doctor/examination.js";
import { type DeviceChange, examinationOf } from "../helpers/examination.js";
import { machineTree } from "../helpers/machine-tree.js";
import { diagnosisContext } from "./cause-case.js";

export const root = machineTree();

export const context = { ...diagnosisContext, labels: { rack: "7" } } as const;

/** The diagnosis of the fixtures' healthy machine, with a change. */
export function diagnosisOf(
  change: DeviceChange = {},
  more: Partial<Examination> = {},
  devices: 1 | 2 = 1,
): Diagnosis {
  // Other test files in this process change the tree.
  return diagnose({ ...examinationOf(machineTree(), change, { devices }), ...more }, context);
}

export const measured = (part: DeviceChange["measured"]) => ({ measured: part! });
