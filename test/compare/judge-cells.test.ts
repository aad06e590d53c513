import { describe, expect, it } from "vitest";
import { awaitsMoreRuns, compareResults, findSuspects } from "../../src/compare/compare-results.js";
import type { Comparison } from "../../src/compare/comparison.js";
import type { ResultDocument } from "../../src/results/schema.js";
import type { CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, comparisonRequest, documentAtSpeed } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

/** Checks of a machine with pinned, pageable and host cells. */

const kinds = { pinned: 50, pageable: 10, host: 12 };
type Kind = keyof typeof kinds;
const cells = (Object.keys(kinds) as Kind[]).flatMap((memory) =>
  [1, 2, 4].map((workers): CellPart => ({ memory, workers, GBps: kinds[memory] })),
);

interface Session {
  /** Days after the first one. */
  day: number;
  runs?: number;
  /** Factors on the speed of a kind's cells, in a run. */
  speed?: (cell: { memory: string; workers: number }, run: number) => number;
}

/** Runs a minute apart, with noise of 0.1 % in pinned and 1 % in other cells. */
function measured({ day, runs = 10, speed = () => 1 }: Session, seed = day + 1): ResultDocument[] {
  const { normal } = seeded(seed);
  return buildRuns({ cells, count: runs, deviation: 0 }).map((document, run) => {
    const startedAt = new Date(Date.UTC(2026, 10, 1 + day, 5, run)).toISOString();
    const withNoise = document.cells.reduce((one, { id, memory, workers }) => {
      const noise = (memory === "pinned" ? 0.001 : 0.01) * normal();
      return documentAtSpeed(
        one,
        speed({ memory, workers }, run) * Math.exp(noise),
        (cell) => cell.id === id,
      );
    }, document);
    return { ...withNoise, run: { ...document.run, id: `${seed}-${run}`, startedAt } };
  });
}

const once = measured({ day: 0 });
const often = [0, 1, 2, 3].flatMap((day) => measured({ day }));

/** A whole check: first runs, and fresh ones if something looks slower. */
function check(baseline: ResultDocument[], speed: NonNullable<Session["speed"]>): Comparison {
  const first = measured({ day: 9, runs: 5, speed }, 90);
  const again = measured({ day: 9, runs: 24, speed }, 91);
  const request = comparisonRequest(baseline, first, { command: "check" });
  const suspects = findSuspects(request).ids;
  if (suspects.length === 0) return compareResults(request);
  for (let runs = 5; ; ++runs) {
    const fresh = comparisonRequest(baseline, again.slice(0, runs)).candidate.runs;
    const whole = { ...request, suspects, fresh };
    if (runs === again.length || !awaitsMoreRuns(whole)) return compareResults(whole);
  }
}

const of = (kind: Kind, factor: number) => (cell: { memory: string }) => (cell.memory === kind ? factor : 1);
const group = ({ groups }: Comparison, kind: Kind) => groups.find((one) => one.kind === kind)!;
const inRuns =
  (kind: Kind, factor: number, isSlow: (run: number) => boolean) => (cell: { memory: string }, run: number) =>
    cell.memory === kind && isSlow(run) ? factor : 1;

