import { describe, expect, it } from "vitest";
import type { Evidence } from "../../src/compare/evidence/cell-evidence.js";
import { tailOfOne } from "../../src/compare/evidence/change-estimate.js";
import { chancesOf, gatherEvidence } from "../../src/compare/evidence/evidence.js";
import { outlierSpread } from "../../src/compare/evidence/noise.js";
import { logSpeeds, type Series } from "../../src/compare/series.js";
import { holm, studentQuantile } from "../../src/stats/hypothesis-tests.js";
import { type CasePart, caseOf } from "./evidence-case.js";

type Context = Parameters<typeof gatherEvidence>[1];
/** A GPU of which nothing is recorded. */
const usual: Context = { deviceNames: ["NVIDIA T4"], isLoaded: false };
const gathered = (series: Series[], part: Partial<Context> = {}, asked: Series[] | null = null) =>
  gatherEvidence({ series, hostErrorVariance: 0 }, { ...usual, ...part }, asked && new Set(asked));

const noisy = [1, 1.01, 0.99, 1.02, 0.98];
/** A cell that is so much as fast as before. */
const at = (speed: number, part: CasePart & Partial<Pick<Series, "moved">> = {}): Series => {
  const { moved = "h2d", ...rest } = part;
  return { ...caseOf({ baseline: noisy, first: noisy.map((one) => one * speed), ...rest }).series, moved };
};
const rates = { baseline: [10, 11, 9, 10, 10], first: [10, 9, 11, 10, 10], fresh: [] };

const halfWidthOf = ({ overall }: Evidence) => (overall!.high - overall!.low) / 2;
/** Half of the interval of one of so many changes. */
const halfWidthOfOne = ({ overall }: Evidence, tests: number) =>
  overall!.error * studentQuantile(tailOfOne(tests), overall!.degreesOfFreedom);
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 10));

function expectCorrected(evidence: readonly Evidence[], tests: number, correct = holm): void {
  const of = (key: "pSlower" | "pFaster") => correct(evidence.map(({ overall }) => overall![key]));
  expect(evidence.map(({ adjusted }) => adjusted!.slower)).toEqual(close(of("pSlower")));
  expect(evidence.map(({ adjusted }) => adjusted!.faster)).toEqual(close(of("pFaster")));
  for (const one of evidence) expect(halfWidthOf(one)).toBeCloseTo(halfWidthOfOne(one, tests), 10);
}

describe("the evidence on cells", () => {
  const cells = [at(0.96), at(1), at(1.03), at(0.97, { memory: "pageable" })];

  it("is corrected for all of them, losses and gains each, whatever their kinds", () => {
    expectCorrected(gathered(cells).cells as Evidence[], chancesOf.cells * 4);
  });

  it("is as certain if it is asked for some kinds alone", () => {
    const [whole, asked] = [gathered(cells), gathered(cells, {}, cells.slice(1, 2))];
    expect(asked.cells.map((one) => one?.overall ?? null)).toEqual([
      ...whole.cells.slice(0, 3).map((one) => one!.overall),
      null,
    ]);
    expect(asked.groups.map(({ kind }) => kind)).toEqual(["pinned"]);
  });

  it("has none of a cell that a side lacks, which does not count", () => {
    const { cells: found } = gathered([...cells, { ...at(1), first: [] }]);
    expect(found.at(-1)).toBeNull();
    expectCorrected(found.slice(0, 4) as Evidence[], chancesOf.cells * 4);
  });
});

describe("the evidence on the host's memory", () => {
  const host = (device: number, part: CasePart = {}) => at(0.97, { memory: "host", device, ...part });

  it("is that of each device, or of each cell if a run has no mean", () => {
    const known = [
      host(0, { hostRates: rates }),
      host(0, { hostRates: rates }),
      host(1, { hostRates: rates }),
    ];
    const twice = (pValues: readonly number[]) => pValues.map((p) => Math.min(1, 2 * p));
    const ofDevices = gathered([at(1), ...known]).cells.slice(1) as Evidence[];
    expectCorrected(ofDevices.slice(2), chancesOf.host * 2, twice);
    const unknown = [host(0), host(0), host(1)];
    expectCorrected(gathered([at(1), ...unknown]).cells.slice(1) as Evidence[], chancesOf.host * 3);
  });

  it("differs between hours as its own occasions do, if there are three, and that of copies by the start as well", () => {
    const inThree = (one: Series): Series => ({
      ...one,
      baseline: one.baseline.map((run, i) => ({ ...run, occasion: i % 3 })),
    });
    const { cells } = gathered([host(0), at(1, { memory: "pageable" })].map(inThree));
    const [ofHost, ofCopies] = cells.map((one) => one!.occasionNoise!.shared);
    expect(ofHost).toMatchObject({ degreesOfFreedom: 2 });
    expect(ofHost!.variance).toBeLessThan(1e-3);
    expect(ofCopies).toMatchObject({ degreesOfFreedom: 6 });
  });
});

