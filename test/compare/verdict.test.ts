import { describe, expect, it } from "vitest";
import { findSuspects } from "../../src/compare/compare-results.js";
import { comparisonSchema } from "../../src/compare/comparison.js";
import {
  confirmingRuns,
  type GroupToJudge,
  isSuspiciousGroup,
  isUnsettled,
  isUnsettledGroup,
  judge,
  judgeGroup,
  significance,
} from "../../src/compare/verdict.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { buildDevice, type CellPart, KiB } from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, type RunsPart, usualRule } from "../helpers/runs.js";
import { type CasePart, caseOf, times } from "./evidence-case.js";

/** The one cell of a comparison: `part` describes both sides, whose noise is not the same. */
function verdictOn(part: RunsPart, candidate: RunsPart, options?: Parameters<typeof compareRuns>[2]) {
  const comparison = compareRuns(buildRuns(part), buildRuns({ ...part, seed: 2, ...candidate }), options);
  expect(comparison.cells).toHaveLength(1);
  return comparison.cells[0]!;
}

describe("a cell of 50 GB/s, with 0.2 % of noise between five runs on each side", () => {
  it.each([
    [1, "not slower"],
    [0.99, "not slower"],
    [0.9, "slower"],
    [1.02, "not slower"],
    [1.1, "faster"],
  ])("at %f times the speed is %s", (speed, verdict) => {
    const cell = verdictOn({}, { speed });
    expect(cell).toMatchObject({ verdict, unit: "GB/s", moved: "h2d", threshold: 0.03 });
    expect(cell.baseline?.figure).toBeCloseTo(50, 0);
    expect(cell.candidate?.change).toBeCloseTo(speed - 1, 2);
    expect(cell.candidate?.low).toBeLessThan(cell.candidate!.change!);
    expect(cell.candidate?.high).toBeGreaterThan(cell.candidate!.change!);
    expect(cell.spread?.source).toBe("these runs");
  });

  it.each([
    [0.8, "slower", 0.25],
    [1.25, "faster", -0.2],
  ])("has times as figures in latency mode: at %f times the speed it is %s", (speed, verdict, change) => {
    const cells: CellPart[] = [
      { mode: "latency", sizeBytes: 4 * KiB, GBps: 0.4, latencyUs: { median: 10, p99: 14 } },
    ];
    const cell = verdictOn({ cells }, { speed });
    expect(cell).toMatchObject({ verdict, unit: "us" });
    expect(cell.baseline?.figure).toBeCloseTo(10, 0);
    expect(cell.candidate?.change).toBeCloseTo(change, 1);
    expect(cell.candidate?.low).toBeLessThan(cell.candidate!.change!);
  });

  it("is judged in each direction and in their sum, if copies go both ways", () => {
    const bidir = { direction: "bidir", GBps: { h2d: 40, d2h: 40, sum: 80 } } as const;
    const lopsided = { ...bidir, GBps: { h2d: 30, d2h: 50, sum: 80 } };
    const { cells } = compareRuns(buildRuns({ cells: [bidir] }), buildRuns({ cells: [lopsided], seed: 2 }));
    expect(cells.map(({ moved, unit, verdict }) => `${moved} ${unit} ${verdict}`)).toEqual([
      "h2d GB/s slower",
      "d2h GB/s faster",
      "sum GB/s not slower",
    ]);
  });

  it("is missing or new if only one side has it", () => {
    const [shared, other] = [{ GBps: 50 }, { GBps: 50, workers: 2 }];
    const [both, one] = [buildRuns({ cells: [shared, other] }), buildRuns({ cells: [shared] })];
    expect(compareRuns(both, one).cells[1]).toMatchObject({
      ...{ verdict: "missing", reason: "the candidate did not measure it", candidate: null },
    });
    expect(compareRuns(one, both)).toMatchObject({
      counts: { "not slower": 1, new: 1, missing: 0 },
      cells: [{}, { verdict: "new", baseline: null, candidate: { runs: 5, change: null, low: null } }],
    });
  });
});

