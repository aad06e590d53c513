import { byWeight, findCauses } from "../../src/doctor/causes/causes.js";
import type { Cost, Finding } from "../../src/doctor/diagnosis.js";
import type { Examination } from "../../src/doctor/examination.js";
import { type DeviceChange, healthyHealth, rates } from "../helpers/examination.js";
import type { TreeFiles } from "../helpers/machine-tree.js";

/** A machine on which one thing is other than on a healthy one, and what is to be said of it. */
export interface CauseCase {
  what: string;
  files?: TreeFiles;
  change?: DeviceChange;
  machine?: Partial<Omit<Examination, "machine" | "devices">>;
  devices?: 1 | 2;
  cause: string;
  weight: Finding["weight"];
  /** What it costs, within 1 %. */
  cost?: Pick<Cost, "direction" | "gigabytesPerSecond" | "basis">;
  /** A text that the finding must have, in its summary, evidence or fix. */
  says?: string;
}

/** 20 % below what is expected, on every node. */
export const slow = { pinned: rates(44, 44), nodes: [] };
/** The healthy link under load. */
export const link = healthyHealth.link!;

/** All that is found, as a diagnosis has it. */
export const foundIn = (examination: Examination) => byWeight(findCauses(examination).findings);
