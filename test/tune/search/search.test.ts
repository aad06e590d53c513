import { describe, expect, it } from "vitest";
import { torchDefault, usualSetting } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import type { TrialControl } from "../../../src/tune/loader-probe.js";
import { choose } from "../../../src/tune/search/choice.js";
import { search } from "../../../src/tune/search/search.js";
import type { Trials } from "../../../src/tune/search/trials.js";
import {
  generator,
  type SimulatedLoader,
  SimulatedProbe,
  simulatedFacts,
} from "../../helpers/simulated-loader.js";
import {
  bestRate,
  evenly,
  failureOf,
  limitsOf,
  ScriptedProbe,
  searched,
  signalWhen,
  trialOf,
  trialsOf,
  trueRate,
} from "../../helpers/tune.js";

const noise = { noise: 0.08, trialNoise: 0.02 };
/** Copies of a batch of 36.8 MiB on an H200, and handing it over. */
const usual = { handOverMs: 9.4, handOverPinnedMs: 10.7, copyMs: 4, copyPinnedMs: 1.2 };
const cheap: SimulatedLoader = { ...usual, makeMs: 5.5, handOverMs: 9.2, ...noise };
const costly: SimulatedLoader = { ...usual, makeMs: 55, contention: 0.02, ...noise };
const pinnedWins: SimulatedLoader = { ...costly, handOverPinnedMs: 5 };

const chosen = (trials: Trials): LoaderSetting => choose(trials.measured, trials.rule)!.setting;

describe("the choice", () => {
  it("for samples that are cheap to make is no workers, pinned: handing a batch over takes longer", async () => {
    for (const seed of [1, 2, 3]) {
      const trials = await searched(new SimulatedProbe(cheap, simulatedFacts, seed));
      expect(chosen(trials)).toEqual(usualSetting(0, true));
    }
  });

  it("for expensive samples is the plateau's edge, not pinned if the pinning thread delays", async () => {
    // 9.4 ms for handing over keep 6 workers busy, and contention some more.
    for (const seed of [2, 3, 4]) {
      const { numWorkers, pinMemory } = chosen(
        await searched(new SimulatedProbe(costly, simulatedFacts, seed)),
      );
      expect(numWorkers).toBeGreaterThanOrEqual(7);
      expect(numWorkers).toBeLessThanOrEqual(13);
      expect(pinMemory).toBe(false);
    }
  });

  it("is pinned if handing over pinned batches is cheaper", async () => {
    for (const seed of [1, 2, 3]) {
      const { numWorkers, pinMemory } = chosen(
        await searched(new SimulatedProbe(pinnedWins, simulatedFacts, seed)),
      );
      expect(pinMemory).toBe(true);
      expect(numWorkers).toBeGreaterThanOrEqual(11);
    }
  });

  it("is all or nearly all allowed workers if making samples is the limit", async () => {
    const slow = { ...usual, makeMs: 400, contention: 0.002 };
    const few = await searched(new SimulatedProbe(slow), { maxWorkers: 4 });
    expect(chosen(few)).toMatchObject({ numWorkers: 4, pinMemory: false });
    const many = await searched(new SimulatedProbe({ ...slow, startMsPerWorker: 5 }), { maxWorkers: 48 });
    expect(chosen(many).numWorkers).toBeGreaterThan(40);
  });

  it("also considers a longer prefetch if uneven samples leave the loop waiting for idle workers", async () => {
    const uneven = { ...usual, makeMs: 20, slowOneIn: 40, handOverMs: 3, handOverPinnedMs: 4 };
    const trials = await searched(new SimulatedProbe(uneven), { maxWorkers: 8 });
    expect(trials.tried.some(({ setting }) => setting.prefetchFactor === 4)).toBe(true);
  });
});