describe("a check", () => {
  it.each<[string, ResultDocument[], NonNullable<Session["speed"]>, string, Kind, string | null]>([
    ["of an unchanged machine passes", once, () => 1, "pass", "pinned", "not slower"],
    ["finds pinned copies that lose 5 %", often, of("pinned", 0.95), "regression", "pinned", "slower"],
    ["finds a loss of 5 % against one session", once, of("pinned", 0.95), "regression", "pinned", "slower"],
    ["finds pageable copies that lose 20 %", often, of("pageable", 0.8), "regression", "pageable", "slower"],
    ["does not fail if only host memory is slower", often, of("host", 0.5), "pass", "host", null],
    ["reports copies that gained 20 % as faster", often, of("pinned", 1.2), "pass", "pinned", "faster"],
    [
      "finds a single cell that loses 10 %",
      often,
      ({ memory, workers }) => (memory === "pinned" && workers === 2 ? 0.9 : 1),
      "regression",
      "pinned",
      "slower",
    ],
    [
      "reports two slow runs of five",
      often,
      inRuns("pinned", 0.6, (run) => run % 5 < 2),
      "regression",
      "pinned",
      "unsteady",
    ],
    [
      "reports one slow run of five",
      often,
      inRuns("pinned", 0.6, (run) => run % 5 === 1),
      "regression",
      "pinned",
      "unsteady",
    ],
    [
      "is undecided after a single slow run",
      often,
      inRuns("pinned", 0.6, (run) => run === 3),
      "undecided",
      "pinned",
      "undecided",
    ],
  ])("%s", (_, baseline, speed, outcome, kind, verdict) => {
    const comparison = check(baseline, speed);
    expect([comparison.outcome, group(comparison, kind).verdict]).toEqual([outcome, verdict]);
  });

  it.each([
    ["slower", 0.9, [expect.stringContaining("/pinned/16777216/w2/")]],
    ["faster", 1.2, []],
  ])("names the cell that is %s than its group, and no other", (verdict, factor, slowerAlone) => {
    const comparison = check(often, ({ memory, workers }) =>
      memory === "pinned" && workers === 2 ? factor : 1,
    );
    expect(group(comparison, "pinned").slowerAlone).toEqual(slowerAlone);
    const named = comparison.cells.filter((cell) => cell.verdict === verdict);
    expect(named.map(({ workers }) => workers)).toEqual([2]);
  });

  it("calls no cell slower whose own loss is below the threshold, though its group is slower", () => {
    const isSlow = ({ memory, workers }: { memory: string; workers: number }) =>
      memory === "pinned" && workers > 1;
    const comparison = check(often, (cell) => (isSlow(cell) ? 0.9 : 1));
    const pinned = comparison.cells.filter(({ memory }) => memory === "pinned");
    expect(group(comparison, "pinned").verdict).toBe("slower");
    expect(pinned.map(({ workers, verdict }) => [workers, verdict])).toEqual([
      [1, "not slower"],
      [2, "slower"],
      [4, "slower"],
    ]);
  });

  it("is decided by the fresh runs alone", () => {
    const first = measured({ day: 9, runs: 5, speed: of("pinned", 0.8) }, 90);
    const fresh = measured({ day: 9, runs: 5 }, 91);
    const comparison = compareRuns(often, first, { command: "check", fresh });
    expect(comparison.outcome).toBe("pass");
    expect(group(comparison, "pinned")).toMatchObject({
      verdict: "not slower",
      firstChange: expect.closeTo(-0.2, 2),
      change: expect.closeTo(0, 2),
    });
    expect(comparison.notes).toEqual([
      expect.stringMatching(/^H2D pinned was −20\.\d % at first, not when it was measured again$/),
    ]);
  });
});

describe("a group that lacks cells of the candidate", () => {
  it("is undecided under --strict, and names the missing cells", () => {
    const first = measured({ day: 9, runs: 5 }, 90).map((run) => ({
      ...run,
      cells: run.cells.filter(({ memory, workers }) => memory !== "pinned" || workers !== 2),
    }));
    const outcomes = [false, true].map((strict) => compareRuns(often, first, { rule: { strict } }));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["pass", "undecided"]);
    expect(group(outcomes[0]!, "pinned").missing).toEqual([expect.stringContaining("/w2/")]);
  });
});

describe("slow copies", () => {
  const withLost = (share: number) =>
    measured({ day: 9, runs: 5 }, 90).map((run) => ({
      ...run,
      cells: run.cells.map((cell) => ({
        ...cell,
        stats: cell.stats.map((one) => ({
          ...one,
          overTimeGBps: one.bandwidthGBps.median * (cell.memory === "pinned" ? 1 - share : 1),
        })),
      })),
    }));

  it.each([
    [0.375, "unsteady", "slow copies"],
    [0.02, "not slower", "change"],
  ])("that take %f of the time are judged %s", (share, verdict, basis) => {
    expect(group(compareRuns(often, withLost(share)), "pinned")).toMatchObject({ verdict, basis });
  });
});

describe("a machine whose memory is slower", () => {
  const slowerBy =
    (factor: number) =>
    ({ memory }: { memory: string }) =>
      memory === "pinned" ? 1 : factor;

  it.each([0.6, 0.4, 0.2])(
    "fails a check against one session with its CPU copies at %f of the speed",
    (factor) => {
      const comparison = check(once, slowerBy(factor));
      expect(comparison.outcome).toBe("regression");
      expect(group(comparison, "pageable")).toMatchObject({
        verdict: "slower",
        hostChange: expect.closeTo(factor - 1, 1),
      });
      expect(group(comparison, "pinned").verdict).toBe("not slower");
    },
  );

  it("does not change the smallest loss that the check would detect", () => {
    const shown = [1, 0.6, 0.2].map((factor) => {
      const compared = compareRuns(once, measured({ day: 9, runs: 5, speed: slowerBy(factor) }, 90));
      return group(compared, "pageable").wouldShow;
    });
    expect(new Set(shown).size).toBe(1);
  });
});

describe("a comparison of one run on each side", () => {
  it.each<[Kind, number, string]>([
    ["pinned", 0.33, "slower"],
    ["pageable", 0.33, "slower"],
    ["pageable", 0.6, "slower"],
    ["pinned", 0.955, "not slower"],
    ["pinned", 1, "not slower"],
  ])("judges %s copies at %f of the speed as %s", (kind, factor, verdict) => {
    const [one, other] = [
      measured({ day: 0, runs: 1 }),
      measured({ day: 9, runs: 1, speed: of(kind, factor) }, 90),
    ];
    expect(group(compareRuns(one, other), kind).verdict).toBe(verdict);
  });
});
