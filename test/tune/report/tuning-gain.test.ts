import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { Recommendation, Tuning } from "../../../src/results/tuning.js";
import { overlapAssumption, perfectLoader, tuningGain } from "../../../src/tune/report/tuning-gain.js";
import { buildScore, buildTrial, buildTried, buildTuning, type TuningPart } from "../../helpers/tuning.js";

/* What a recommendation gains, in words. */

const of = (part: TuningPart): [Tuning, Recommendation] => {
  const tuning = buildTuning(part);
  return [tuning, tuning.recommendation!];
};
const gain = (part: TuningPart) => tuningGain(...of(part));
const eight = usualSetting(8, false);
const own = { ...usualSetting(4, false), persistentWorkers: false };

describe("the gain", () => {
  it("is that over what DataLoader does by itself, which does not pin", () => {
    const score = buildScore(20);
    expect(gain({ recommendation: { setting: usualSetting(0, false), score } })).toMatch(
      /^DataLoader's defaults \(0 workers, not pinned\) give 20\.0 ±1\.0 % batches\/s, and no other/,
    );
    expect(gain({ recommendation: { setting: usualSetting(0, true), score } })).toMatch(
      /^0 workers, pinned: 20\.0 ±1\.0 % batches\/s, against 20\.0 ±1\.0 % with DataLoader's defaults/,
    );
  });

  it("tells whether workers persist if that differs in a running job, and nowhere else", () => {
    const recommendation = { setting: eight };
    const ofKind = (kind: "live" | "torch", startingPoint = own) =>
      gain({ recommendation, probe: { kind, startingPoint } });
    expect(ofKind("live")).toMatch(/persist/);
    expect(ofKind("torch")).not.toMatch(/persist/);
    expect(ofKind("live", { ...own, persistentWorkers: true })).not.toMatch(/persist/);
  });

  const claimed = (changes: Partial<Recommendation>, tolerance = 0.02) =>
    /: ([^:]*)\.$/.exec(gain({ recommendation: changes, method: { tolerance } }))?.[1];

  it.each<[string, Partial<Recommendation>]>([
    ["about 3.5×, which was not measured again", { gain: { ratio: 3.599, low: null, high: 3.7 } }],
    ["about 3.6×, which was not measured again", { gain: null }],
    ["as fast within 2 %", { gain: { ratio: 1.015, low: 1.005, high: 1.025 } }],
    ["no difference is certain at ±3.0 %", { gain: { ratio: 1, low: 0.97, high: 1.03 } }],
    ["no difference is certain at ±50 %", { gain: { ratio: 1.5, low: 1, high: 2.5 } }],
    ["no difference is certain at ±25 %", { gain: { ratio: 0.8, low: 0.6, high: 1 } }],
    ["no difference is certain", { gain: { ratio: 1, low: 0.1, high: 9 } }],
    ["1.10×", { gain: { ratio: 1.1, low: 1.1, high: 1.1 } }],
    ["1.31× to 1.43×", { gain: { ratio: 1.37, low: 1.319, high: 1.421 } }],
  ])("%s: %j", (text, changes) => {
    expect(claimed(changes)).toBe(text);
  });

  it("names workers that are saved, none if there are as many", () => {
    const startingPoint = { ...eight, numWorkers: 9 };
    const range = { ratio: 1.1, low: 1.1, high: 1.1 };
    const text = (numWorkers: number) =>
      gain({
        ...{
          probe: { startingPoint },
          recommendation: { setting: { ...eight, numWorkers, pinMemory: true } },
        },
        ...{ recommendation: { setting: { ...eight, numWorkers, pinMemory: true }, gain: range } },
      });
    expect(text(8)).toMatch(/1\.10×, with 1 worker fewer\.$/);
    expect(text(9)).toMatch(/1\.10×\.$/);
  });
});

describe("the waits of a running job's loop", () => {
  const waits = (
    startingPoint: typeof own,
    shares: [typeof own, number][],
    kind: "live" | "torch" = "live",
  ) =>
    /; (.*)\.$/.exec(
      gain({
        ...{ probe: { kind, startingPoint }, recommendation: { setting: eight } },
        tried: shares.map(([setting, share]) => buildTried(setting, 100, { waitNsPerBatch: share * 1e7 })),
      }),
    )?.[1];

  it("are told of both settings, of one if that stays, and only in a running job", () => {
    const both: [typeof own, number][] = [
      [own, 0.19],
      [eight, 0.012],
    ];
    expect(waits(own, both)).toBe("the loop waits 19 % of its time for data, then 2 %");
    expect(waits(eight, both)).toBe("the loop waits 2 % of its time for data");
    expect(waits(own, [[eight, 0.009]])).toBe("the loop waits less than 1 % of its time for data");
    expect(waits(own, [[own, 0.19]])).toBeUndefined();
    expect(waits(own, both, "torch")).toBeUndefined();
  });
});

describe("a perfect loader", () => {
  const gains = (waitShare: number, epochTurns: { batches: number; firstBatchNs: number }[] = []) =>
    perfectLoader({
      ...buildTried(own, 100),
      trials: [
        buildTrial({
          waitNsPerBatch: waitShare * 1e7,
          epochTurns: epochTurns.map((turn) => ({ betweenNs: 0, ...turn })),
        }),
      ],
    });

  it("saves the waits within epochs and those at their starts, a batch's share of each", () => {
    expect(gains(0.2)).toBe("a loader without any waits would make the job at most 1.25× as fast");
    const turns = [
      { batches: 50, firstBatchNs: 100e6 },
      { batches: 100, firstBatchNs: 100e6 },
      { batches: 25, firstBatchNs: 100e6 },
    ];
    // 2 ms of 10 ms a batch more.
    expect(gains(0.3, turns)).toBe("a loader without any waits would make the job at most 2.0× as fast");
  });

  it("is of no use to a loop that hardly waits, and unknown of one that does nothing else", () => {
    expect(gains(0.009)).toBe("no loader would make the job notably faster");
    expect(gains(1)).toBeNull();
    expect(perfectLoader(buildTried(own, null))).toBeNull();
  });
});

describe("the choice between no workers and some", () => {
  const none = usualSetting(0, false);
  const assumed = (setting: typeof own, rates: [number, number | null][], probe: TuningPart["probe"] = {}) =>
    overlapAssumption(
      ...of({
        ...{ probe, recommendation: { setting, score: buildScore(100) } },
        tried: rates.map(([workers, rate]) => buildTried(usualSetting(workers, false), rate)),
      }),
    );

  it("rests on an assumption if there is no step, and both were measured", () => {
    expect(
      assumed(none, [
        [0, 100],
        [4, 50],
      ]),
    ).toContain("unless 0 workers are over 1.25× as fast");
    expect(
      assumed(none, [
        [0, 100],
        [4, null],
      ]),
    ).toBeNull();
    expect(
      assumed(eight, [
        [0, 110],
        [8, 100],
      ]),
    ).toContain("0 workers bring 110 batches/s here");
    expect(
      assumed(eight, [
        [0, 100],
        [8, 100],
      ]),
    ).toContain("0 workers bring 100 batches/s here");
    expect(
      assumed(eight, [
        [0, 99],
        [8, 100],
      ]),
    ).toBeNull();
    const both: [number, number][] = [
      [0, 100],
      [4, 50],
    ];
    expect(assumed(none, both, { stepNs: 1e6 })).toBeNull();
    expect(assumed(none, both, { kind: "live" })).toBeNull();
  });
});