describe("for 40 random loaders", () => {
  interface Outcome {
    loader: SimulatedLoader;
    share: number;
    settings: number;
    spentNs: number;
  }
  let outcomes: Promise<Outcome[]> | null = null;

  /** Searched once, for all tests of this group. */
  function searchAll(): Promise<Outcome[]> {
    const random = generator(5);
    const between = (low: number, high: number) => low * (high / low) ** random();
    const loaders = Array.from({ length: 40 }, () => ({
      makeMs: between(2, 150),
      handOverMs: between(2, 12),
      handOverPinnedMs: between(2, 12),
      copyMs: between(1, 6),
      copyPinnedMs: between(0.5, 3),
      contention: between(0.001, 0.08),
      ...noise,
    }));
    outcomes ??= Promise.all(
      loaders.map(async (loader, index) => {
        const probe = new SimulatedProbe(loader, simulatedFacts, index + 101);
        const trials = await searched(probe);
        // Without a training step, workers are preferred to none near a tie.
        const factor = chosen(trials).numWorkers > 0 ? trials.overlapWorth : 1;
        const best = Math.max(await bestRate(loader, 16, 1), (await bestRate(loader, 0)) / factor);
        const share = (await trueRate(loader, chosen(trials))) / best;
        return { loader, share, settings: trials.tried.length, spentNs: probe.spentNs };
      }),
    );
    return outcomes;
  }

  it("the choice brings at least 97 % of what the best setting does", async () => {
    const bad = (await searchAll()).filter(({ share }) => share < 0.97);
    expect(bad).toEqual([]);
  });

  it("the search measures at most 14 settings, half of a grid's 28", async () => {
    for (const { settings, loader } of await searchAll()) {
      expect(settings, JSON.stringify(loader)).toBeLessThanOrEqual(14);
    }
  });

  it("the search takes at most 40 s of 60, and usually 18 s, repeated trials included", async () => {
    const spentS = (await searchAll()).map(({ spentNs }) => spentNs / 1e9).sort((a, b) => a - b);
    expect(spentS.at(-1)).toBeLessThanOrEqual(40);
    expect(spentS[20]).toBeLessThanOrEqual(18);
  });
});

describe("the search", () => {
  it("begins with DataLoader's defaults, then pinned, then many workers", async () => {
    const probe = new SimulatedProbe(costly);
    await searched(probe);
    expect(probe.order.slice(0, 4)).toEqual([
      torchDefault,
      usualSetting(0, true),
      usualSetting(16, false),
      usualSetting(16, true),
    ]);
  });

  it("begins with the settings of the user's own DataLoader, if known", async () => {
    const startingPoint = { ...usualSetting(3, true, 4), persistentWorkers: false, nonBlocking: false };
    const probe = new SimulatedProbe(costly, { ...simulatedFacts, startingPoint });
    const trials = await searched(probe);
    expect(probe.order.slice(0, 2)).toEqual([startingPoint, torchDefault]);
    expect(trials.tried[0]?.setting).toEqual(startingPoint);
  });

  it("continues if the user's own settings do not fit", async () => {
    const startingPoint = usualSetting(32, false);
    const trials = await searched(new SimulatedProbe(costly, { ...simulatedFacts, startingPoint }));
    expect(trials.skipped).toContainEqual({
      setting: startingPoint,
      reason: "32 workers are more than 16, by the CPUs of each rank or --max-workers",
    });
    expect(chosen(trials).numWorkers).toBeGreaterThan(6);
  });

  it("tries no pinning if pinning is useless", async () => {
    const probe = new SimulatedProbe(pinnedWins, { ...simulatedFacts, pinningOff: "torch sees no GPU" });
    const trials = await searched(probe);
    expect(probe.order.some(({ pinMemory }) => pinMemory)).toBe(false);
    expect(chosen(trials).numWorkers).toBeGreaterThanOrEqual(7);
  });

  it("tries no workers if they are useless", async () => {
    const probe = new SimulatedProbe(costly, { ...simulatedFacts, workersOff: "batches are CUDA tensors" });
    const trials = await searched(probe);
    expect(probe.order.every(({ numWorkers }) => numWorkers === 0)).toBe(true);
    expect(chosen(trials).numWorkers).toBe(0);
  });

  it.each([0, 2, 3])("stays within %i workers", async (maxWorkers) => {
    const probe = new SimulatedProbe(costly);
    const trials = await searched(probe, { maxWorkers });
    expect(Math.max(...probe.order.map(({ numWorkers }) => numWorkers))).toBe(maxWorkers);
    expect(chosen(trials).numWorkers).toBe(maxWorkers);
  });

  it("tries prefetch_factor 1 if /dev/shm is too small for more, and no more workers than fit", async () => {
    const { bytes } = simulatedFacts.batch;
    const limits = limitsOf({ sharedMemoryBytes: 10 * bytes });
    const probe = new SimulatedProbe(costly);
    const trials = await searched(probe, { limits });
    const most = Math.max(...probe.order.map(({ numWorkers }) => numWorkers));
    expect(most).toBe(8);
    expect(probe.order.find(({ numWorkers }) => numWorkers === 8)?.prefetchFactor).toBe(1);
    expect(trials.skipped.length).toBeGreaterThan(0);
    expect(chosen(trials).numWorkers).toBeGreaterThanOrEqual(6);
  });
});

