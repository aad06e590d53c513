import { describe, expect, it } from "vitest";
import { PinbenchError } from "../../src/errors.js";
import { torchDefault, usualSetting } from "../../src/results/loader-setting.js";
import { type LoaderSetting, tuningSchema } from "../../src/results/tuning.js";
import { jobEnded, type Probe, type TrialControl } from "../../src/tune/loader-probe.js";
import { type TuneRequest, tuneLoader } from "../../src/tune/tune-loader.js";
import { emulatedNodes } from "../helpers/emulated-nodes.js";
import { tuningSchemaErrors } from "../helpers/schema-errors.js";
import { SimulatedProbe, simulatedFacts } from "../helpers/simulated-loader.js";
import { evenly, failureOf, limitsOf, ScriptedProbe, trialOf } from "../helpers/tune.js";

const loader = {
  makeMs: 55,
  handOverMs: 9.4,
  handOverPinnedMs: 10.7,
  copyMs: 4,
  copyPinnedMs: 1.2,
  contention: 0.02,
  noise: 0.08,
};

async function tuned(
  probe: Probe,
  changes: Partial<TuneRequest> = {},
  signal = new AbortController().signal,
  onTrial?: Parameters<typeof tuneLoader>[3],
) {
  const request: TuneRequest = {
    limits: limitsOf(),
    maxWorkers: null,
    budgetNs: 60e9,
    timeoutNs: 30e9,
    argv: ["tune"],
    startedAt: new Date("2026-11-20T10:00:00Z"),
    startedMs: performance.now() - 5000,
    ...changes,
  };
  const tuning = await tuneLoader(probe, request, signal, onTrial);
  // Whatever the outcome, the document matches its schema and has no unknown fields.
  const text = JSON.parse(JSON.stringify(tuning)) as unknown;
  expect(tuningSchemaErrors(text)).toBeNull();
  expect(tuningSchema.parse(text)).toEqual(text);
  return tuning;
}

describe("the document of a tuning", () => {
  it("names wrong bindings of processes, and counts only the CPUs that they are bound to", async () => {
    const places = [{ rank: 0, place: { cpus: [2, 3], memoryPolicy: null, pciBusId: "eeee:00:00.0" } }];
    const root = emulatedNodes({ sysfs: [0], GBps: [[1, 1]] }).PINBENCH_EMULATED_ROOT!;
    const tuning = await tuned(new SimulatedProbe(loader, { ...simulatedFacts, places }), { root });
    expect(tuning.machine.usableCpus).toBe(2);
    expect(tuning.method.maxWorkers).toBe(2);
    expect(tuning.probe.bindingFaults).toEqual([
      expect.stringContaining("CPUs of NUMA node 1, GPU on node 0"),
    ]);
  });

  it("has the recommendation and all that it comes from", async () => {
    const probe = new SimulatedProbe(loader);
    const tuning = await tuned(probe);
    expect(tuning).toMatchObject({
      schemaVersion: 1,
      kind: "tuning",
      tool: { name: "pinbench", version: "0.1.0" },
      run: { startedAt: "2026-11-20T10:00:00.000Z", argv: ["tune"], status: "complete" },
      method: { tolerance: 0.02, maxWorkers: 16 },
      machine: { usableCpus: 16, ranks: 1, cpuModel: expect.any(String) },
      probe: { source: "simulated.py:dataset", link: simulatedFacts.link },
      recommendation: { setting: { pinMemory: false } },
    });
    expect(tuning.probe.bindingFaults).toBeUndefined();
    expect(tuning.run.wallNs).toBeGreaterThanOrEqual(5e9 + tuning.run.searchNs);
    expect(tuning.tried.map(({ setting }) => setting)).toEqual([
      ...new Map(probe.order.map((setting) => [JSON.stringify(setting), setting])).values(),
    ]);
    const trials = tuning.tried.flatMap((one) => one.trials);
    expect(trials).toHaveLength(probe.order.length);
    for (const { arrivalsNs, droppedBatches } of trials) {
      expect(droppedBatches).toBeLessThan(arrivalsNs.length);
    }
    expect(tuning.recommendation?.score).toEqual(
      tuning.tried.find(({ setting }) => setting === tuning.recommendation?.setting)?.score,
    );
  });

  it("compares with DataLoader's defaults, or with the user's own settings", async () => {
    const tuning = await tuned(new SimulatedProbe(loader));
    expect(tuning.startingScore).toEqual(tuning.tried[0]?.score);
    expect(tuning.tried[0]?.setting).toEqual(torchDefault);
    const startingPoint = { ...usualSetting(3, true), persistentWorkers: false };
    const own = await tuned(new SimulatedProbe(loader, { ...simulatedFacts, startingPoint }));
    expect(own.probe.startingPoint).toEqual(startingPoint);
    expect(own.startingScore).toEqual(own.tried[0]?.score);
  });

  it("has each failure with its message, hint and traceback", async () => {
    const failure = failureOf("dataset-raised", {
      everywhere: true,
      hint: "Mend it.",
      traceback: "  File a.py",
    });
    const tuning = await tuned(new ScriptedProbe((setting) => trialOf(setting, [1e6], { failure })));
    expect(tuning.run.status).toBe("failed");
    expect(tuning.recommendation).toBeNull();
    expect(tuning.startingScore).toBeNull();
    expect(tuning.tried).toMatchObject([{ score: null, trials: [{ failure }] }]);
  });
});

