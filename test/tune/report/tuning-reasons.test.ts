import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import { formatRate } from "../../../src/tune/report/tuning-gain.js";
import { tuningReasons } from "../../../src/tune/report/tuning-reasons.js";
import { buildScore, buildTried, buildTuning, type TuningPart } from "../../helpers/tuning.js";

const reasons = (part: TuningPart = {}) => tuningReasons(buildTuning(part));
const none = usualSetting(0, false);
const eight = usualSetting(8, false);

it("are none without a recommendation", () => {
  expect(reasons({ recommendation: null })).toEqual([]);
});

describe("the first reason says what it brings", () => {
  const gain = (part: TuningPart = {}) => reasons(part)[0];
  const own = usualSetting(16, false);

  const changed = (low: number, high: number, ratio = (low + high) / 2) => ({ gain: { ratio, low, high } });

  it("against DataLoader's defaults, with the intervals of both rates and of the gain", () => {
    expect(gain()).toBe(
      "8 workers, not pinned: 72.0 ±1.0 % batches/s, against 20.0 ±1.0 % with DataLoader's defaults (0 workers, not pinned): 3.5× to 3.7×.",
    );
  });

  it("against the user's own settings", () => {
    const part = { probe: { startingPoint: usualSetting(2, true) }, startingScore: buildScore(50) };
    expect(gain({ ...part, recommendation: changed(1.412, 1.464) })).toBe(
      "8 workers, not pinned: 72.0 ±1.0 % batches/s, against 50.0 ±1.0 % with your DataLoader's own settings (2 workers, pinned): 1.41× to 1.47×.",
    );
  });

  it("if it is no faster: that it needs fewer workers", () => {
    const part = {
      probe: { startingPoint: own },
      startingScore: buildScore(72.5),
      recommendation: changed(0.98, 1.006),
    };
    expect(gain(part)).toBe(
      "8 workers, not pinned: 72.0 ±1.0 % batches/s, against 72.5 ±1.0 % with your DataLoader's own settings (16 workers, not pinned): as fast within 2 %, with 8 workers fewer.",
    );
    const alike = { ...part, probe: { startingPoint: { ...eight, persistentWorkers: false } } };
    expect(gain(alike)).toMatch(/\(8 workers, not pinned\): as fast within 2 %\.$/);
    const one = { ...part, probe: { startingPoint: usualSetting(9, false) } };
    expect(gain(one)).toMatch(/as fast within 2 %, with 1 worker fewer\.$/);
  });

  it("if the user has it already: that no change is worthwhile", () => {
    expect(gain({ recommendation: { setting: none, score: buildScore(20) } })).toBe(
      "DataLoader's defaults (0 workers, not pinned) give 20.0 ±1.0 % batches/s, and no other tried setting is worth a change.",
    );
    expect(gain({ probe: { startingPoint: eight }, startingScore: buildScore(72) })).toBe(
      "Your DataLoader's own settings (8 workers, not pinned) give 72.0 ±1.0 % batches/s, and no other tried setting is worth a change.",
    );
  });

  it("and that there is nothing to compare with", () => {
    expect(gain({ startingScore: null })).toBe(
      "8 workers, not pinned: 72.0 ±1.0 % batches/s; there is no rate of DataLoader's defaults (0 workers, not pinned) to compare with.",
    );
  });

  describe("of a running job", () => {
    const script = usualSetting(16, false);
    const live = (waitMs: [number, number], part: TuningPart = {}): TuningPart => ({
      probe: { kind: "live", startingPoint: script },
      tried: [
        buildTried(script, 50, { waitNsPerBatch: waitMs[0] * 1e6 }),
        buildTried(eight, 72, { waitNsPerBatch: waitMs[1] * 1e6 }),
      ],
      startingScore: buildScore(50),
      ...part,
    });

    it("nothing of copies, which are a part of the loop: of the hand-over alone", () => {
      const [, second] = reasons(live([3.8, 2], { recommendation: { limit: "hand-over" } }));
      expect(second).toContain("the loop waits for the hand-over of batches, not for the making");
      expect(second).not.toContain("transfer");
    });

    it("nothing on pinning with another number of workers", () => {
      const second = (numWorkers: number) =>
        reasons(
          live([3.8, 0.14], {
            recommendation: {
              pinning: { numWorkers, savedNsPerBatch: 1e6, savedNsLow: -20e6, savedNsHigh: 22e6 },
            },
          }),
        )[1];
      expect(second(4)).not.toContain("pin_memory");
      expect(second(8)).toContain("with 8 workers pin_memory saves or costs less than");
    });

    it("that it has what it needs", () => {
      const recommendation = {
        setting: script,
        score: buildScore(50),
        limit: "step",
        pinning: null,
      } as const;
      expect(reasons(live([0.1, 1], { recommendation }))).toEqual([
        "The script's own settings (16 workers, not pinned) give 50.0 ±1.0 % batches/s, and no other tried setting is worth a change; the loop waits less than 1 % of its time for data.",
        "The training step itself is the limit, not the loader.",
        "With the script's own settings, no loader would make the job notably faster.",
      ]);
    });
  });
});

