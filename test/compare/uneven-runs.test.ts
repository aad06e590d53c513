import { describe, expect, it } from "vitest";
import { findSuspects } from "../../src/compare/compare-results.js";
import type { Evidence } from "../../src/compare/evidence/cell-evidence.js";
import {
  countSlowRuns,
  findSlowRuns,
  findUnevenRuns,
  lostShares,
  needsMoreRuns,
  rateAgainstBaseline,
  runsToConfirm,
  usualUnevenness,
} from "../../src/compare/evidence/uneven-runs.js";
import { runFigures, runsOf } from "../../src/compare/result-set.js";
import type { Series } from "../../src/compare/series.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { frozen } from "../helpers/frozen.js";
import { type CellPart, withOverTime } from "../helpers/result-document.js";
import { buildRuns, type ComparedPart, compareRuns, comparisonRequest, resultSet } from "../helpers/runs.js";
import { type CasePart, caseOf, times } from "./evidence-case.js";

const startedAt = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ startedAt: `${prefix}${i}` }));

/** Of a cell whose runs deviate by 1 %: logarithms of speed about 0. */
function slowOf(
  logs: { baseline?: number[]; first: number[]; fresh?: number[] },
  {
    drop = 0.05,
    memory = "pinned",
    ...evidence
  }: { drop?: number; memory?: string; [key: string]: unknown } = {},
) {
  const { baseline = [0, 0], first, fresh = [] } = logs;
  const series = {
    cell: { memory },
    first: startedAt("first", first.length),
    fresh: startedAt("fresh", fresh.length),
  } as unknown as Series;
  const known = {
    ...{ noise: { robustVariance: 1 }, baselineVariance: 0.01 ** 2, baseline: 0 },
    ...{ runs: { baseline, first, fresh }, ...evidence },
  } as unknown as Evidence;
  return findSlowRuns(frozen(series), frozen(known), drop);
}

describe("the slow runs of a cell", () => {
  it("are counted on each side, with the worst and the starts of the candidate's", () => {
    expect(slowOf({ baseline: [0, -0.2], first: [0, -0.11, -0.1], fresh: [-0.3, 0] })).toEqual({
      baseline: { slow: 1, runs: 2 },
      first: { slow: 1, runs: 3 },
      fresh: { slow: 1, runs: 2 },
      worst: -0.3,
      startedAt: ["first1", "fresh0"],
    });
  });

  const ofKind = { noise: { robustVariance: 0.02 ** 2 }, baselineVariance: null };

  it.each<[string, number, Record<string, unknown>, number | null]>([
    ["more than ten deviations below the baseline for steady memory", -0.11, {}, -0.11],
    ["no others", -0.1, {}, null],
    ["more than forty deviations below it for other memory", -0.41, { memory: "pageable" }, -0.41],
    ["no others of that", -0.39, { memory: "pageable" }, null],
    ["those that lost more than what counts as a drop", -0.21, { drop: 0.2 }, -0.21],
    ["none that lost less", -0.19, { drop: 0.2 }, null],
    ["relative to the baseline's centre", 0.85, { baseline: 1 }, -0.15],
    ["none near that", 0.95, { baseline: 1 }, null],
    ["by the spread of the kind if the cell has none", -0.21, ofKind, -0.21],
    ["none within that", -0.19, ofKind, null],
    ["unknown without any", -9, { noise: null }, null],
  ])("are %s", (_, log, part, worst) => {
    expect(slowOf({ first: [log] }, part)?.worst ?? null).toEqual(worst && expect.closeTo(worst, 10));
  });
});

describe("slow runs of a baseline", () => {
  const runs = (speed: readonly number[], cells: readonly CellPart[] = [{ GBps: 50 }]) =>
    resultSet(buildRuns({ cells, deviation: 0, speed })).runs;
  const steady = [1, 1.001, 0.999, 1.0005];

  it.each<[string, number[], number, CellPart[]?]>([
    ["lost more than the usual 3 % of their cell's median", [...steady, 0.96], 1],
    ["are none that lost less", [...steady, 0.975], 0],
    ["may be several", [0.9, ...steady, 0.9995, 0.9], 2],
    ["are none within the spread between all", [0.98, 0.99, 1, 1.01, 1.02, 0.95], 0],
    ["lie far outside that spread", [0.98, 0.99, 1, 1.01, 1.02, 0.6], 1],
    ["need five runs", [1, 1.001, 0.999, 0.9], 0],
    ["are counted once each", [...steady, 0.9], 1, [{ GBps: 50 }, { GBps: 40, workers: 2 }]],
    ["are of steady memory alone", [...steady, 0.9], 0, [{ GBps: 8, memory: "pageable" }]],
  ])("%s", (_, speeds, count, cells) => {
    const all = runs(speeds, cells);
    expect(countSlowRuns(all, all)).toBe(count);
  });

  it("are those of the session that is asked about, by what is usual in all", () => {
    const all = runs([1, 0.9, 1.001, 0.999, 1.0005, 0.9995, 0.9]);
    const slowIn = (...indices: number[]) =>
      countSlowRuns(
        indices.map((i) => all[i]!),
        all,
      );
    expect([slowIn(0, 1, 2), slowIn(2, 3, 4), slowIn(0, 1, 6)]).toEqual([1, 0, 2]);
  });
});

