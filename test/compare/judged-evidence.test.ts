import { describe, expect, it } from "vitest";
import {
  confirmingRuns,
  type GroupToJudge,
  isSuspiciousGroup,
  isUnsettled,
  isUnsettledGroup,
  judge,
  judgeGroup,
} from "../../src/compare/verdict.js";
import { usualRule } from "../helpers/runs.js";
import { type CasePart, caseOf, times } from "./evidence-case.js";

/** Verdicts at a threshold of 3 %, on runs with a known deviation of 0.1 % unless a test says otherwise. */

const terms = { rule: usualRule, needsConfirmation: false, isBlocked: false };
const judgedOf = (part: CasePart, more: Partial<typeof terms> = {}) => {
  const { series, evidence } = caseOf(part);
  const { verdict, reason } = judge(series, evidence, { ...terms, ...more });
  return `${verdict}: ${reason}`;
};

describe("uneven runs that have to be confirmed", () => {
  const check = (first: readonly number[], fresh: readonly number[]) =>
    judgedOf({ lost: { first, fresh } }, { needsConfirmation: true });

  it.each([
    [times(5, 0.3), [0.3], "uneven: slow copies took 30 % of the time, 0 % before"],
    [[0, 0, 0, 0, 0.4], [0.4], /^uneven: /],
    [times(5, 0.3), [], /and fresh processes could not measure it again$/],
    [times(5, 0.3), [0, 0], /and fresh processes did not confirm it$/],
    // They lost more than half of what counts, and none of them is uneven.
    [times(5, 0.3), [0.04, 0.04], /and fresh processes did not confirm it$/],
    // One is uneven, and on average they lost too little.
    [times(5, 0.3), [0.06, 0, 0, 0, 0], /and fresh processes did not confirm it$/],
    [times(5, 0), [0.5], /^not slower: /],
  ])("of which %j and then %j are lost", (first, fresh, expected) => {
    expect(check(first, fresh)).toMatch(expected);
  });

  it("are inconclusive without a confirmation if there are several", () => {
    expect(judgedOf({ lost: { first: [0, 0, 0, 0, 0.4] } })).toMatch(
      /^inconclusive: slow copies took 8 % of the time, 0 % before, in 1 of 5 runs$/,
    );
  });

  it("are told beside a median that is open too, and leave the slow runs that it is about", () => {
    const lost = { first: [0, 0, 0, 0, 0.4] };
    expect(judgedOf({ first: times(5, 0.98), deviation: 0.05, lost })).toMatch(
      /^inconclusive: .* neither shows nor excludes .*; slow copies took 8 % of the time, .* in 1 of 5 runs$/,
    );
    const both = { first: [1, 1, 1, 1, 0.8], fresh: times(5, 1) };
    const again = { first: times(5, 0.3), fresh: times(5, 0.3) };
    const { series, evidence } = caseOf({ ...both, lost: again });
    expect(judge(series, evidence, { ...terms, needsConfirmation: true })).toMatchObject({
      ...{ verdict: "uneven", slowRuns: { count: 1, runs: 10 } },
    });
  });

  it("do not matter between sides that are not comparable", () => {
    expect(judgedOf({ lost: { first: times(5, 0.3) } }, { isBlocked: true })).toMatch(/^not comparable: /);
  });
});

it("a slow run among runs that are all a little slower leaves a cell undecided", () => {
  expect(judgedOf({ first: times(5, 0.98) })).toMatch(/^not slower: /);
  expect(judgedOf({ first: [0.98, 0.98, 0.98, 0.98, 0.93] })).toMatch(
    /^inconclusive: .* neither shows nor excludes/,
  );
});

describe("fresh processes", () => {
  const countOf = (part: CasePart) => {
    const { series, evidence } = caseOf(part);
    return confirmingRuns(series, evidence, usualRule);
  };

  it.each([
    ["none if nothing looks slow", {}, 0],
    ["none without known noise", { first: times(5, 0.8), deviation: null }, 0],
    ["one if all looks slower by more than half the threshold", { first: times(5, 0.984) }, 1],
    ["none if it lost less than half the threshold", { first: times(5, 0.986) }, 0],
    // log 0.005 / log 0.8 and / log 0.4: 23.7 and 5.8.
    ["as many as find one slow run of five again", { first: [1, 1, 1, 1, 0.8] }, 24],
    ["as many as find three slow runs of five again", { first: [1, 1, 0.8, 0.8, 0.8] }, 6],
    ["as many as find three uneven runs of five again", { lost: { first: [0, 0, 0.3, 0.3, 0.3] } }, 6],
    ["one if all runs are uneven", { lost: { first: times(5, 0.3) } }, 1],
    [
      "one if the mean alone shows unevenness",
      { memory: "pageable", usualUnevenness: 0.2, lost: { first: times(5, 0.15) } },
      1,
    ],
    ["the larger of both counts", { first: [1, 1, 1, 1, 0.8], lost: { first: [0, 0, 0.3, 0.3, 0.3] } }, 24],
  ] as const)("are %s", (_, part, expected) => {
    expect(countOf(part)).toBe(expected);
  });

  const unsettled = (part: CasePart) => {
    const { series, evidence } = caseOf(part);
    return isUnsettled(series, evidence, usualRule);
  };

  it.each([
    ["slow runs that no fresh one had", { first: [1, 1, 1, 1, 0.8], fresh: [1] }, true],
    ["slow runs that a fresh one had", { first: [1, 1, 1, 1, 0.8], fresh: [0.8] }, false],
    ["uneven runs that no fresh one had", { lost: { first: times(5, 0.5), fresh: [0] } }, true],
    ["uneven runs that a fresh one had", { lost: { first: times(5, 0.5), fresh: [0.5] } }, false],
    ["a drop that noise may be", { first: times(5, 0.95), deviation: 0.04 }, true],
    ["a drop that is shown", { first: times(5, 0.9), fresh: [0.9] }, false],
    ["a drop that does not count", { first: times(5, 0.98), deviation: 0.01 }, false],
    ["no drop", {}, false],
    ["a drop of unknown noise", { first: times(5, 0.9), deviation: null }, false],
  ] as const)("may still settle %s: %s", (_, part, expected) => {
    expect(unsettled(part)).toBe(expected);
  });

  it("settle nothing that noise between occasions leaves open", () => {
    const noisy = (variance: number) => ({
      first: times(5, 0.96),
      deviation: 0.02,
      occasionNoise: {
        shared: { variance, degreesOfFreedom: 50 },
        own: { variance: 0, degreesOfFreedom: 50 },
      },
    });
    // The candidate's runs have 0.00008 of a variance of 0.00016 + 2 * 0.00005 or 0.00006: 31 % and 29 %.
    expect(unsettled(noisy(0.00005))).toBe(true);
    expect(unsettled(noisy(0.00006))).toBe(false);
  });
});

