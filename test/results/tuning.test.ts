import { describe, expect, it } from "vitest";
import {
  batchesInFlight,
  describeSetting,
  settingKey,
  toPaste,
  torchDefault,
  usualSetting,
} from "../../src/results/loader-setting.js";
import { type Tuning, tuningSchema } from "../../src/results/tuning.js";
import { tuningSchemaErrors } from "../helpers/schema-errors.js";
import { buildFailure, buildTried, buildTuning } from "../helpers/tuning.js";

const good: [string, Tuning][] = [
  ["a tuning", buildTuning()],
  [
    "a tuning with a training step, the user's own settings and skipped ones",
    buildTuning({
      probe: { stepNs: 70e6, startingPoint: usualSetting(3, true, 4) },
      skipped: [{ setting: usualSetting(32, false), reason: "too many" }],
      recommendation: { limit: "step", dataShareOfStep: 0 },
    }),
  ],
  [
    "a failed tuning",
    buildTuning({
      tried: [buildTried(usualSetting(0, false), null, { arrivalsNs: [], failure: buildFailure() })],
      startingScore: null,
      recommendation: null,
    }),
  ],
  [
    "unknown facts",
    buildTuning({
      machine: { cpuQuota: 2.5, sharedMemoryBytes: null },
      probe: { link: null, device: null, runtime: null, epochBatches: null },
      startingScore: { batchesPerSecond: 20, low: null, high: null, isSettled: false },
      recommendation: { pinning: null },
    }),
  ],
];

const [, whole] = good[0]!;
const bad: [string, unknown][] = [
  ["another version", { ...whole, schemaVersion: 2 }],
  ["another kind of document", { ...whole, kind: "result" }],
  ["a missing part", { ...whole, machine: undefined }],
  ["a number as text", { ...whole, method: { ...whole.method, maxWorkers: "16" } }],
  ["half a worker", { ...whole, method: { ...whole.method, maxWorkers: 1.5 } }],
  ["an unknown limit", { ...whole, recommendation: { ...whole.recommendation, limit: "moon" } }],
  ["an unknown status", { ...whole, run: { ...whole.run, status: "good" } }],
  ["an invalid time", { ...whole, run: { ...whole.run, startedAt: "yesterday" } }],
];

describe("schema/tuning-v1.json", () => {
  it.each(good)("accepts %s, and so does zod", (_, tuning) => {
    expect(tuningSchemaErrors(tuning)).toBeNull();
    expect(tuningSchema.parse(tuning)).toEqual(tuning);
  });

  it.each(bad)("rejects %s, and so does zod", (_, tuning) => {
    expect(tuningSchemaErrors(JSON.parse(JSON.stringify(tuning)))).not.toBeNull();
    expect(tuningSchema.safeParse(tuning).success).toBe(false);
  });
});

describe("a data loader setting", () => {
  it.each([
    [usualSetting(0, false), "0 workers, not pinned"],
    [usualSetting(1, true), "1 worker, pinned"],
    [usualSetting(8, false, 4), "8 workers, not pinned, prefetch 4"],
    [usualSetting(8, false, 1), "8 workers, not pinned, prefetch 1"],
  ])("%j reads %j", (setting, words) => {
    expect(describeSetting(setting)).toBe(words);
  });

  it("has a key that differs if any part of the setting differs", () => {
    const keys = [
      usualSetting(8, false),
      usualSetting(8, true),
      usualSetting(8, false, 4),
      { ...usualSetting(8, false), persistentWorkers: false },
      { ...usualSetting(8, false), nonBlocking: true },
    ].map(settingKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(settingKey(usualSetting(8, false))).toBe(keys[0]);
  });
});

describe("a data loader setting to paste", () => {
  const { probe } = buildTuning();

  it.each<[Partial<Tuning["probe"]>, string, string]>([
    [{ framework: "timm" }, "--workers 4 --pin-mem", "--workers 0"],
    [
      { framework: "transformers" },
      "TrainingArguments(dataloader_num_workers=4, dataloader_pin_memory=True, dataloader_prefetch_factor=2, dataloader_persistent_workers=True)",
      "TrainingArguments(dataloader_num_workers=0, dataloader_pin_memory=False, dataloader_persistent_workers=False)",
    ],
    [
      { framework: "lightning" },
      "in train_dataloader(): DataLoader(num_workers=4, pin_memory=True, prefetch_factor=2, persistent_workers=True)",
      "in train_dataloader(): DataLoader(num_workers=0, pin_memory=False, persistent_workers=False)",
    ],
    [
      { framework: null, device: "cuda:0", kind: "torch" },
      "num_workers=4 pin_memory=True prefetch_factor=2 persistent_workers=True non_blocking=True",
      "num_workers=0 pin_memory=False persistent_workers=False non_blocking=False",
    ],
    [
      { framework: null, device: "cuda:0", kind: "live" },
      "num_workers=4 pin_memory=True prefetch_factor=2 persistent_workers=True",
      "num_workers=0 pin_memory=False persistent_workers=False",
    ],
    [
      { framework: null, pinningOff: "torch sees no GPU" },
      "num_workers=4 prefetch_factor=2 persistent_workers=True",
      "num_workers=0 persistent_workers=False",
    ],
  ])("has the form that the training framework takes: %j", (part, pinned, none) => {
    const shown = [usualSetting(4, true), torchDefault].map((one) => toPaste({ ...probe, ...part }, one));
    expect(shown).toEqual([pinned, none]);
  });
});

it("batches in flight are workers times prefetch factor, or one without workers", () => {
  const defaults = { ...usualSetting(4, false), prefetchFactor: null };
  expect([usualSetting(4, false, 3), defaults, torchDefault].map(batchesInFlight)).toEqual([12, 8, 1]);
});
