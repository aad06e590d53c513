import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { Recommendation } from "../../../src/results/tuning.js";
import { findingsOf, headline, perfectRatio } from "../../../src/tune/report/tuning-findings.js";
import { buildScore, buildTrial, buildTried, buildTuning, type TuningPart } from "../../helpers/tuning.js";

const eight = usualSetting(8, false);
const own = { ...usualSetting(4, false), persistentWorkers: false };
const live = { kind: "live", startingPoint: own } as const;

/** The rows of a figure or a subject, as "subject | figure | value | interval | against | verdict". */
const rows = (part: TuningPart, about: string) =>
  findingsOf(buildTuning(part))
    .filter(({ subject, figure }) => [subject, figure].some((name) => name.includes(about)))
    .map(({ subject, figure, value, interval, against, verdict }) =>
      [subject, figure, value, interval, against, verdict].filter(Boolean).join(" | "),
    );

describe("the headline of a tuning", () => {
  it.each<[string, TuningPart, string]>([
    [
      "has the rates of the recommended and the present setting",
      {},
      "8 workers, not pinned: 72.0 ±1.0 % batches/s. DataLoader's defaults: 20.0 ±1.0 % batches/s.",
    ],
    [
      "says if the user's setting is kept",
      { probe: { kind: "torch", startingPoint: eight } },
      "Your DataLoader's own settings stay. 8 workers, not pinned: 72.0 ±1.0 % batches/s.",
    ],
    [
      "says if DataLoader's defaults are kept",
      { recommendation: { setting: usualSetting(0, false), score: buildScore(20) } },
      "DataLoader's defaults stay. 0 workers, not pinned: 20.0 ±1.0 % batches/s.",
    ],
    [
      "names a setting that may be better",
      {
        probe: live,
        recommendation: { setting: own, undecided: { setting: eight, score: buildScore(90, { low: null }) } },
      },
      "The script's own settings stay. 4 workers, not pinned: 72.0 ±1.0 % batches/s. Undecided: 8 workers, not pinned, persistent: 90.0 ±?. Use --budget 120s.",
    ],
    [
      "says if the setting to compare with has no rate",
      { startingScore: null },
      "8 workers, not pinned: 72.0 ±1.0 % batches/s. DataLoader's defaults have no rate.",
    ],
  ])("%s", (_, part, text) => {
    expect(headline(buildTuning(part))[0]).toBe(text);
  });

  it("names what limits the loader, in two lines at most", () => {
    for (const limit of ["step", "link", "epochs", "workers", "process", "hand-over", "unknown"] as const) {
      const lines = headline(buildTuning({ recommendation: { limit } }));
      expect(lines).toHaveLength(2);
      expect(lines[1]).toMatch(/limit/);
    }
    expect(headline(buildTuning({ recommendation: null }))).toEqual([]);
  });

  it.each([
    [
      8,
      "workers",
      " The search stopped at 8 workers on 16 CPUs: if they wait for disk or network, use --max-workers 32.",
    ],
    [8, "hand-over", ""],
    [16, "workers", ""],
  ] as const)(
    "with %i allowed workers and %s as the limit advises on more workers: %j",
    (maxWorkers, limit, text) => {
      const [, line] = headline(buildTuning({ method: { maxWorkers }, recommendation: { limit } }));
      expect(line!.split("batches.")[1] ?? "").toBe(text);
    },
  );
});

describe("the row of the gain", () => {
  it.each<[Recommendation["gain"], string]>([
    [null, "8 workers, not pinned | rate | 3.6× | DataLoader's defaults"],
    [
      { ratio: 1.5, low: 1.1, high: 2 },
      "8 workers, not pinned | rate | 1.50× | 1.10× to 2.0× | DataLoader's defaults | faster",
    ],
    [
      { ratio: 1, low: 0.99, high: 1.01 },
      "8 workers, not pinned | rate | 1.000× | 0.99× to 1.01× | DataLoader's defaults | same",
    ],
    [
      { ratio: 1.1, low: 0.9, high: 1.3 },
      "8 workers, not pinned | rate | 1.10× | 0.90× to 1.30× | DataLoader's defaults | undecided",
    ],
    [
      { ratio: 0.8, low: 0.7, high: 0.9 },
      "8 workers, not pinned | rate | 0.80× | 0.70× to 0.90× | DataLoader's defaults | slower",
    ],
  ])("has ratio, interval and verdict, or only the rates' ratio if the gain is null: %j", (gain, row) => {
    expect(rows({ recommendation: { gain } }, "rate")).toEqual([row]);
  });

  it("is absent if the user's setting is kept, and names persistent workers in a running job", () => {
    expect(rows({ probe: { kind: "torch", startingPoint: eight } }, "rate")).toEqual([]);
    expect(rows({ probe: live }, "8 workers")[0]).toMatch(/^8 workers, not pinned, persistent \|/);
  });
});

