import { expect, it } from "vitest";
import { diagnose } from "../../src/doctor/diagnose.js";
import { type DeviceChange, examinationOf, otherProgram, rates } from "../helpers/examination.js";
import { machineTree } from "../helpers/machine-tree.js";
import { diagnosisContext, link } from "./cause-case.js";

/*
 * The machines of `node bench doctor`, with computed instead of measured rates, so that other programs do not change
 * the order of findings.
 */

const busy = { computePercent: 90, toDeviceBytesPerSecond: 20e9, fromDeviceBytesPerSecond: 20e9 };
const tree = machineTree();

/** Causes besides a narrow link, by name, that slow copies by this factor. */
const disturbances: Readonly<Record<string, (factor: number) => DeviceChange>> = {
  "device-shared": () => ({ other: { others: [otherProgram({})], activityBefore: busy } }),
  "clocks-held": (factor) => ({
    health: {
      clockReasons: ["hw-thermal-slowdown"],
      link: { ...link, smClockMHz: Math.floor(1980 / factor) },
    },
  }),
  unexplained: () => ({}),
};
/** Facts that cost almost nothing. */
const bystanders: readonly DeviceChange[] = [{}, { after: { replays: 103 } }, { health: { eccErrors: 3 } }];

it("the costliest of several causes is the first finding, and the costs add up to at most the loss", () => {
  let machines = 0;
  for (const lanes of [1, 2, 4, 8]) {
    for (const factor of [1.3, 1.5, 2, 3, 4, 6]) {
      const [less, more] = [lanes, factor].sort((a, b) => a - b) as [number, number];
      if (Math.log(more) <= 1.4 * Math.log(less)) continue;
      for (const [cause, disturbance] of Object.entries(disturbances)) {
        for (const bystander of bystanders) {
          const change = disturbance(factor);
          const rate = 55 / lanes / factor;
          const { findings } = diagnose(
            examinationOf(tree, {
              ...change,
              ...bystander,
              health: {
                ...change.health,
                ...bystander.health,
                link: { ...link, ...change.health?.link, width: 16 / lanes },
              },
              measured: { pinned: rates(rate, rate), nodes: [] },
            }),
            diagnosisContext,
          );
          const costs = findings.filter(({ cost }) => cost?.copies === "pinned");
          const told = `x${16 / lanes}, ${factor} times as slow (${cause})`;
          expect(costs[0]?.cause, told).toBe(lanes > factor ? "link-narrow" : cause);
          const sum = costs.reduce((all, { cost }) => all + cost!.gigabytesPerSecond, 0);
          expect(sum, told).toBeLessThanOrEqual(55.4 - rate + 1e-9);
          ++machines;
        }
      }
    }
  }
  expect(machines).toBeGreaterThan(150);
});