type Share = readonly [slow: number, runs: number];
const countsOf = (...[baseline, first, fresh = [0, 0]]: Share[]) => {
  const of = ([slow, runs]: Share) => ({ slow, runs });
  return { ...{ baseline: of(baseline!), first: of(first!), fresh: of(fresh) }, worst: -1, startedAt: [] };
};

// The 95 % intervals of the first differences: -0.21 to 0.72, 0.03 to 0.80, -0.47 to 0.47, -0.41 to -0.02.
it.each<[Share, Share, Share, string]>([
  [[2, 10], [3, 5], [0, 0], "open"],
  [[2, 10], [9, 10], [0, 0], "more"],
  [[1, 5], [1, 5], [0, 0], "open"],
  [[5, 10], [1, 24], [0, 0], "less"],
  [[2, 10], [5, 5], [4, 5], "more"],
  [[2, 10], [5, 5], [0, 5], "open"],
  // The baseline had none.
  [[0, 3], [1, 50], [0, 0], "more"],
])(
  "slow runs in %j before, %j after and %j again are as frequent or not: %s",
  (baseline, first, fresh, rate) => {
    expect(rateAgainstBaseline(countsOf(baseline, first, fresh))).toBe(rate);
  },
);

it.each<[string, Share, Share, Share, boolean]>([
  ["until one of these is slow too", [0, 10], [1, 5], [0, 9], true],
  ["no longer then, if the baseline had none", [0, 10], [1, 5], [1, 10], false],
  ["until both rates can be told apart", [2, 10], [1, 5], [2, 10], true],
  ["no longer then", [2, 10], [4, 5], [9, 10], false],
  ["not if a fresh process was the first slow one", [0, 10], [0, 5], [1, 5], false],
])("slow runs need more fresh processes %s", (_, baseline, first, fresh, expected) => {
  expect(needsMoreRuns(countsOf(baseline, first, fresh))).toBe(expected);
});

it.each([
  [5, 5, 1],
  [7, 10, 5],
  [1, 2, 8],
  [1, 4, 19],
  [1, 5, 24],
  [1, 50, 24],
])("%i slow runs of %i need %i fresh processes to be found again", (slow, runs, needed) => {
  expect(runsToConfirm({ slow, runs })).toBe(needed);
});

/** The uneven runs of shares of lost time, five runs of the baseline without any, at a threshold of 5 %. */
function unevenOf(first: readonly number[], part: CasePart = {}, threshold = 0.05) {
  const { series, evidence } = caseOf({ ...part, lost: { first, ...part.lost } });
  return findUnevenRuns(series, evidence, threshold);
}
/** Their number in the candidate's first runs, and their rate; null if there are none. */
const rateOf = (...args: Parameters<typeof unevenOf>) => {
  const found = unevenOf(...args);
  return found && `${found.first.slow} ${found.rate}${found.isByMean ? " by mean" : ""}`;
};