describe("the report on a running job", () => {
  it("shows the waits before and after, and what a perfect loader would gain", () => {
    const tried = [
      buildTried(own, 20, { waitNsPerBatch: 10e6 }),
      buildTried(eight, 72, { waitNsPerBatch: 1e4 }),
    ];
    expect(rows({ probe: live, tried }, "any loader")).toEqual([
      "any loader | rate | at most 1.25× | the script's own settings",
    ]);
    expect(rows({ probe: live, tried }, "wait")).toEqual([
      "4 workers, not pinned | wait for data | 20 %",
      "8 workers, not pinned, persistent | wait for data | < 1 %",
    ]);
    expect(rows({ tried }, "wait")).toEqual([]);
  });

  it.each([
    ["half of the time is waiting", { waitNsPerBatch: 25e6 }, 2],
    [
      "starts of epochs wait as well",
      { waitNsPerBatch: 10e6, epochTurns: [{ batches: 10, betweenNs: 0, firstBatchNs: 150e6 }] },
      2,
    ],
    ["all of the time is waiting", { waitNsPerBatch: 50e6 }, null],
    ["the wait is unknown", { waitNsPerBatch: null }, null],
  ])("shows a perfect loader's gain ($2) if %s", (_, trial, ratio) => {
    const most = perfectRatio(buildTried(own, 20, trial));
    if (ratio === null) expect(most).toBeNull();
    else expect(most).toBeCloseTo(ratio);
  });

  it.each([
    ["is far slower", [2, 3, 20], ["rank 2 | wait for data | 29 % | 3.6 % of the others | slower"]],
    ["is as slow as another", [18, 3, 20], []],
    ["hardly waits", [1, 1, 3], []],
    ["is the only one", [20], []],
  ])("names the slowest rank only if it stands out: it %s", (_, waitsMs, found) => {
    const rankWaits = waitsMs.map((wait, rank) => ({ rank, waitNs: wait * 1e6 }));
    const score = buildScore(1e3 / 70);
    const tried = [buildTried(eight, score.batchesPerSecond, { rankWaits })];
    expect(rows({ tried, recommendation: { setting: eight, score } }, "rank")).toEqual(found);
  });

  it("shows what the start of an epoch costs", () => {
    const epochs = { batches: 80, betweenNs: 40e6, firstBatchNs: 200e6, isMeasured: false, share: 0.2 };
    expect(rows({ recommendation: { epochs } }, "epoch")).toEqual([
      "start of an epoch of 80 batches | time lost | 223 ms, 20 %",
      "start of an epoch of 80 batches | first batch | 200 ms (computed)",
      "start of an epoch of 80 batches | script between epochs | 40 ms",
    ]);
  });
});

it("the time of a batch in a worker is that of the nearest timed number of workers", () => {
  const timed = { makeNsPerBatch: 115e6, handOverNsPerBatch: 5e6 };
  const tried = [
    buildTried(usualSetting(16, false), 72, { ...timed, collateNsPerBatch: 20e6 }),
    buildTried(usualSetting(2, false), 20, timed),
    buildTried(usualSetting(0, false), 20, timed),
  ];
  const of = (workers: number) =>
    rows({ tried, recommendation: { setting: usualSetting(workers, false) } }, "a batch in");
  expect(of(12)).toEqual([
    "a batch in one of 16 workers | samples | 95 ms",
    "a batch in one of 16 workers | collate | 20 ms",
    "a batch in one of 16 workers | hand-over | 5 ms",
  ]);
  expect(of(1)).toEqual([
    "a batch in one of 2 workers | samples and collate | 115 ms",
    "a batch in one of 2 workers | hand-over | 5 ms",
  ]);
  expect(rows({ tried: [{ ...buildTried(eight, 72), trials: [buildTrial()] }] }, "a batch in")).toEqual([]);
});

it.each([
  [0.4, 0.6, "-0.5 ms | -0.6 ms to -0.4 ms | not pinned | faster"],
  [-0.6, -0.4, "+0.5 ms | +0.4 ms to +0.6 ms | not pinned | slower"],
  [-0.6, 0.8, "-0.1 ms | -0.8 ms to +0.6 ms | not pinned | undecided"],
  [-0.1, 0.1, "+0 ms | -0.1 ms to +0.1 ms | not pinned | same"],
])("pinning that saves %f to %f ms of 13.9 ms a batch gets a row with a verdict", (low, high, row) => {
  const saved = { savedNsLow: low * 1e6, savedNsHigh: high * 1e6, savedNsPerBatch: ((low + high) / 2) * 1e6 };
  expect(rows({ recommendation: { pinning: { numWorkers: 8, ...saved } } }, "pin_memory")).toEqual([
    `pin_memory, 8 workers | time of a batch | ${row}`,
  ]);
});

it("the time that data adds to a step is shown, and the loader's share of the link", () => {
  expect(rows({ probe: { stepNs: 10e6 } }, "step")).toEqual(["a 10 ms step | added by data | 3.9 ms"]);
  expect(rows({}, "the loader")).toEqual(["the loader | bytes | 2.77 GB/s | 11.2 GB/s of the link"]);
  expect(rows({ probe: { link: null } }, "the loader")).toEqual(["the loader | bytes | 2.77 GB/s"]);
});