describe("the change that counts", () => {
  const latencyOf = (median: number) =>
    ({ mode: "latency", GBps: 4, latencyUs: { median, p99: 2 } }) as const;

  it.each<[string, CellPart, number, string]>([
    // The floor is 0.05 GB/s either way: from 0.08 down to 0.03, and up to 0.13.
    ["0.08 GB/s", { GBps: 0.08 }, 0.5, "not slower: the floor of 0.05 GB/s lies outside the interval"],
    ["0.08 GB/s", { GBps: 0.08 }, 0.3, "slower"],
    ["0.08 GB/s", { GBps: 0.08 }, 1.5, "not slower"],
    ["0.08 GB/s", { GBps: 0.08 }, 1.8, "faster"],
    // And 0.2 µs: from 0.3 up to 0.5, and down to 0.1.
    ["0.3 µs", latencyOf(0.3), 1 / 1.3, "not slower: the floor of 0.2 µs lies outside the interval"],
    ["0.3 µs", latencyOf(0.3), 1 / 1.8, "slower"],
    ["0.3 µs", latencyOf(0.3), 1 / 0.4, "not slower"],
    ["0.3 µs", latencyOf(0.3), 1 / 0.3, "faster"],
  ])("is the floor, if that is more: %s at %f times the speed is %s", (_, cell, speed, expected) => {
    const { verdict, reason } = verdictOn({ cells: [cell] }, { speed });
    expect(`${verdict}: ${reason}`.startsWith(expected)).toBe(true);
  });

  it.each([
    [0.05, 50, 0.97, "inconclusive", "a drop of 3 %"],
    [0.05, 0.2, 0.97, "not slower", "the floor of 0.05 GB/s"],
    [0.05, 0.04, 0.97, "not slower", "the floor of 0.05 GB/s"],
    [0.2, 0.3, 0.9, "inconclusive", "the floor of 0.05 GB/s"],
  ])(
    "may lie within noise of %f: %f GB/s at %f times the speed is %s",
    (deviation, GBps, speed, verdict, what) => {
      const noisy = { document: { backend: "emulated" }, deviation, cells: [{ GBps }] } as const;
      const found = verdictOn(noisy, { speed });
      expect(found).toMatchObject({ verdict, reason: expect.stringContaining(what) });
    },
  );

  it("is each cell's own threshold", () => {
    const cells = [{ GBps: 50 }, { GBps: 50, memory: "registered" }] as const;
    const thresholds = { ...defaultThresholds, memory: { registered: 0.2 } };
    const runs = [buildRuns({ cells }), buildRuns({ cells, speed: 0.88, seed: 2 })] as const;
    expect(compareRuns(...runs, { rule: { thresholds } }).cells).toMatchObject([
      { verdict: "slower", threshold: 0.03 },
      { verdict: "not slower", threshold: 0.2 },
    ]);
  });
});

describe("one run against one", () => {
  const single = { count: 1, deviation: 0 };

  it("takes the spread that was recorded on a GPU, and says so", () => {
    const comparison = compareRuns(buildRuns(single), buildRuns({ ...single, speed: 0.8 }));
    const spread = { source: "recorded", logDeviation: Math.sqrt(1.88e-6), degreesOfFreedom: 4.4 };
    expect(comparison.cells[0]).toMatchObject({ verdict: "slower", spread });
    expect(comparison.notes[0]).toMatch(/^a side has only one or two runs: .*of pinned is taken from runs/);
    expect(comparisonSchema.parse(comparison)).toEqual(comparison);
  });

  it.each<[string, RunsPart]>([
    ["on a GPU that was not recorded", { document: { devices: [buildDevice({ name: "NVIDIA T4" })] } }],
    ["of an emulated device", { document: { backend: "emulated" } }],
    ["of memory that was not recorded", { cells: [{ memory: "mapped", GBps: 50 }] }],
  ])("is undecided on %s without recorded spread", (_, part) => {
    expect(verdictOn({ ...single, ...part }, { speed: 0.2 })).toMatchObject({
      verdict: "inconclusive",
      reason: "a side has only one or two runs, and no spread between runs is recorded for this kind",
      candidate: { low: null, high: null, pValue: null },
      spread: null,
    });
  });
});