describe("uneven runs", () => {
  it("are counted on each side, with the mean share of time that slow copies took", () => {
    expect(unevenOf(times(5, 0.1))).toEqual({
      baseline: { slow: 0, runs: 5 },
      first: { slow: 5, runs: 5 },
      fresh: { slow: 0, runs: 0 },
      lost: { baseline: 0, candidate: expect.closeTo(0.1, 12) },
      ...{ rate: "more", isByMean: false, isMetAgain: false },
    });
  });

  const tenth = { lost: { baseline: times(5, 0.1) } };
  const sometimes = { lost: { baseline: [...times(6, 0), ...times(4, 0.1)] } };

  it.each<[string, number[], CasePart, number, string | null]>([
    ["one that lost the threshold on average", [0.3, 0, 0, 0, 0], {}, 0.05, "1 more"],
    ["one that lost just that", [0.25, 0, 0, 0, 0], { first: times(5, 0.99) }, 0.05, "1 more"],
    ["none that lost less on average", [0.2, 0, 0, 0, 0], {}, 0.05, null],
    ["none below a higher threshold", times(5, 0.06), {}, 0.1, null],
    ["none below 5 %, whatever the threshold", times(5, 0.04), {}, 0.01, null],
    ["none that lose what the baseline's do", times(5, 0.14), tenth, 0.05, null],
    ["those that lose more than these", times(5, 0.16), tenth, 0.05, "5 more"],
    ["as frequent as the baseline's", [0, 0, 0, 0.5, 0.5], sometimes, 0.05, "2 open"],
    // The time of 0.84 instead of 0.9 of the copies is 6.9 % more.
    ["of copies a little faster", times(5, 0.16), { ...tenth, first: times(5, 1.01) }, 0.05, "5 more"],
    ["none if copies are faster by more", times(5, 0.16), { ...tenth, first: times(5, 1.05) }, 0.05, null],
  ])("of pinned memory are %s", (_, first, part, threshold, expected) => {
    expect(rateOf(first, part, threshold)).toBe(expected);
  });

  it.each([
    [0.025, 0, true],
    [0.024, 0, false],
    [0.12, 0.1, false],
    [0.13, 0.1, true],
  ])(
    "are met again if the confirming runs lost half of what counts: %f against %f",
    (fresh, baseline, expected) => {
      const lost = { baseline: times(5, baseline), fresh: [fresh] };
      expect(unevenOf(times(5, 0.3), { lost })!.isMetAgain).toBe(expected);
    },
  );

  const steadily = { memory: "pageable", usualUnevenness: 0.2, lost: { baseline: [0, 0.02, 0, 0.02, 0.01] } };
  const pageable = { memory: "pageable", usualUnevenness: 0.2 } as const;

  it.each<[string, number[], CasePart, string | null]>([
    ["more uneven than the baseline's usually are", times(5, 0.3), pageable, "5 more by mean"],
    ["two at least", [0.3, 0.3, 0, 0, 0], pageable, "2 open"],
    ["not one", [0.5, 0, 0, 0, 0], pageable, null],
    ["by the counting loss if larger", [0.3, 0.3, 0, 0, 0], { ...pageable, usualUnevenness: 0.01 }, "2 open"],
    ["unknown if the baseline shows no usual ones", times(5, 0.3), { memory: "pageable" }, null],
    ["unknown of latencies then", times(5, 0.3), { unit: "us" }, null],
    ["known of latencies otherwise", times(5, 0.3), { unit: "us", usualUnevenness: 0.2 }, "5 more by mean"],
    ["shown by the means of three runs or more", times(3, 0.1), pageable, "0 more by mean"],
    ["not by those of two", times(2, 0.1), pageable, null],
    // Student's t of 8 degrees of freedom is 0.1 / 0.0141 = 7.1: 5e-5. And 0.1 / 0.0447 = 2.2: 0.03.
    ["open if the means show less", [0.06, 0.08, 0.1, 0.12, 0.14], pageable, "0 open"],
    ["none if the means may be alike", [0, 0, 0.1, 0.2, 0.2], pageable, null],
    ["shown against a steady baseline", times(5, 0.1), steadily, "0 more by mean"],
  ])("of memory that is not steady are %s", (_, first, part, expected) => {
    expect(rateOf(first, part)).toBe(expected);
  });

  it("are none without shares on one of the sides", () => {
    for (const group of ["baseline", "first"] as const) {
      const { series, evidence } = caseOf({ lost: { first: times(5, 0.3) } });
      const unknown = { ...series, [group]: series[group].map((run) => ({ ...run, lostShare: null })) };
      expect(findUnevenRuns(unknown, evidence, 0.05)).toBeNull();
    }
    const { baseline } = caseOf({ lost: { baseline: [0.1, 0.2] } }).series;
    expect(lostShares([...baseline, { ...baseline[0]!, lostShare: null }])).toEqual([0.1, 0.2]);
  });

  it.each([
    [
      [
        [0.1, 0.25, 0.1],
        [0, 0, 0.1, 0],
      ],
      0.15,
    ],
    [
      [
        [0.1, 0.9],
        [0, 0, 0.1],
      ],
      0.1,
    ],
    [[[0.1, 0.9]], null],
  ])("usually differ by the largest distance of a run to its cell's median: %j", (shares, expected) => {
    const sides = shares.map((baseline) => ({ baseline: caseOf({ lost: { baseline } }).series.baseline }));
    expect(usualUnevenness(sides)).toEqual(expected && expect.closeTo(expected, 12));
  });
});

/** The cell with samples of its median rate, of which some take several times their time: its median stays as it is. */
function withSlow(
  cell: CellResult,
  isSlow: (sample: number) => boolean,
  by: number,
  count: number,
): CellResult {
  const samples = cell.samples.map((one) => {
    const usualNs = one.bytesPerSample / cell.stats[0]!.bandwidthGBps.median;
    const durationNs = Array.from({ length: count }, (_, i) => usualNs * (isSlow(i) ? by : 1));
    return { ...one, durationNs, startNs: durationNs.map((_, i) => i * 1e9), round: durationNs.map(() => 0) };
  });
  return withOverTime({ ...cell, samples });
}

