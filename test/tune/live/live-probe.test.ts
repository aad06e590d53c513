import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { torchDefault, usualSetting } from "../../../src/results/loader-setting.js";
import { defaultsOf } from "../../../src/settings/settings.js";
import { type TuneSettings, tuneSettings } from "../../../src/settings/tune-settings.js";
import type { LiveJob } from "../../../src/tune/live/live-job.js";
import { LiveProbe } from "../../../src/tune/live/live-probe.js";
import { openLive } from "../../../src/tune/live/open-live.js";
import { jobEnded, type TrialControl } from "../../../src/tune/loader-probe.js";
import { ask, probeOf } from "./told.js";

/** Plays the hook: a program that sends scripted messages, without Python or data. */
const fakeJob = fileURLToPath(new URL("../../fixtures/tune/live/fake_job.mjs", import.meta.url));

/** The job ends with the test. */
async function openFor(
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  script: object,
  changes: Partial<TuneSettings> = {},
): Promise<LiveProbe> {
  let job: LiveJob | null = null;
  onTestFinished(async () => {
    await job?.end();
  });
  return openLive({
    command: [process.execPath, fakeJob, JSON.stringify(script)],
    settings: { ...defaultsOf(tuneSettings), budgetNs: 20e9, ...changes },
    signal: new AbortController().signal,
    onStart: (started) => {
      job = started;
    },
  });
}

const until = (batches: number, changes: Partial<TrialControl> = {}): TrialControl => ({
  enough: (arrivals) => arrivals.length >= batches,
  signal: new AbortController().signal,
  timeoutNs: 20e9,
  ...changes,
});

const twoWorkers = usualSetting(2, false);
const oneWorker = usualSetting(1, false);

// Concurrent, because these tests mostly wait.
describe.concurrent("a trial in a running job", () => {
  it("requests another setting, and continues with a setting in force without a request", async (test) => {
    const { expect } = test;
    const workersOff = "the batches are cuda tensors";
    const batch = { fileLimit: 1024, filesInUse: 30, device: "a GPU", workersOff };
    const probe = await openFor(test, { loader: { framework: "timm" }, batch });
    expect(probe.facts).toMatchObject({
      ...{ fileLimit: 1024, filesInUse: 30, device: "a GPU", framework: "timm" },
      workersOff,
      kind: "live",
      source: "loader 1: Fakes",
      runtime: "torch 0.0, Python 3.0",
      batch: { samples: 4, bytes: 256 },
      startingPoint: torchDefault,
      pinningOff: "no GPU",
      filesPerBatch: 1,
    });
    const own = await probe.measure(torchDefault, until(5));
    expect(own).toMatchObject({ aborted: false, failure: null, waitNsPerBatch: 10e6, makeNsPerBatch: 3e6 });
    expect(own.arrivalsNs.length).toBeGreaterThanOrEqual(5);
    const faster = await probe.measure(twoWorkers, until(30));
    expect(faster).toMatchObject({ failure: null, waitNsPerBatch: 5e6, setting: twoWorkers });
    // There is no second request: the batches so far count as the start.
    const again = await probe.measure(twoWorkers, until(9));
    expect(again.arrivalsNs.length).toBeLessThan(30);
    expect(again.waitNsPerBatch).toBe(5e6);
  });

  it("measures all ranks, which change the setting at the same batch", async (test) => {
    const { expect } = test;
    const places = [0, 1].map((node) => ({ cpus: [node], memoryPolicy: "default", pciBusId: null }));
    const probe = await openFor(test, { ranks: [0, 1], worldSize: 2, localWorldSize: 2, places });
    expect(probe.facts.places?.toSorted((a, b) => a.rank - b.rank)).toEqual(
      places.map((place, rank) => ({ rank, place })),
    );
    expect(probe.ranksOfNode).toBe(2);
    expect(probe.facts.waitsForRanks).toBe(true);
    const trial = await probe.measure(oneWorker, until(10));
    expect(trial).toMatchObject({ failure: null, aborted: false });
    expect(probe.facts.notes).toEqual([]);
  });

  it("fails if the hook reports that the setting failed, and the next trial runs", async (test) => {
    const { expect } = test;
    const probe = await openFor(test, { fails: [2] });
    expect(await probe.measure(twoWorkers, until(5))).toMatchObject({
      arrivalsNs: [],
      failure: { fault: "out-of-memory", message: "No room for it.", everywhere: false },
    });
    expect(await probe.measure(torchDefault, until(5))).toMatchObject({ failure: null });
    expect(await probe.measure(oneWorker, until(5))).toMatchObject({ failure: null });
    // The job is back at its own setting then, and not at the one before.
    expect(await probe.measure(twoWorkers, until(5))).toMatchObject({ failure: { fault: "out-of-memory" } });
    const again = until(5, { timeoutNs: 2e9 });
    expect(await probe.measure(oneWorker, again)).toMatchObject({ failure: null, waitNsPerBatch: 5e6 });
  });

  it("ends with its results so far if the job ends, and no further trial begins", async (test) => {
    const { expect } = test;
    const probe = await openFor(test, { endsAt: 200, countsFromTarget: true, epochBatches: 1000 });
    const trial = await probe.measure(torchDefault, until(Number.POSITIVE_INFINITY));
    expect(trial).toMatchObject({ aborted: true, failure: null });
    expect(trial.arrivalsNs.length).toBeGreaterThan(50);
    expect(probe.over.reason).toBe(jobEnded);
    expect(await probe.measure(twoWorkers, until(1))).toMatchObject({ aborted: true });
  });

  it("notes the ranks that it does not reach", async (test) => {
    const { expect } = test;
    const probe = await openFor(test, { ranks: [0], worldSize: 4, localWorldSize: 2 });
    expect(probe.facts.waitsForRanks).toBe(true);
    expect(probe.facts.notes).toEqual([
      "1 of 2 ranks on this node take no batches from this loader",
      "2 ranks on other nodes are out of reach and keep their own settings",
    ]);
  });
});

