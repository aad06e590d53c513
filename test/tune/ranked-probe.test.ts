import { describe, expect, it, vi } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import type { Probe, ProbeFacts, Trial, TrialControl } from "../../src/tune/loader-probe.js";
import { openRankedProbe } from "../../src/tune/ranked-probe.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { evenly, failureOf, trialOf } from "../helpers/tune.js";

const ms = 1e6;
const four = usualSetting(4, false);
const never = new AbortController().signal;

/** A rank of which a test says when its batches arrive, and what else becomes of its trial. */
class Rank implements Probe {
  readonly facts: ProbeFacts;
  isClosed = false;
  isAborted = false;
  /** Batches that it had delivered when it got the signal to end. */
  delivered = 0;

  constructor(
    readonly gapMs: number,
    readonly changes: Partial<Trial> = {},
    facts: Partial<ProbeFacts> = {},
  ) {
    this.facts = { ...simulatedFacts, notes: [], ...facts };
  }

  /** One batch after the other, in turns with the other ranks. */
  async measure(setting: LoaderSetting, control: TrialControl): Promise<Trial> {
    const arrivalsNs = evenly(100, this.gapMs * ms);
    for (this.delivered = 1; this.delivered <= arrivalsNs.length; ++this.delivered) {
      await Promise.resolve();
      this.isAborted = control.signal.aborted;
      if (this.isAborted || control.enough(arrivalsNs.slice(0, this.delivered))) break;
      if (this.changes.failure && this.delivered === 3) break;
    }
    const failure = this.isAborted ? null : (this.changes.failure ?? null);
    return trialOf(setting, arrivalsNs.slice(0, this.delivered), {
      ...this.changes,
      aborted: this.isAborted,
      failure,
    });
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

const rankedOf = (...ranks: Rank[]) => openRankedProbe(ranks.length, async (rank) => ranks[rank]!);
const until = (batches: number, signal = never): TrialControl => ({
  enough: (arrivalsNs) => arrivalsNs.length >= batches,
  signal,
  timeoutNs: 30e9,
});

describe("a trial of several ranks", () => {
  it("counts a batch when the slowest rank has it", async () => {
    const slow = new Rank(20);
    const ranked = await rankedOf(new Rank(10), slow, new Rank(5));
    const trial = await ranked.measure(four, until(10));
    expect(trial).toMatchObject({ setting: four, aborted: false, failure: null });
    expect(trial.arrivalsNs).toEqual(evenly(10, 20 * ms));
    expect(slow.delivered).toBeLessThan(15);
  });

  it("reports means over its ranks, and one rank's share of the /dev/shm in use", async () => {
    const ranked = await rankedOf(
      new Rank(10, {
        waitNsPerBatch: 2e6,
        pinnedBytes: 100,
        workerPrivateBytes: 50,
        sharedMemoryBytes: 600,
        sampleCopies: 1,
        ...{ copyNsPerBatch: 1e6, makeNsPerBatch: 20e6, collateNsPerBatch: 5e6, handOverNsPerBatch: 7e6 },
        ...{ workerEpochBytes: 500, storageReadBytes: 10 },
      }),
      new Rank(10, {
        waitNsPerBatch: 4e6,
        pinnedBytes: 300,
        workerPrivateBytes: null,
        sharedMemoryBytes: 590,
        sampleCopies: 2,
        ...{ copyNsPerBatch: 2e6, makeNsPerBatch: 40e6, collateNsPerBatch: 6e6, handOverNsPerBatch: 8e6 },
        ...{ workerEpochBytes: 700, storageReadBytes: 21 },
      }),
    );
    expect(await ranked.measure(four, until(5))).toMatchObject({
      waitNsPerBatch: 3e6,
      pinnedBytes: 200,
      workerPrivateBytes: 50,
      sharedMemoryBytes: 300,
      sampleCopies: 2,
      ...{ copyNsPerBatch: 1.5e6, makeNsPerBatch: 30e6, collateNsPerBatch: 5.5e6, handOverNsPerBatch: 7.5e6 },
      ...{ workerEpochBytes: 600, storageReadBytes: 16 },
    });
  });

  it("does not fail if a rank fails only while it stops, after enough batches", async () => {
    const ending = new Rank(10);
    const measure = ending.measure.bind(ending);
    ending.measure = async (setting, control) => {
      const trial = await measure(setting, control);
      return ending.isAborted ? { ...trial, failure: failureOf("worker-killed") } : trial;
    };
    const ranked = await rankedOf(ending, new Rank(10));
    expect(await ranked.measure(four, until(10))).toMatchObject({ failure: null, aborted: false });
    expect(ending.isAborted).toBe(true);
  });

  it("reports the binding of each rank to CPUs", async () => {
    const placed = (rank: number) =>
      new Rank(10, {}, { places: [{ rank, place: { cpus: [rank], memoryPolicy: null, pciBusId: null } }] });
    const { facts } = await rankedOf(placed(0), placed(1), new Rank(10));
    expect(facts.places!.map(({ place }) => place.cpus)).toEqual([[0], [1]]);
  });

  it("is prepared in all ranks, and closing it closes all of them", async () => {
    const ready: number[] = [];
    const ranks = [0, 1, 2].map((rank) =>
      Object.assign(new Rank(10), { ready: async () => void ready.push(rank) }),
    );
    const ranked = await rankedOf(...ranks);
    await ranked.ready!(never);
    expect(ready).toEqual([0, 1, 2]);
    await ranked.close();
    expect(ranks.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
  });

  it("takes the largest, not the sum, of /dev/shm use if each rank measures only its own", async () => {
    const native = { kind: "native" } as const;
    const ranked = await rankedOf(
      new Rank(10, { sharedMemoryBytes: 600 }, native),
      new Rank(10, { sharedMemoryBytes: 590 }, native),
    );
    expect(await ranked.measure(four, until(5))).toMatchObject({ sharedMemoryBytes: 600 });
  });

  it("fails if one rank fails, and ends the others", async () => {
    const other = new Rank(10);
    const ranked = await rankedOf(new Rank(10, { failure: failureOf("worker-killed") }), other);
    const trial = await ranked.measure(four, until(50));
    expect(trial).toMatchObject({ aborted: false, failure: { fault: "worker-killed" } });
    expect(other.isAborted).toBe(true);
    expect(other.delivered).toBeLessThan(10);
  });

  it("is aborted if its end is requested", async () => {
    const ranked = await rankedOf(new Rank(10), new Rank(10));
    const trial = await ranked.measure(four, until(50, AbortSignal.abort()));
    expect(trial).toMatchObject({ aborted: true, failure: null, arrivalsNs: [] });
  });

  it("rejects with the error of one rank, once all have ended", async () => {
    const broken = new Rank(10);
    broken.measure = () => Promise.reject(new PinbenchError("measurement", "The device is lost."));
    const other = new Rank(10);
    const ranked = await rankedOf(broken, other);
    await expect(ranked.measure(four, until(50))).rejects.toThrow("The device is lost.");
    expect(other.isAborted).toBe(true);
  });

  it("begins when all ranks are ready", async () => {
    const [first, second] = [new Rank(10), new Rank(10)];
    const order: string[] = [];
    const measure = vi.spyOn(first, "measure").mockImplementation((setting) => {
      order.push("measured");
      return Promise.resolve(trialOf(setting, []));
    });
    Object.assign(second, {
      ready: () => new Promise<void>((resolve) => setTimeout(() => resolve(void order.push("ready")), 5)),
    });
    await (await rankedOf(first, second)).measure(four, until(1));
    expect(measure).toHaveBeenCalled();
    expect(order).toEqual(["ready", "measured"]);
  });
});

it("opening ranks fails if one cannot be opened, and closes the opened ones", async () => {
  const ranks = [0, 1, 2, 3].map(() => new Rank(10));
  const open = async (rank: number) => {
    if (rank === 2) throw new PinbenchError("measurement", "Python was killed (SIGKILL).");
    return ranks[rank]!;
  };
  await expect(openRankedProbe(4, open)).rejects.toThrow("Python was killed");
  expect(ranks.map(({ isClosed }) => isClosed)).toEqual([true, true, false, true]);
});