describe("a third reason gives the assumption of a choice without a step", () => {
  const third = (part: TuningPart = {}) => reasons(part)[2] ?? null;
  const tried = [buildTried(none, 80), buildTried(eight, 72)];

  it("if workers are preferred to none that bring more here", () => {
    expect(third({ tried })).toBe(
      "Measured without a training step: 0 workers bring 80.0 batches/s here, but make none during a step that blocks, so workers are preferred unless 0 workers are over 1.25× as fast.",
    );
  });
});

describe("the second reason says what the limit is", () => {
  const limit = (part: TuningPart = {}, recommendation: TuningPart["recommendation"] = {}) =>
    reasons({ ...part, recommendation: { pinning: null, ...recommendation } })[1];
  const given = "The loader gives 2.77 GB/s, the link takes 55.3 GB/s";
  const tried = [buildTried(none, 20), buildTried(eight, 72)];

  it("the step", () => {
    const step = { probe: { stepNs: 13.7e6 } };
    expect(limit(step, { limit: "step", dataShareOfStep: 0.0136 })).toBe(
      "The data add 0.2 ms to a 14 ms step: the loader is not the limit.",
    );
    expect(limit(step, { limit: "step", dataShareOfStep: 0, score: buildScore(1e3 / 13.7) })).toBe(
      "The data hide behind a 14 ms step: the loader is not the limit.",
    );
  });

  it("the link", () => {
    const setting = usualSetting(8, true);
    expect(limit({}, { limit: "link", setting })).toBe(`${given}: the transfer itself is the limit.`);
    expect(limit({}, { limit: "link" })).toBe(
      "The loader gives 2.77 GB/s, the link takes 11.2 GB/s: the transfer of batches that are not pinned is the limit.",
    );
  });

  it("the link, which is not known without a device", () => {
    expect(limit({ probe: { link: null, device: null } }, { limit: "hand-over" })).toBe(
      "The loader gives 2.77 GB/s: the hand-over of batches is the limit, not the transfer.",
    );
  });

  it.each([
    [{}, {}, "all 8 workers are busy"],
    [{ maxWorkers: 8 }, { usableCpus: 8 }, "all 8 workers that 8 CPUs allow are busy"],
    [{ maxWorkers: 8 }, { ranks: 2 }, "all 8 workers that 16 CPUs allow each of 2 ranks are busy"],
    [{ maxWorkers: 8 }, { usableCpus: 2 }, "all 8 workers that --max-workers allows are busy"],
    [{ maxWorkers: 8 }, { usableCpus: 16 }, "all 8 workers that --max-workers allows are busy"],
  ])("the workers, of %j and %j", (method, machine, words) => {
    expect(limit({ method, machine, tried }, { limit: "workers" })).toBe(
      `${given}: making samples is the limit; ${words}.`,
    );
  });

  it("one worker", () => {
    const part = { method: { maxWorkers: 1 }, machine: { usableCpus: 1 }, tried };
    expect(limit(part, { limit: "workers", setting: usualSetting(1, false) })).toContain(
      "making samples is the limit; the one worker that 1 CPU allows is busy",
    );
  });

  it("the workers, if more were tried", () => {
    expect(limit({}, { limit: "workers" })).toBe(
      `${given}: making samples is the limit; all 8 workers are busy, and more of them bring hardly more.`,
    );
    const slower = [...tried, buildTried(usualSetting(16, false), 70)];
    expect(limit({ tried: slower }, { limit: "workers" })).toMatch(/busy, and more of them bring less\.$/);
    const failed = [...tried, buildTried(usualSetting(16, false), null)];
    expect(limit({ tried: failed }, { limit: "workers" })).toMatch(/all 8 workers are busy\.$/);
  });

  it("the part that takes most of a worker's time, if not the samples", () => {
    const timed = (collateNsPerBatch: number, handOverNsPerBatch: number) =>
      limit(
        {
          tried: [buildTried(eight, 72, { makeNsPerBatch: 80e6, collateNsPerBatch, handOverNsPerBatch })],
        },
        { limit: "workers" },
      );
    expect(timed(60e6, 20e6)).toBe(
      `${given}: collate takes 60 % of a worker's time; all 8 workers are busy.`,
    );
    expect(timed(10e6, 120e6)).toBe(
      `${given}: the hand-over takes 60 % of a worker's time; all 8 workers are busy.`,
    );
    expect(timed(40e6, 20e6)).toBe(`${given}: making samples is the limit; all 8 workers are busy.`);
  });

  it("the training process", () => {
    const recommendation = { limit: "process", setting: none, score: buildScore(72) } as const;
    expect(limit({ tried }, recommendation)).toBe(
      `${given}: the training process makes the batches itself, one every 14 ms, and workers bring hardly more.`,
    );
    const slower = [buildTried(none, 72), buildTried(eight, 60)];
    expect(limit({ tried: slower }, recommendation)).toMatch(/one every 14 ms, and workers bring less\.$/);
    expect(limit({ tried: tried.slice(0, 1) }, recommendation)).toMatch(/itself, one every 14 ms\.$/);
  });

  it("the hand-over, or what stands for it without workers", () => {
    expect(limit({}, { limit: "unknown" })).toContain("the limit is not known");
    expect(limit({}, { limit: "hand-over" })).toBe(
      `${given}: the hand-over of batches is the limit, not the transfer.`,
    );
    expect(limit({}, { limit: "hand-over", setting: none })).toBe(
      `${given}: the training process takes longer to copy a batch than to make it.`,
    );
  });

  it("and what the data add to a step that does not hide them", () => {
    const part = { probe: { stepNs: 7e6 }, tried };
    expect(limit(part, { limit: "workers", dataShareOfStep: 0.496 })).toBe(
      `${given}: making samples is the limit; all 8 workers are busy; the data add 6.9 ms to a 7 ms step.`,
    );
  });
});

