import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { Tuning } from "../../../src/results/tuning.js";
import { tuningReasons } from "../../../src/tune/report/tuning-reasons.js";
import { evenly } from "../../helpers/tune.js";
import { buildTrial, buildTried, buildTuning, type TuningPart } from "../../helpers/tuning.js";

const eight = usualSetting(8, false);

describe("what a batch's time in a worker goes to", () => {
  const timed = { makeNsPerBatch: 115e6, collateNsPerBatch: 20e6, handOverNsPerBatch: 5e6 };
  const linesOf = (tried: Tuning["tried"], recommendation: TuningPart["recommendation"] = {}) =>
    tuningReasons(buildTuning({ tried, recommendation })).filter((line) =>
      /a batch takes (a|the) worker/.test(line),
    );

  it("is the middle of what trials of the recommended setting have", () => {
    const trials = [timed, { ...timed, makeNsPerBatch: 95e6 }, { ...timed, makeNsPerBatch: 400e6 }];
    const one = { ...buildTried(eight, 72), trials: trials.map((part) => buildTrial(part)) };
    expect(
      linesOf([buildTried(usualSetting(2, false), 30, { ...timed, collateNsPerBatch: 1e6 }), one]),
    ).toEqual([
      "With 8 workers, a batch takes a worker 120 ms: 95 ms samples, 20 ms collate, 5 ms hand-over.",
    ]);
  });

  it("is that of the nearest number of workers, if the recommended setting's are the script's own", () => {
    const tried = [
      buildTried(eight, 72, { makeNsPerBatch: 90e6 }),
      buildTried(usualSetting(12, false), 72, timed),
      buildTried(usualSetting(1, false), 10, { ...timed, handOverNsPerBatch: 0.04e6 }),
    ];
    expect(linesOf(tried)).toEqual([expect.stringMatching(/^With 12 workers/)]);
    expect(linesOf(tried, { setting: usualSetting(0, false) })).toEqual([
      "With 1 worker, a batch takes the worker 116 ms: 95 ms samples, 20 ms collate, 0.04 ms hand-over.",
    ]);
  });

  it("has no negative part if collating took longer by its own clock", () => {
    expect(linesOf([buildTried(eight, 72, { ...timed, collateNsPerBatch: 116e6 })])[0]).toContain(
      ": 0 ms samples, 116 ms collate,",
    );
  });

  it("has no collate of its own if the data set makes whole batches", () => {
    const { collateNsPerBatch: _, ...whole } = timed;
    expect(linesOf([buildTried(eight, 72, whole)])).toEqual([
      "With 8 workers, a batch takes a worker 120 ms: 115 ms samples and collate together, 5 ms hand-over.",
    ]);
  });

  it("is left out if it was not timed", () => {
    expect(linesOf([buildTried(eight, 72, { makeNsPerBatch: 115e6 })])).toEqual([]);
    expect(linesOf([buildTried(eight, 72, { handOverNsPerBatch: 5e6 })])).toEqual([]);
    expect(linesOf([buildTried(usualSetting(0, false), 72, timed)])).toEqual([]);
  });
});

describe("fewer workers without time to spare", () => {
  it("are said to be why more are recommended", () => {
    const recommendation = { fewerBusy: { numWorkers: 3, busyShare: 0.817 } };
    expect(tuningReasons(buildTuning({ recommendation }))).toContain(
      "3 workers were nearly as fast, but busy for 81 % of the time: whenever the machine is slower, the loop would wait for them.",
    );
    expect(tuningReasons(buildTuning()).join()).not.toContain("nearly as fast");
  });
});

describe("what storage gives", () => {
  const storage = { bytesPerSecond: 1.9e9, threads: 4 };
  /** 8 workers that make 72 batches a second, with this many bytes of files each. */
  const lineOf = (bytesPerBatch: number, part: Partial<Tuning> = {}, also: TuningPart = {}) => {
    const trial = { arrivalsNs: evenly(92, 14e6), storageReadBytes: 100 * bytesPerBatch };
    const tuning = { ...buildTuning({ ...also, tried: [buildTried(eight, 72, trial)] }), storage, ...part };
    return tuningReasons(tuning).find((line) => line.startsWith("Storage"));
  };

  it("is the limit if the loader takes nearly all of it", () => {
    expect(lineOf(1.7e9 / 72)).toBe(
      "Storage gives at most 1.90 GB/s (4 threads that only read), the loader takes 1.70 GB/s: more workers gain nothing.",
    );
    expect(lineOf(1.6e9 / 72)).toMatch(/the loader takes 1\.60 GB\/s\.$/);
    expect(lineOf(0.85e9 / 72, {}, { machine: { ranks: 2 } })).toMatch(
      /takes 1\.70 GB\/s: more workers gain nothing\.$/,
    );
  });

  it("is left out if it, or the loader's rate of reading, was not measured", () => {
    expect(lineOf(1.7e9 / 72, { storage: undefined })).toBeUndefined();
    expect(lineOf(0)).toBeUndefined();
    // A second epoch's files come from memory.
    expect(lineOf(1.7e9 / 72, {}, { probe: { epochBatches: 100 } })).toBeDefined();
    expect(lineOf(1.7e9 / 72, {}, { probe: { epochBatches: 99 } })).toBeUndefined();
  });
});

describe("the limit", () => {
  const limitOf = (part: TuningPart) => tuningReasons(buildTuning(part))[1];

  it("is not the time between two epochs, though that is known, unless it takes most", () => {
    const epochs = { batches: 80, betweenNs: 40e6, firstBatchNs: 250e6, isMeasured: true, share: 0.2 };
    expect(limitOf({ probe: { kind: "live" }, recommendation: { limit: "workers", epochs } })).toMatch(
      /^The loader gives /,
    );
  });

  it("are workers, of which a single one more was of no use", () => {
    const tried = [buildTried(eight, 72), buildTried(usualSetting(9, false), 72)];
    expect(limitOf({ tried })).toContain("all 8 workers are busy, and more of them bring hardly more");
    expect(limitOf({ tried: tried.slice(0, 1) })).toMatch(/all 8 workers are busy; with/);
  });

  it("is the transfer itself where batches are pinned, or cannot be", () => {
    const text = (pinMemory: boolean, pinningOff: string | null) =>
      limitOf({ probe: { pinningOff }, recommendation: { limit: "link", setting: { ...eight, pinMemory } } });
    for (const itself of [text(true, null), text(false, "torch sees no GPU")]) {
      expect(itself).toContain("the transfer itself is the limit");
    }
    expect(text(false, null)).toContain("the transfer of batches that are not pinned is the limit");
  });

  it("is no rank if only one has told how long it waits", () => {
    const tried = [buildTried(eight, 72, { rankWaits: [{ rank: 0, waitNs: 9e6 }] })];
    expect(tuningReasons(buildTuning({ tried })).join()).not.toContain("Rank 0");
  });
});