const terms = { rule: usualRule, needsConfirmation: false, isBlocked: false };
/** The verdict at a threshold of 3 %, on runs with a known deviation of 0.1 % unless a test says otherwise. */
const judgedOf = (part: CasePart, more: Partial<typeof terms> = {}) => {
  const { series, evidence } = caseOf(part);
  return judge(series, evidence, { ...terms, ...more });
};
const sentence = (...args: Parameters<typeof judgedOf>) => {
  const { verdict, reason } = judgedOf(...args);
  return `${verdict}: ${reason}`;
};

describe("compare, which measures nothing again", () => {
  const slower = (count: number, speed: number) => [...times(5 - count, 1), ...times(count, speed)];

  it.each<[string, CasePart, RegExp]>([
    ["a loss", { first: times(5, 0.9) }, /^slower: by more than 3 %, beyond the spread between runs$/],
    ["a gain", { first: times(5, 1.1) }, /^faster: by more than 3 %, beyond the spread between runs$/],
    ["a small loss", { first: times(5, 0.98) }, /^not slower: a drop of 3 % lies outside the interval$/],
    [
      "a loss that noise may be",
      { first: times(5, 0.98), deviation: 0.05 },
      /^inconclusive: the spread between runs neither shows nor/,
    ],
    [
      "a loss that is likely",
      { first: times(5, 0.9), deviation: 0.07 },
      /^probably slower: .* and the interval excludes zero$/,
    ],
    ["a loss of four of five runs", { first: slower(4, 0.6) }, /^slower: /],
    ["a slow run", { first: slower(1, 0.6) }, /^unsteady: 1 of 5 runs are far slower, .* 5 none$/],
    ["three far slower runs", { first: slower(3, 0.6) }, /^unsteady: 3 of 5 /],
    ["one slower run within the threshold", { first: slower(1, 0.98) }, /^not slower: /],
    ["a slow run among slower ones", { first: [...times(4, 0.98), 0.93] }, /^inconclusive: .* neither shows/],
    [
      "slow runs as before",
      { baseline: [...slower(2, 0.6), ...times(5, 1)], first: slower(1, 0.6) },
      /^unsteady: .* baseline's 10 2$/,
    ],
    [
      "slow runs that are certainly rarer than before",
      { baseline: [...times(11, 1), ...times(9, 0.6)], first: [0.6, ...times(23, 1)], deviation: 0.01 },
      /^inconclusive: 1 of 24 .* baseline's 20 9: less often than before$/,
    ],
    [
      "an uneven run",
      { lost: { first: [0, 0, 0, 0, 0.4] } },
      /^inconclusive: .* 8 % of the time, 0 % before, in 1 of 5 runs$/,
    ],
    [
      "uneven copies beside a median that is open too",
      { first: times(5, 0.98), deviation: 0.05, lost: { first: [0, 0, 0, 0, 0.4] } },
      /^inconclusive: .* neither shows nor excludes .*; slow copies took 8 % of the time, .* in 1 of 5 runs$/,
    ],
    ["uneven copies in all runs", { lost: { first: times(5, 0.3) } }, /^uneven: slow copies took 30 % /],
    ["no known noise", { first: times(5, 0.8), deviation: null }, /^inconclusive: .* one or two runs/],
  ])("calls %s what it is", (_, part, expected) => {
    expect(sentence(part)).toMatch(expected);
    expect(sentence(part, { isBlocked: true })).toMatch(
      /^not comparable: the two sides differ in what their figures depend on$/,
    );
  });

  it("gives slow runs with their share's interval, the worst of them and their starts", () => {
    expect(judgedOf({ first: [1, 0.5, 1, 0.6, 1] }).slowRuns).toEqual({
      ...{ count: 2, runs: 5, ofBaseline: 0, worstChange: expect.closeTo(-0.5, 10) },
      // Wilson's interval.
      share: { low: expect.closeTo(0.1176, 4), high: expect.closeTo(0.7693, 4) },
      startedAt: ["first 1", "first 3"],
    });
  });
});