/** Runs of six samples, of which the first takes `slow` times as long: one for each entry, and as many without as `even`. */
function unevenRuns(
  slow: readonly number[],
  { even = 0, cell = {}, speed = 1 }: { even?: number; cell?: CellPart; speed?: number } = {},
) {
  const all = [...slow, ...times(even, 1)];
  const documents = buildRuns({
    cells: [{ GBps: 50, ...cell }],
    count: all.length,
    seed: slow.length + 1,
    speed,
  });
  return documents.map((document, run) => ({
    ...document,
    cells: document.cells.map((one) => withSlow(one, (i) => i === 0, all[run]!, 6)),
  }));
}
const even = (count: number, cell: CellPart = {}) => unevenRuns([], { even: count, cell });

describe("slow copies that medians do not see", () => {
  const cellOf = (
    baseline: readonly ResultDocument[],
    candidate: readonly ResultDocument[],
    part?: ComparedPart,
  ) => compareRuns(baseline, candidate, part).cells[0]!;
  const first = unevenRuns([8, 1, 8, 8, 1]);

  it("make a cell uneven, with the share of the time that they took", () => {
    const comparison = compareRuns(even(10), unevenRuns([8, 1, 8, 8, 8]));
    expect(comparison).toMatchObject({ outcome: "regression", counts: { uneven: 1 } });
    // In four of five runs 1 of 6 samples takes 8 times as long: 7 of 13 of the time.
    const lostShare = { baseline: expect.closeTo(0, 6), candidate: expect.closeTo((0.8 * 7) / 13, 2) };
    expect(comparison.cells[0]).toMatchObject({ verdict: "uneven", lostShare });
  });

  it("are found in latencies if one in a hundred copies takes twenty times as long", () => {
    const cell = { mode: "latency", latencyUs: { median: 8, p99: 12 } } as const;
    const tail = even(5, cell).map((document) => ({
      ...document,
      cells: document.cells.map((one) => withSlow(one, (i) => i % 100 === 50, 20, 300)),
    }));
    expect(cellOf(even(10, cell), tail).verdict).toBe("uneven");
  });

  it("are measured again by a check, often enough to find them again", () => {
    const suspectsOf = (candidate: ResultDocument[]) =>
      findSuspects(comparisonRequest(even(10), candidate, { command: "check" }));
    // Of 3 of 5 runs: (2/5)^6 is below 0.5 %.
    expect(suspectsOf(first)).toMatchObject({ ids: [first[0]!.cells[0]!.id], runs: 6 });
    expect(suspectsOf(even(5)).ids).toEqual([]);
    const checked = (fresh: ResultDocument[]) => cellOf(even(10), first, { command: "check", fresh });
    expect(checked(unevenRuns([1, 8, 1, 8, 8])).verdict).toBe("uneven");
    // The mean of all of the candidate's runs: 3 of 10.
    const lostShare = { candidate: expect.closeTo((0.3 * 7) / 13, 6) };
    expect(checked(even(5))).toMatchObject({ verdict: "inconclusive", lostShare });
  });
});

describe("the share of slow copies in a run's figures", () => {
  const [one, other] = [...even(1), ...unevenRuns([8])] as [ResultDocument, ResultDocument];

  it("is computed from the rate over time, and unknown without it", () => {
    const share = (document: ResultDocument) => runFigures(document, null).cells[0]!.figures[0]!.lostShare;
    const unknown = other.cells.map((cell) => withOverTime({ ...cell, samples: [] }));
    expect(share(other)).toBeCloseTo(7 / 13, 6);
    expect(share({ ...other, cells: unknown })).toBeNull();
  });

  it("is each process's own if several measured, and unknown of one without samples", () => {
    const [evenCell, unevenCell] = [one.cells[0]!, other.cells[0]!];
    const processMedians = [evenCell, unevenCell, evenCell].map(
      ({ stats }) => stats[0]!.bandwidthGBps.median,
    );
    const merged: CellResult = {
      ...evenCell,
      samples: [evenCell, unevenCell].flatMap(({ samples }, process) =>
        samples.map((of) => ({ ...of, process })),
      ),
      stats: evenCell.stats.map((stats) => ({
        ...stats,
        bandwidthGBps: { ...stats.bandwidthGBps, processMedians },
      })),
    };
    const processes = ["a", "b", "c"].map((id) => ({ id, startedAt: one.run.startedAt, wallNs: 1e9 }));
    const shares = runsOf({ ...one, run: { ...one.run, runs: processes }, cells: [merged] }, null).map(
      ({ cells }) => cells[0]!.figures[0]!.lostShare,
    );
    expect(shares).toEqual([expect.closeTo(0, 6), expect.closeTo(7 / 13, 6), null]);
  });
});
