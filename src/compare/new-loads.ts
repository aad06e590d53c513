import type { LoadRecord } from "../results/schema.js";
import type { RunFigures } from "./result-set.js";

/** Something that kept a machine busy besides pinbench, as a share of all CPUs or of the time. */
export interface NewLoad {
  /** In words: "CPU time of other programs". */
  name: string;
  /** The most during a run of the baseline, and of the candidate. */
  usual: number;
  now: number;
}

/** A share that is so much larger than in any of the baseline's runs is a load that these did not have. */
const notableShare = 0.05;

/** In the order in which they explain most. */
const loadNames = {
  otherCpuShare: "CPU time of other programs",
  stealShare: "CPU time that the hypervisor gave to others",
  memoryPressureShare: "waiting for memory",
  ioPressureShare: "waiting for disks",
} as const satisfies Partial<Record<keyof LoadRecord, string>>;

/** What kept the machine busy in the candidate's runs and in none of the baseline's; nothing where that is not recorded. */
export function findNewLoads(baseline: readonly RunFigures[], candidate: readonly RunFigures[]): NewLoad[] {
  return (Object.keys(loadNames) as (keyof typeof loadNames)[]).flatMap((key) => {
    const most = (runs: readonly RunFigures[]) =>
      Math.max(...runs.map(({ load }) => load?.[key] ?? Number.NaN));
    const [usual, now] = [most(baseline), most(candidate)];
    return now - usual > notableShare ? [{ name: loadNames[key], usual, now }] : [];
  });
}