describe("check, which measures suspects again", () => {
  const slow = times(5, 0.9);
  const unmet = /^inconclusive: .* did not confirm/;
  const once = [1, 1, 1, 1, 0.6];
  const uncertain = { memory: "pageable", usualUnevenness: 0.2 };
  const uneven = times(5, 0.3);

  it.each<[string, CasePart, RegExp]>([
    ["a loss that fresh runs have too", { first: slow, fresh: [0.9] }, /^slower: /],
    ["a loss not measured again", { first: slow }, /^probably slower: .* could not measure it again$/],
    [
      "a loss not met again",
      { first: slow, fresh: [1] },
      /^inconclusive: it looked slower, and fresh processes did not confirm it$/,
    ],
    [
      "a loss that most runs lack",
      { first: slow, fresh: times(5, 1) },
      /^inconclusive: 5 of 5 .* and none of 5 /,
    ],
    ["slow runs that are met again", { first: once, fresh: [1, 1, 0.6, 1, 1] }, /^unsteady: 2 of 10 /],
    [
      "slow runs not met again",
      { first: once, fresh: times(24, 1) },
      /^inconclusive: .* none of 24 fresh processes was$/,
    ],
    ["slow runs not measured again", { first: once }, /^inconclusive: 1 of 5 .* could not measure it again$/],
    [
      "a first slow run among these",
      { first: times(5, 1), fresh: once },
      /^inconclusive: .* and no run before these$/,
    ],
    ["two first slow runs among these", { first: times(5, 1), fresh: [...once, 0.6] }, /^unsteady: 2 of 11 /],
    ["uneven runs met again", { lost: { first: uneven, fresh: [0.3] } }, /^uneven: slow copies took 30 % /],
    ["one uneven run that is met again", { lost: { first: [0, 0, 0, 0, 0.4], fresh: [0.4] } }, /^uneven: /],
    [
      "uneven runs not measured again",
      { lost: { first: uneven } },
      /^inconclusive: .* could not measure it again$/,
    ],
    [
      "uneven runs not met again",
      { lost: { first: uneven, fresh: [0, 0] } },
      /^inconclusive: .* did not confirm it$/,
    ],
    // They lost more than half of what counts, and none of them is uneven.
    ["less uneven ones", { lost: { first: uneven, fresh: [0.04, 0.04] } }, unmet],
    // One is uneven, and on average they lost too little.
    ["one uneven one", { lost: { first: uneven, fresh: [0.06, 0, 0, 0, 0] } }, unmet],
    ["no uneven run but a fresh one", { lost: { first: times(5, 0), fresh: [0.5] } }, /^not slower: /],
  ])("calls %s what it is", (_, part, expected) => {
    expect(sentence(part, { needsConfirmation: true })).toMatch(expected);
  });

  it("leaves the slow runs of a median to an uneven cell", () => {
    const lost = { first: uneven, fresh: uneven };
    const part = { first: [1, 1, 1, 1, 0.8], fresh: times(5, 1), lost };
    expect(judgedOf(part, { needsConfirmation: true })).toMatchObject({
      ...{ verdict: "uneven", slowRuns: { count: 1, runs: 10 } },
    });
  });

  it("does not confirm a loss of more than half the threshold that is too noisy", () => {
    const atSpeeds = (...speed: number[]) => buildRuns({ speed, deviation: 0 });
    const { cells } = compareRuns(
      atSpeeds(1.03, 1, 0.97, 1.01, 0.99),
      atSpeeds(0.86, 0.83, 0.8, 0.84, 0.82),
      { command: "check", fresh: atSpeeds(0.99, 0.96, 0.93, 0.97, 0.95) },
    );
    const [cell] = cells;
    // All runs together show a drop of more than the threshold, and most of them are slower by more than half of it.
    expect(cell!.candidate!.change).toBeLessThan(-0.05);
    expect(cell!.adjustedPValue).toBeLessThan(significance);
    expect(cell!.confirmation!.change).toBeLessThan(-0.025);
    expect(cell!.confirmation!.pValue).toBeGreaterThan(0.05);
    expect(cell!.verdict).toBe("inconclusive");
  });

  it.each<[string, CasePart, number]>([
    ["none if nothing looks slow", {}, 0],
    ["none without known noise", { first: times(5, 0.8), deviation: null }, 0],
    ["one if all looks slower by more than half the threshold", { first: times(5, 0.984) }, 1],
    ["none if it lost less than half the threshold", { first: times(5, 0.986) }, 0],
    // log 0.005 / log 0.8 and / log 0.4: 23.7 and 5.8.
    ["as many as find one slow run of five again", { first: [1, 1, 1, 1, 0.8] }, 24],
    ["as many as find three slow runs of five again", { first: [1, 1, 0.8, 0.8, 0.8] }, 6],
    ["as many as find three uneven runs of five again", { lost: { first: [0, 0, 0.3, 0.3, 0.3] } }, 6],
    ["one if all runs are uneven", { lost: { first: times(5, 0.3) } }, 1],
    ["one if the mean alone is uneven", { ...uncertain, lost: { first: times(5, 0.15) } }, 1],
    ["the larger of both counts", { first: [1, 1, 1, 1, 0.8], lost: { first: [0, 0, 0.3, 0.3, 0.3] } }, 24],
  ])("measures again %s", (_, part, expected) => {
    const { series, evidence } = caseOf(part);
    expect(confirmingRuns(series, evidence, usualRule)).toBe(expected);
  });

  const unsettled = (part: CasePart) => {
    const { series, evidence } = caseOf(part);
    return isUnsettled(series, evidence, usualRule);
  };

  it.each<[string, CasePart, boolean]>([
    ["slow runs that no fresh one had", { first: [1, 1, 1, 1, 0.8], fresh: [1] }, true],
    ["slow runs that a fresh one had", { first: [1, 1, 1, 1, 0.8], fresh: [0.8] }, false],
    ["uneven runs that no fresh one had", { lost: { first: times(5, 0.5), fresh: [0] } }, true],
    ["uneven runs that a fresh one had", { lost: { first: times(5, 0.5), fresh: [0.5] } }, false],
    ["a drop that noise may be", { first: times(5, 0.95), deviation: 0.04 }, true],
    ["a drop that is shown", { first: times(5, 0.9), fresh: [0.9] }, false],
    ["a drop that does not count", { first: times(5, 0.98), deviation: 0.01 }, false],
    ["no drop", {}, false],
    ["a drop of unknown noise", { first: times(5, 0.9), deviation: null }, false],
  ])("may settle %s by more runs: %s", (_, part, expected) => {
    expect(unsettled(part)).toBe(expected);
  });

  const between = (variance: number, speed: number): CasePart => {
    const certain = { degreesOfFreedom: 50 };
    const occasionNoise = { shared: { variance, ...certain }, own: { variance: 0, ...certain } };
    return { first: times(5, speed), deviation: 0.02, occasionNoise };
  };

  it.each([
    // The candidate's runs have 0.00008 of a variance of 0.00016 and twice that between occasions: 31, 29, 22 and 8 %.
    [0.00005, 0.96, true, true],
    [0.00006, 0.96, false, true],
    [0.0001, 0.95, false, true],
    [0.0004, 0.92, false, false],
  ])(
    "settles no cell and no group that noise between occasions of %f leaves open",
    (variance, speed, cell, group) => {
      expect(unsettled(between(variance, speed))).toBe(cell);
      expect(isUnsettledGroup(groupOf(between(variance, speed)), usualRule)).toBe(group);
    },
  );

  it("measures each suspect once, also one of two directions", () => {
    const cells = [{ GBps: 50 }, { GBps: 50, workers: 2 }, { GBps: 12, memory: "registered" }] as const;
    const before = buildRuns({ cells });
    const slowed = cells.map((cell, i) => ({ ...cell, GBps: cell.GBps * [0.96, 0.99, 0.96][i]! }));
    const ids = before[0]!.cells.map(({ id }) => id);
    const suspects = findSuspects(comparisonRequest(before, buildRuns({ cells: slowed, seed: 2 })));
    expect(suspects).toMatchObject({ ids: [ids[0], ids[2]], runs: 1 });
    const bidir: CellPart[] = [
      { direction: "bidir", mode: "latency", GBps: { h2d: 1, d2h: 1 }, latencyUs: { median: 8, p99: 9 } },
    ];
    const [fast, slower] = [buildRuns({ cells: bidir }), buildRuns({ cells: bidir, speed: 0.8, seed: 2 })];
    expect(findSuspects(comparisonRequest(fast, slower)).ids).toEqual([fast[0]!.cells[0]!.id]);
  });
});