describe("a group", () => {
  const group = (
    evidence: CasePart,
    withHost: CasePart | null = null,
    host: number | null = null,
  ): GroupToJudge => ({
    members: [caseOf(), caseOf()],
    evidence: caseOf(evidence).evidence,
    withHost: withHost && caseOf(withHost).evidence,
    host: host === null ? null : { change: host },
  });
  const [same, lost] = [{}, { first: times(5, 0.9) }];

  it.each([
    ["its copies' loss, without the host's", lost, null, null, "slower", false],
    ["its copies' loss, also if the host lost some", lost, lost, -0.1, "slower", false],
    ["the loss of both, if the host lost more than half of what counts", same, lost, -0.016, "slower", true],
    ["no loss of both, if the host lost less", same, lost, -0.015, "not slower", false],
    ["no loss if both together have none", same, same, -0.1, "not slower", false],
    [
      "no loss that cannot be told of both together",
      same,
      { first: [1, 1, 1, 1, 0.7] },
      -0.1,
      "not slower",
      false,
    ],
    ["a gain", { first: times(5, 1.1) }, null, null, "faster", false],
    ["nothing if the noise is unknown", { deviation: null }, null, null, "inconclusive", false],
  ] as const)("has %s", (_, evidence, withHost, host, verdict, isWithHost) => {
    expect(judgeGroup(group(evidence, withHost, host), terms)).toMatchObject({ verdict, isWithHost });
  });

  it("has the drop that counts in its median cell, which a cell below the floor cannot have", () => {
    expect(judgeGroup(group(lost), terms).reason).toBe("by more than 3 %, beyond the spread between runs");
    // 50 MB/s of 25 cannot be lost.
    const slow = caseOf({ baseline: times(5, 0.0005), first: times(5, 0.0005) });
    const withSlow = { ...group(lost), members: [caseOf(), slow, slow, caseOf()] };
    expect(judgeGroup(withSlow, terms).verdict).toBe("not slower");
  });

  it.each([
    ["its copies lost more than half of what counts", { first: times(5, 0.984) }, null, null, true],
    ["they lost less", { first: times(5, 0.986) }, null, null, false],
    ["both together lost it, and so did the host", same, lost, -0.016, true],
    ["both together lost it, and the host less", same, lost, -0.015, false],
    ["both together lost it, of a host that is not known", same, lost, null, false],
    ["the host alone lost it", same, same, -0.1, false],
    ["the noise is unknown", { ...lost, deviation: null }, { deviation: null }, -0.1, false],
  ] as const)("is measured again or not, if %s", (_, evidence, withHost, host, expected) => {
    expect(isSuspiciousGroup(group(evidence, withHost, host), usualRule)).toBe(expected);
  });

  it.each([
    ["a drop that noise may be", { first: times(5, 0.95), deviation: 0.04 }, true],
    ["a drop that is shown", lost, false],
    ["no drop", same, false],
    ["a drop of unknown noise", { ...lost, deviation: null }, false],
  ] as const)("may be settled by more runs, if it has %s: %s", (_, evidence, expected) => {
    expect(isUnsettledGroup(group(evidence), usualRule)).toBe(expected);
  });

  it("may be settled by runs that cause a tenth of its error, where a cell needs three", () => {
    // The candidate's runs have 0.00008 of a variance of 0.00036 and 0.00096: 22 % and 8 %.
    const open = (variance: number, speed: number) => {
      const part = { shared: { variance, degreesOfFreedom: 50 }, own: { variance: 0, degreesOfFreedom: 50 } };
      return { first: times(5, speed), deviation: 0.02, occasionNoise: part };
    };
    const cell = caseOf(open(0.0001, 0.95));
    expect(isUnsettled(cell.series, cell.evidence, usualRule)).toBe(false);
    expect(isUnsettledGroup(group(open(0.0001, 0.95)), usualRule)).toBe(true);
    expect(isUnsettledGroup(group(open(0.0004, 0.92)), usualRule)).toBe(false);
  });
});