describe("a running job", () => {
  const facts = {
    ...simulatedFacts,
    kind: "live" as const,
    link: null,
    startingPoint: usualSetting(2, false),
  };
  const trial = (setting: LoaderSetting) =>
    trialOf(setting, evenly(200, 10e6), { waitNsPerBatch: 5e6, makeNsPerBatch: 20e6 });

  it("gets a setting within 1 % of the fastest, as it lasts for the whole training", async () => {
    const { method, run } = await tuned(new ScriptedProbe(trial, facts));
    expect(method.tolerance).toBe(0.01);
    expect(run.status).toBe("complete");
  });

  it("that ends before the search keeps what was found until then", async () => {
    const over = new AbortController();
    const probe = new ScriptedProbe((setting, time) => {
      if (time === 3) over.abort(jobEnded);
      return trial(setting);
    }, facts);
    const { run, tried, recommendation } = await tuned(Object.assign(probe, { over: over.signal }));
    expect(run.status).toBe("ended");
    expect(tried).toHaveLength(2);
    expect(recommendation).not.toBeNull();
  });
});

it("a search reports each trial with the best rate so far", async () => {
  const told: (number | null)[] = [];
  const probe = new SimulatedProbe(loader);
  await tuned(probe, {}, undefined, (_, best) => told.push(best?.score.batchesPerSecond ?? null));
  expect(told).toHaveLength(probe.order.length);
  expect(told[0]).toBeNull();
  expect(told.at(-1)).toBeGreaterThan(50);
});

/** Takes real time: a batch every 5 ms until it is enough or aborted. */
class SlowProbe extends ScriptedProbe {
  /** When each trial's last batch arrived, by its own clock. */
  readonly endsNs: number[] = [];

  constructor() {
    super(() => {
      throw new Error("not used");
    });
  }

  override async measure(setting: LoaderSetting, control?: TrialControl) {
    this.order.push(setting);
    const arrivalsNs: number[] = [];
    const isOver = () => control!.signal.aborted || (arrivalsNs.length > 0 && control!.enough(arrivalsNs));
    while (!isOver()) {
      await new Promise((done) => setTimeout(done, 5));
      arrivalsNs.push((arrivalsNs.at(-1) ?? 0) + 5e6);
    }
    this.endsNs.push(arrivalsNs.at(-1) ?? 0);
    return trialOf(setting, arrivalsNs, { aborted: control!.signal.aborted });
  }
}

describe("the search ends", () => {
  it("after the budget, with what was found until then", async () => {
    const probe = new SlowProbe();
    const budgetNs = 0.6e9;
    const tuning = await tuned(probe, { budgetNs });
    expect(tuning.run.status).toBe("budget");
    expect(tuning.recommendation).not.toBeNull();
    // A trial has a third of it at most, up to the batch that is on its way then.
    for (const endNs of probe.endsNs) expect(endNs).toBeLessThanOrEqual(0.35 * budgetNs + 5e6);
  });

  it("when it is aborted, with that status even if something was found", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const tuning = await tuned(new SlowProbe(), { budgetNs: 20e9 }, abort.signal);
    expect(tuning.run.status).toBe("aborted");
    expect(tuning.tried.at(-1)?.trials.at(-1)?.aborted).toBe(true);
    const before = await tuned(new SlowProbe(), {}, AbortSignal.abort());
    expect(before).toMatchObject({ run: { status: "aborted" }, tried: [], recommendation: null });
  });
});

it("a search rejects if its probe fails in the first trial", async () => {
  const broken = new ScriptedProbe((setting, time) => {
    if (time === 1) throw new PinbenchError("measurement", "The device is gone.");
    return trialOf(setting, evenly(100, 10e6));
  });
  await expect(tuned(broken)).rejects.toThrow("The device is gone.");
});

it("a search keeps what was measured before its probe failed", async () => {
  const probe = new ScriptedProbe((setting, time) => {
    if (time > 2) throw new PinbenchError("measurement", "The device is gone.");
    return trialOf(setting, evenly(100, 10e6));
  });
  const { run, tried, recommendation } = await tuned(probe);
  expect(run).toMatchObject({ status: "failed", error: "The device is gone." });
  expect(tried).toHaveLength(2);
  expect(recommendation?.score.batchesPerSecond).toBeGreaterThan(0);
});