describe("the second reason's clause on pinning", () => {
  const pinning = (part: TuningPart, recommendation: NonNullable<TuningPart["recommendation"]>) =>
    reasons({ ...part, recommendation: { limit: "hand-over", ...recommendation } })[1]!
      .replace(/^.*?not the transfer/, "")
      .replace(/^.*?not the limit/, "");

  const saved = (lowMs: number, highMs: number, numWorkers = 16) => ({
    numWorkers,
    savedNsPerBatch: ((lowMs + highMs) / 2) * 1e6,
    savedNsLow: lowMs * 1e6,
    savedNsHigh: highMs * 1e6,
  });

  it.each([
    [1.5, 2, 16, "; with 16 workers pin_memory saves 1.5 to 2 ms a batch (a batch takes 14 ms)."],
    [-2.05, -2.05, 1, "; with 1 worker pin_memory costs 2.1 ms a batch (a batch takes 14 ms)."],
    [
      0.1,
      0.2,
      8,
      "; with 8 workers pin_memory saves 0.1 to 0.2 ms a batch (a batch takes 14 ms): it does not matter here.",
    ],
    [
      -0.012,
      -0.01,
      8,
      "; with 8 workers pin_memory costs 0.01 to 0.012 ms a batch (a batch takes 14 ms): it does not matter here.",
    ],
    [-2, 3, 16, "; with 16 workers pin_memory saves or costs less than 3 ms a batch (a batch takes 14 ms)."],
    [-2, 3, 8, "; with 8 workers pin_memory saves or costs less than 3 ms a batch (a batch takes 14 ms)."],
    [
      -0.1,
      0.2,
      8,
      "; with 8 workers pin_memory saves or costs less than 0.2 ms a batch (a batch takes 14 ms): it does not matter here.",
    ],
  ])("that it saves %d to %d ms with %i workers", (low, high, numWorkers, words) => {
    expect(pinning({}, { pinning: saved(low, high, numWorkers) })).toBe(words);
  });

  it("that it is undecided, with too few batches for an interval", () => {
    const open = { ...saved(10, 10), savedNsLow: null, savedNsHigh: null };
    expect(pinning({}, { pinning: open })).toBe(
      "; too few batches arrived to show what pin_memory does with 16 workers.",
    );
  });

  it("that it does not matter if a step hides loading without it, however much it saves", () => {
    const part = { probe: { stepNs: 70e6 } };
    const setting = usualSetting(0, true);
    expect(pinning(part, { setting, limit: "step", dataShareOfStep: 0, pinning: saved(6, 6) })).toBe(
      "; with 16 workers pin_memory saves 6 ms a batch (a step takes 70 ms).",
    );
    expect(pinning(part, { limit: "step", dataShareOfStep: 0, pinning: saved(6, 6) })).toBe(
      "; with 16 workers pin_memory saves 6 ms a batch (a step takes 70 ms): it does not matter here.",
    );
  });

  it("why it was not tried", () => {
    const part = { probe: { pinningOff: "torch sees no GPU" } };
    expect(pinning(part, { pinning: null })).toBe("; pinning was not tried: torch sees no GPU.");
  });

  it("nothing, if no two settings differ in it", () => {
    expect(pinning({}, { pinning: null })).toBe(".");
  });
});

