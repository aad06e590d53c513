import { describe, expect, it, onTestFinished, vi } from "vitest";
import { defaultsOf } from "../../../src/settings/settings.js";
import { tuneSettings } from "../../../src/settings/tune-settings.js";
import { LiveJob } from "../../../src/tune/live/live-job.js";
import type { HookMessage } from "../../../src/tune/live/live-messages.js";
import type { LoaderRecord } from "../../../src/tune/live/loader-record.js";
import { chooseTarget, openLive } from "../../../src/tune/live/open-live.js";
import { batches, changed, epoch, every, firstBatch, loaderOf, ms } from "./told.js";

/** A loader that has delivered this many batches, `step` milliseconds apart. */
function used(
  loader: number,
  step: number,
  count: number,
  how: { waitMs?: number; grad?: boolean } = {},
): LoaderRecord {
  const record = loaderOf({ loader });
  record.add(epoch("begin", 0));
  record.add(firstBatch(loader));
  record.add(batches(0, every(step, 0, count), how));
  return record;
}

const chosen = (loaders: LoaderRecord[]) => chooseTarget(loaders)?.reported.loader ?? null;

describe("the loader that is tuned", () => {
  it("is the one that training spends its time on, even if validation runs first", () => {
    expect(chosen([used(1, 10, 1000, { grad: false }), used(2, 50, 100)])).toBe(2);
    expect(chosen([used(1, 50, 100), used(2, 10, 250)])).toBe(1);
  });

  it("is the loader that the loop waits for, if one loop alternates between two loaders", () => {
    expect(chosen([used(1, 50, 100, { waitMs: 1 }), used(2, 50, 99, { waitMs: 30 })])).toBe(2);
  });

  it("is not chosen by the slow first steps", () => {
    expect(chosen([used(1, 50, 30)])).toBeNull();
    expect(chosen([used(1, 4000, 7)])).toBeNull();
    expect(chosen([used(1, 4000, 8)])).toBe(1);
    const compiling = loaderOf();
    for (const message of [epoch("begin", 0), firstBatch(), batches(0, [0, 13_700])]) compiling.add(message);
    compiling.add(batches(0, every(50, 13_750, 20)));
    expect(chosen([compiling])).toBeNull();
    compiling.add(batches(0, every(50, 14_750, 30)));
    expect(chosen([compiling])).toBe(1);
  });

  it("is not the validation loader if the training's first step takes long", () => {
    const sanityCheck = used(1, 2000, 12, { grad: false });
    expect(chosen([sanityCheck, used(2, 0, 1)])).toBeNull();
    expect(chosen([sanityCheck])).toBe(1);
  });

  it("is one without gradients only if no other appears for a while", () => {
    expect(chosen([used(1, 50, 180, { grad: false })])).toBeNull();
    expect(chosen([used(1, 50, 220, { grad: false })])).toBe(1);
  });

  it("is never one that has not delivered a batch", () => {
    expect(chosen([loaderOf()])).toBeNull();
  });

  it("is also tuned in ranks that come within 5 s of its choice, however late the choice was", async () => {
    vi.useFakeTimers({ toFake: ["hrtime"] });
    onTestFinished(() => void vi.useRealTimers());
    const members = [0, 1].map((rank) => ({
      ...{ hello: { rank, worldSize: 2, localWorldSize: 2 }, send: () => undefined },
      ...{ loaders: new Map<number, LoaderRecord>(), firstBatchNs: 0, isConnected: true },
    }));
    const over = new AbortController().signal;
    const job = { members, over, process: { exit: Promise.resolve() }, fault: null, pythons: {} };
    vi.spyOn(LiveJob, "start").mockResolvedValueOnce(job as never);
    const settings = defaultsOf(tuneSettings);
    const opening = openLive({ command: [], settings, signal: over, onStart: () => undefined });
    for (const { loaders } of members) {
      await vi.advanceTimersByTimeAsync(4500);
      loaders.set(1, used(1, 50, 100));
      // Until it is looked for once more.
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    expect((await opening).facts.notes).toEqual([]);
  });
});

describe("a loader's record", () => {
  it("excludes the time between epochs from that of the training loop", () => {
    const record = used(1, 10, 11);
    record.add(epoch("end", 101));
    record.add(epoch("begin", 5000));
    record.add(batches(0, [5010, 5020]));
    // Nor the time of the first five batches.
    expect(record.loop.training).toEqual({ ns: ms(70), waitNs: ms(7) });
    expect(record).toMatchObject({ delivered: 13, epochBatches: 11, batchesOfEpoch: 2, isInEpoch: true });
  });

  const toldOf = (...told: HookMessage[]) => {
    const record = loaderOf();
    for (const message of told) record.add(message);
    return record;
  };

  it("is under way after its first five batches", () => {
    const record = toldOf(firstBatch(), batches(0, every(10, 10, 5)));
    expect(record.isUnderWay).toBe(false);
    record.add(batches(0, [60]));
    expect(record.isUnderWay).toBe(true);
  });

  it("lists each change of epoch under a setting, timed from the loop's last batch", () => {
    const own = [epoch("begin", 0), batches(0, [10, 20, 30]), epoch("end", 31), changed(1, 35)];
    const record = toldOf(...own, epoch("begin", 100), batches(1, [110, 120]), epoch("begin", 150));
    record.add(batches(1, [170]));
    expect(record.change(1)).toMatchObject({
      epochStarts: new Map([
        [0, ms(100)],
        [2, ms(150)],
      ]),
      turns: [
        { index: 0, turn: { batches: 3, betweenNs: ms(70), firstBatchNs: ms(10) } },
        { index: 2, turn: { batches: 2, betweenNs: ms(30), firstBatchNs: ms(20) } },
      ],
    });
  });

  it("never reports a negative time between two epochs", () => {
    const record = toldOf(epoch("begin", 0), batches(0, [10, 20, 30]), epoch("begin", 29), batches(0, [40]));
    expect(record.change(0)!.turns).toMatchObject([{ turn: { betweenNs: 0, firstBatchNs: ms(11) } }]);
  });

  it("distinguishes an epoch of one batch from a script's look at one batch", () => {
    const first = [epoch("begin", 0), batches(0, [10])];
    const next = [epoch("begin", 50), batches(0, [60, 70])];
    const short = toldOf(...first, epoch("end", 20), ...next);
    expect([short.epochBatches, short.change(0)!.turns.length]).toEqual([1, 1]);
    const look = toldOf(...first, ...next);
    expect([look.epochBatches, look.change(0)!.turns.length]).toEqual([null, 0]);
    // A repeated end of an epoch is ignored.
    short.add(epoch("end", 80));
    short.add(epoch("end", 81));
    expect(short.epochBatches).toBe(2);
  });

  it("remembers that the loader has trained, even while it validates", () => {
    expect(toldOf(batches(0, [10]), batches(0, [20], { grad: false })).hasTrained).toBe(true);
    expect(toldOf(batches(0, [20], { grad: false })).hasTrained).toBe(false);
  });

  it("marks an epoch as over once all of its batches have come", () => {
    const record = loaderOf({ epochBatches: 3 });
    for (const message of [epoch("begin", 0), batches(0, [10, 20])]) record.add(message);
    expect(record.isInEpoch).toBe(true);
    record.add(batches(0, [30]));
    expect(record.isInEpoch).toBe(false);
    record.add(epoch("begin", 90_000));
    expect(record.isInEpoch).toBe(true);
  });
});