function groupOf(
  evidence: CasePart,
  withHost: CasePart | null = null,
  host: number | null = null,
): GroupToJudge {
  return {
    members: [caseOf(), caseOf()],
    evidence: caseOf(evidence).evidence,
    withHost: withHost && caseOf(withHost).evidence,
    host: host === null ? null : { change: host },
  };
}

describe("a group", () => {
  const [same, lost] = [{}, { first: times(5, 0.9) }];
  const one = { first: [1, 1, 1, 1, 0.7] };

  it.each<[string, CasePart, CasePart | null, number | null, string, boolean]>([
    ["its copies' loss, without the host's", lost, null, null, "slower", false],
    ["its copies' loss, also if the host lost some", lost, lost, -0.1, "slower", false],
    ["the loss of both, if the host lost more than half of what counts", same, lost, -0.016, "slower", true],
    ["no loss of both, if the host lost less", same, lost, -0.015, "not slower", false],
    ["no loss if both together have none", same, same, -0.1, "not slower", false],
    ["no loss that cannot be told of both together", same, one, -0.1, "not slower", false],
    ["a gain", { first: times(5, 1.1) }, null, null, "faster", false],
    ["nothing if the noise is unknown", { deviation: null }, null, null, "inconclusive", false],
  ])("has %s", (_, evidence, withHost, host, verdict, isWithHost) => {
    expect(judgeGroup(groupOf(evidence, withHost, host), terms)).toMatchObject({ verdict, isWithHost });
  });

  it("has the drop that counts in its median cell, which a cell below the floor cannot have", () => {
    expect(judgeGroup(groupOf(lost), terms).reason).toContain("by more than 3 %");
    // 50 MB/s of 25 cannot be lost.
    const slow = caseOf({ baseline: times(5, 0.0005), first: times(5, 0.0005) });
    const withSlow = { ...groupOf(lost), members: [caseOf(), slow, slow, caseOf()] };
    expect(judgeGroup(withSlow, terms).verdict).toBe("not slower");
  });

  it.each<[string, CasePart, CasePart | null, number | null, boolean]>([
    ["its copies lost more than half of what counts", { first: times(5, 0.984) }, null, null, true],
    ["they lost less", { first: times(5, 0.986) }, null, null, false],
    ["both together lost it, and so did the host", same, lost, -0.016, true],
    ["both together lost it, and the host less", same, lost, -0.015, false],
    ["both together lost it, of a host that is not known", same, lost, null, false],
    ["the host alone lost it", same, same, -0.1, false],
    ["the noise is unknown", { ...lost, deviation: null }, { deviation: null }, -0.1, false],
  ])("is measured again or not, if %s", (_, evidence, withHost, host, expected) => {
    expect(isSuspiciousGroup(groupOf(evidence, withHost, host), usualRule)).toBe(expected);
  });

  it.each<[string, CasePart, boolean]>([
    ["a drop that noise may be", { first: times(5, 0.95), deviation: 0.04 }, true],
    ["a drop that is shown", lost, false],
    ["no drop", same, false],
    ["a drop of unknown noise", { ...lost, deviation: null }, false],
  ])("may be settled by more runs, if it has %s: %s", (_, evidence, expected) => {
    expect(isUnsettledGroup(groupOf(evidence), usualRule)).toBe(expected);
  });
});