/** Fails with the settings that a test chooses, after a few batches. */
class FailingProbe extends SimulatedProbe {
  constructor(
    readonly fails: (setting: LoaderSetting) => boolean,
    readonly everywhere = false,
    loader = costly,
  ) {
    super(loader);
  }

  override async measure(setting: LoaderSetting, control: TrialControl) {
    if (!this.fails(setting)) return super.measure(setting, control);
    this.order.push(setting);
    this.spentNs += 1e9;
    const failure = failureOf("worker-killed", { everywhere: this.everywhere });
    return trialOf(setting, [1e6, 2e6], { failure });
  }
}

describe("settings that fail", () => {
  it("leave a choice among the others", async () => {
    const trials = await searched(new FailingProbe(({ numWorkers }) => numWorkers > 11));
    expect(chosen(trials).numWorkers).toBeGreaterThanOrEqual(6);
    expect(chosen(trials).numWorkers).toBeLessThanOrEqual(11);
  });

  it("remain few if all settings with workers fail, as the number of workers is halved each time", async () => {
    const probe = new FailingProbe(({ numWorkers }) => numWorkers > 0);
    const trials = await searched(probe);
    expect(chosen(trials).numWorkers).toBe(0);
    const withWorkers = probe.order.filter(({ numWorkers }) => numWorkers > 0);
    expect(withWorkers.map(({ numWorkers }) => numWorkers)).toEqual([16, 8, 4, 2, 1]);
  });

  it("because of pinning leave a choice without pinning", async () => {
    const probe = new FailingProbe(({ pinMemory }) => pinMemory, false, pinnedWins);
    const { numWorkers, pinMemory } = chosen(await searched(probe));
    expect(pinMemory).toBe(false);
    expect(numWorkers).toBeGreaterThanOrEqual(7);
    expect(probe.order.filter((setting) => setting.pinMemory).length).toBeLessThanOrEqual(6);
  });

  it("because of 0 workers leave a choice with workers", async () => {
    const probe = new FailingProbe(({ numWorkers }) => numWorkers === 0);
    expect(chosen(await searched(probe)).numWorkers).toBeGreaterThanOrEqual(6);
  });

  it("for a reason common to all settings end the search", async () => {
    const probe = new FailingProbe(() => true, true);
    const trials = await searched(probe);
    expect(probe.order).toEqual([torchDefault]);
    expect(trials.measured).toEqual([]);
    const late = new FailingProbe(({ numWorkers }) => numWorkers > 0, true);
    await searched(late);
    expect(late.order).toHaveLength(3);
  });
});

describe("a search", () => {
  it("ends when its time is up", async () => {
    const probe = new SimulatedProbe(costly);
    await searched(probe, { signal: signalWhen(() => probe.order.length === 4) });
    expect(probe.order).toHaveLength(4);
    const late = new SimulatedProbe(costly);
    await searched(late, { signal: AbortSignal.abort() });
    expect(late.order).toEqual([]);
  });
});

it.each([
  ["preferred if trials had no step, during which 0 workers would load no batch", null, 1.1, true],
  ["not preferred if 0 workers are faster by far", null, 1.4, false],
  ["not preferred if trials had a step, which shows their benefit", 1e6, 1.1, false],
])("workers are %s", async (_, stepNs, factor, hasWorkers) => {
  const facts = { ...simulatedFacts, stepNs, pinningOff: "torch sees no GPU" };
  const probe = new ScriptedProbe((setting) => {
    const gapNs = setting.numWorkers === 0 ? 10e6 : 10e6 * factor;
    return trialOf(setting, evenly(200, gapNs), { waitNsPerBatch: gapNs, makeNsPerBatch: 10e6 });
  }, facts);
  const trials = trialsOf(probe);
  await search(trials, () => 0);
  expect(chosen(trials).numWorkers > 0).toBe(hasWorkers);
});