it.each([
  [0.123, "0.12"],
  [9.999, "9.99"],
  [72.56, "72.5"],
  [3353.9, "3353"],
])("a rate of %f is %s: never rounded up", (rate, text) => {
  expect(formatRate(rate)).toBe(text);
});

describe("of a running job", () => {
  const own = { ...eight, persistentWorkers: false };
  const live = { kind: "live" as const, link: null, startingPoint: own };
  const turn = { batches: 80, betweenNs: 40e6, firstBatchNs: 250e6 };

  it("the gain of a perfect loader, starts of epochs included", () => {
    // 72 batches a second, each waited for 2.5 ms: 18 %, and 0.25 s in each 80 of them: 22.5 %.
    const epochTurns = [900e6, 250e6, 240e6].map((firstBatchNs) => ({ ...turn, firstBatchNs }));
    const tried = [buildTried(own, 72, { waitNsPerBatch: 2.5e6, epochTurns })];
    const part = { probe: live, tried, recommendation: { setting: own, gain: null } };
    expect(reasons(part)[2]).toBe(
      "With the script's own settings, a loader without any waits would make the job at most 1.69× as fast.",
    );
    const busy = [buildTried(own, 72, { waitNsPerBatch: 0.05e6 })];
    expect(reasons({ ...part, tried: busy })[2]).toBe(
      "With the script's own settings, no loader would make the job notably faster.",
    );
  });

  it("a rank that waits far longer than the others is named", () => {
    const rankWaits = [1, 6, 1.2, 0.9].map((waitMs, rank) => ({ rank, waitNs: waitMs * 1e6 }));
    const tried = (waits: typeof rankWaits) => [buildTried(own, 72, { rankWaits: waits })];
    const part = { probe: { ...live, startingPoint: null }, recommendation: { setting: own, gain: null } };
    expect(reasons({ ...part, tried: tried(rankWaits) })).toContain(
      "Rank 1 delays the others: it waits 44 % of the time for its data, the others 8 %.",
    );
    expect(reasons({ ...part, tried: tried(rankWaits.slice(0, 2)) })).toContain(
      "Rank 1 delays the others: it waits 44 % of the time for its data, the others 8 %.",
    );
    const alike = rankWaits.map((one) => ({ ...one, waitNs: 5e6 }));
    // The last trial says how it is now.
    const [before, now] = [tried(alike)[0]!, tried(rankWaits)[0]!];
    const both = (...waits: (typeof now)[]) => [{ ...now, trials: waits.flatMap(({ trials }) => trials) }];
    expect(reasons({ ...part, tried: both(before, now) }).join()).toContain("Rank 1");
    expect(reasons({ ...part, tried: both(now, before) }).join()).not.toContain("Rank 1");
    const short = rankWaits.map((one) => ({ ...one, waitNs: one.waitNs / 20 }));
    for (const waits of [alike, short])
      expect(reasons({ ...part, tried: tried(waits) }).join()).not.toContain("Rank");
  });

  it("the time between two epochs is named as the limit, with what was reckoned", () => {
    const epochs = { ...turn, isMeasured: true, share: 0.2 };
    const part = {
      probe: live,
      recommendation: { setting: own, limit: "epochs" as const, epochs, pinning: null },
    };
    expect(reasons(part)[1]).toBe(
      "Each epoch of 80 batches loses 0.23 s at its start: 20 % of this job's time (its first batch takes 0.25 s, and the script 0.04 s between two epochs).",
    );
    const reckoned = {
      ...part,
      recommendation: { ...part.recommendation, epochs: { ...epochs, isMeasured: false } },
    };
    expect(reasons(reckoned)[1]).toContain("its first batch takes 0.25 s (computed, not measured)");
  });
});
