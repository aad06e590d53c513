import { expect, it } from "vitest";
import { findNewLoads } from "../../src/compare/comparison-notes.js";
import type { RunFigures } from "../../src/compare/result-set.js";

const idle = { otherCpuShare: 0.1, stealShare: 0, memoryPressureShare: 0, ioPressureShare: 0 };
const runs = (...loads: (Partial<typeof idle> | null)[]) =>
  loads.map((load) => ({ load: load && { ...idle, ...load } }) as unknown as RunFigures);

it("a load is new that is over 5 % more than in any run of the baseline", () => {
  const baseline = runs({}, { otherCpuShare: 0.2 }, { stealShare: 0.01 });
  expect(findNewLoads(baseline, runs({ otherCpuShare: 0.25, stealShare: 0.06 }))).toEqual([]);
  expect(
    findNewLoads(baseline, runs({ ioPressureShare: 0.3, stealShare: 0.07 }, { otherCpuShare: 0.26 })),
  ).toEqual([
    { name: "CPU time of other programs", usual: 0.2, now: 0.26 },
    { name: "CPU time that the hypervisor gave to others", usual: 0.01, now: 0.07 },
    { name: "waiting for disks", usual: 0, now: 0.3 },
  ]);
});

it("nothing is new if the load of a run is not recorded", () => {
  expect(findNewLoads(runs({}, null), runs({ otherCpuShare: 0.9 }))).toEqual([]);
  expect(findNewLoads(runs({}), runs({ otherCpuShare: 0.9 }, null))).toEqual([]);
});
