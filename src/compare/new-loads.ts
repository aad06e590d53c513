import type { LoadRecord } from "../results/schema.js";
import type { RunFigures } from "./result-set.js";

/** A load of the machine besides pinbench, as a share of all CPUs or of the time. */
export interface NewLoad {
  /** In words: "CPU time of other programs". */
  name: string;
  /** The highest share during a run of the baseline, and of the candidate. */
  usual: number;
  now: number;
}

/** How much a share must exceed that of all baseline runs to be a new load. */
const notableShare = 0.05;

/** Ordered by how much they explain. */
const loadNames = {
  otherCpuShare: "CPU time of other programs",
  stealShare: "CPU time that the hypervisor gave to others",
  memoryPressureShare: "waiting for memory",
  ioPressureShare: "waiting for disks",
} as const satisfies Partial<Record<keyof LoadRecord, string>>;

/** Loads in the candidate's runs that no baseline run had; empty if unknown. */
export function findNewLoads(baseline: readonly RunFigures[], candidate: readonly RunFigures[]): NewLoad[] {
  return (Object.keys(loadNames) as (keyof typeof loadNames)[]).flatMap((key) => {
    const most = (runs: readonly RunFigures[]) =>
      Math.max(...runs.map(({ load }) => load?.[key] ?? Number.NaN));
    const [usual, now] = [most(baseline), most(candidate)];
    return now - usual > notableShare ? [{ name: loadNames[key], usual, now }] : [];
  });
}