describe("the evidence on groups", () => {
  it("is of three cells or more of a kind, a device and a direction, and corrected for all of these", () => {
    const three = (part: Parameters<typeof at>[1], speed = 0.98) => [1, 2, 3].map(() => at(speed, part));
    const two = [at(1, { device: 2 }), at(1, { device: 2 })];
    const { groups } = gathered([
      ...three({}),
      ...two,
      ...three({ device: 1 }, 0.97),
      ...three({ moved: "d2h" }, 1.01),
    ]);
    expect(groups.map(({ kind, device, moved, members }) => [kind, device, moved, members.length])).toEqual([
      ["pinned", 0, "h2d", 3],
      ["pinned", 1, "h2d", 3],
      ["pinned", 0, "d2h", 3],
    ]);
    expectCorrected(
      groups.map(({ evidence }) => evidence),
      chancesOf.groups * 3,
    );
  });

  it("has no cell that some runs lack", () => {
    const whole = [at(1), at(1), at(1)];
    const { first, baseline } = at(1);
    const lacking = [
      { ...at(1), first: first.slice(1) },
      { ...at(1), baseline: baseline.slice(1) },
    ];
    expect(gathered([...lacking, ...whole]).groups.map(({ members }) => members)).toEqual([whole]);
  });

  const controlled = [1, 2, 3].map(() => at(0.9, { memory: "pageable", hostRates: rates }));
  // Four times what was recorded of three machines; each cell's own averages out.
  const [ofCopies, ofHost, own] = [4 * 1.2e-4, 4 * 5.9e-3, (4 * 1.9e-3) / 3];

  it("with a control is a second one with the host's part and its noise between occasions", () => {
    const { groups } = gathered([...controlled, at(1), at(1), at(1)]);
    const [{ evidence, withHost }, pinned] = groups as [(typeof groups)[0], (typeof groups)[0]];
    expect(pinned.withHost).toBeNull();
    expectCorrected([evidence, withHost!, pinned.evidence], chancesOf.groups * 3);
    expect(evidence.occasionNoise).toMatchObject({ shared: { variance: ofCopies }, own: { variance: own } });
    const { shared, own: ownWithHost } = withHost!.occasionNoise!;
    expect([shared.variance, ownWithHost.variance]).toEqual(close([ofCopies + ofHost, own]));
  });

  it("adds the host's noise to that of a history, which excludes it", () => {
    const history = {
      pageable: [[1, 2, 3, 4].map((o) => (o % 2) * 0.2), [0, 0.2, 0, 0.2], [0.2, 0, 0.2, 0]],
    };
    const [group] = gathered(controlled, { history: { pageable: [history.pageable] } }).groups;
    const ofHistory = group!.evidence.occasionNoise!.shared.variance;
    expect(ofHistory).not.toBeCloseTo(ofCopies, 6);
    expect(group!.withHost!.occasionNoise!.shared.variance).toBeCloseTo(ofHistory + ofHost, 10);
  });
});

describe("the noise of a cell with a side of one or two runs", () => {
  const twelve = [...noisy, ...noisy, 1, 1];
  const loud = twelve.map((one) => 1 + 9 * (one - 1));
  const cellOf = (baseline: number[], first: number[], fresh: number[] = []) =>
    caseOf({ baseline, first, fresh }).series;
  const [quiet, noisier] = [cellOf(twelve, twelve), cellOf(loud, loud)];
  const noiseOf = (...few: Series[]) =>
    gathered([quiet, noisier, ...few])
      .cells.slice(2)
      .map((one) => one!.noise!.variance);

  const groupsOf = (one: Series) =>
    [one.baseline, one.first, one.fresh].map((figures) => logSpeeds(one, figures));

  it("is at least that of its kind with outliers, unless fresh runs make it three", () => {
    const few = [
      cellOf(twelve, noisy.slice(0, 2)),
      cellOf(noisy.slice(0, 2), twelve),
      cellOf(twelve, noisy.slice(0, 2), noisy.slice(0, 1)),
    ];
    const { variance } = outlierSpread([quiet, noisier, ...few].map(groupsOf), null)!;
    const [small, smallBaseline, three] = noiseOf(...few);
    expect([small, smallBaseline]).toEqual(close([variance, variance]));
    expect(three).toBeLessThan(variance / 2);
  });

  it("is its own if that is larger", () => {
    const few = cellOf(loud, loud.slice(0, 2));
    const groups = [quiet, noisier, few].map(groupsOf);
    expect(noiseOf(few)[0]).toBeGreaterThan(1.2 * outlierSpread(groups, null)!.variance);
  });
});