describe.concurrent("a job that cannot be tuned", () => {
  it.for([
    [{ hangsAt: 1 }, {}, /No training loop took several batches within 8 s\. .* --timeout 4s\./],
    [{ epochBatches: 1 }, {}, /8 s\. Only a loop that takes several batches in each epoch can/],
    [{}, { loader: 7 }, /There is no loader 7 in the job/],
    [{ endsAt: 40 }, {}, /The command ended with exit code 5 before anything could be measured\./],
    [{}, { ranks: 3 }, /--ranks has no effect with a command\./],
    [{ garbles: true }, {}, /A process of the job sent something that is not a message: what is this\?/],
  ] as [script: object, changes: Partial<TuneSettings>, message: RegExp][])(
    "is refused with the reason: %j with settings %j",
    async ([script, changes, message], test) => {
      const opening = openFor(test, script, { timeoutNs: 2e9, ...changes });
      const told = opening.then(String, ({ message, hint }) => `${message} ${hint}`);
      test.expect(await told).toMatch(message);
    },
  );
});

it.each([
  [{ numWorkers: 3 }, 1],
  [{ pinMemory: true }, 1],
  [{ prefetchFactor: 4 }, 1],
  [{ persistentWorkers: false }, 1],
])("a setting that differs in %o is requested with %i command", async (difference, changes) => {
  const { probe, sent } = probeOf(9);
  await ask(probe, twoWorkers);
  await ask(probe, { ...twoWorkers, ...difference });
  expect(sent[0]!.filter((command) => "change" in command)).toHaveLength(1 + changes);
});

it("a trial that is over before it begins requests nothing of a job", async () => {
  const { probe, sent } = probeOf(9);
  const control = { enough: () => true, signal: AbortSignal.abort(), timeoutNs: 1e9 };
  expect(await probe.measure(twoWorkers, control)).toMatchObject({ aborted: true, arrivalsNs: [] });
  expect(sent).toEqual([[]]);
});

it("a job that has ended before its first trial is reported as ended", () => {
  const target = {
    job: { over: AbortSignal.abort() },
    ranks: [],
    loader: 1,
    facts: { startingPoint: torchDefault },
  };
  expect(new LiveProbe(target as never).over.reason).toBe(jobEnded);
});

it("all ranks change the setting at the same batch, ahead of the fastest rank", async () => {
  const { probe, sent } = probeOf(9, 14);
  await ask(probe, oneWorker);
  // A quarter of a second ahead, which is one batch as long as nothing is known, and two more.
  const atBatch = 14 + 3;
  const toEach = [{ type: "change", loader: 1, change: 1, setting: oneWorker, atBatch }];
  expect(sent).toEqual([toEach, toEach]);
});
