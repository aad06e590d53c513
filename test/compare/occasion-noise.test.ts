import { describe, expect, it } from "vitest";
import { evidenceOf } from "../../src/compare/evidence/cell-evidence.js";
import {
  betweenOccasions,
  estimateOccasionNoise,
  recordedOccasionNoise,
  standInFor,
  startingOccasionNoise,
} from "../../src/compare/evidence/occasion-noise.js";
import { sensitivityOf } from "../../src/compare/evidence/sensitivity.js";
import { fewestOccasions } from "../../src/compare/occasions.js";
import { buildRuns, compareRuns, documentAtSpeed, resultSet, usualRule } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

const { normal } = seeded(7);

/** A start that says nothing. */
const nothing = {
  shared: { variance: 0, degreesOfFreedom: 1e-9 },
  own: { variance: 0, degreesOfFreedom: 1e-9 },
};

/** Centres of `cells` cells on `occasions` occasions, about levels of their own. */
function simulate(occasions: number, cells: number, { shared = 0, own = 0 }) {
  const offsets = Array.from({ length: occasions }, () => shared * normal());
  return Array.from({ length: cells }, (_, cell) => offsets.map((offset) => cell + offset + own * normal()));
}

describe("the noise between occasions", () => {
  it("is divided into a part shared by the cells of a kind, and each cell's own", () => {
    const noise = estimateOccasionNoise([simulate(200, 40, { shared: 0.05, own: 0.02 })], nothing);
    expect(Math.sqrt(noise.shared.variance)).toBeCloseTo(0.05, 2);
    expect(Math.sqrt(noise.own.variance)).toBeCloseTo(0.02, 3);
    expect(noise.shared.degreesOfFreedom).toBeCloseTo(199, 6);
    expect(noise.own.degreesOfFreedom).toBeCloseTo(199 * 39, 6);
  });

  it("does not take one cell's step for something shared", () => {
    const centres = simulate(6, 20, { own: 0.001 });
    const stepped = centres.map((row, i) => row.map((value, o) => (i === 0 && o > 2 ? value - 0.3 : value)));
    expect(Math.sqrt(estimateOccasionNoise([stepped], nothing).shared.variance)).toBeLessThan(0.002);
  });

  it("counts as shared if there are too few cells to divide it", () => {
    const { shared, own } = estimateOccasionNoise([simulate(100, 2, { own: 0.03 })], nothing);
    expect(Math.sqrt(shared.variance)).toBeCloseTo(0.03, 2);
    expect(own.variance).toBe(0);
  });

  it("is the initial value for fewer than three occasions", () => {
    const two = simulate(fewestOccasions - 1, 10, { shared: 1 });
    const recorded = {
      shared: { variance: 1e-3, degreesOfFreedom: 3 },
      own: { variance: 1e-4, degreesOfFreedom: 30 },
    };
    expect(estimateOccasionNoise([two], recorded)).toEqual(recorded);
    expect(estimateOccasionNoise([], recorded)).toEqual(recorded);
  });

  it("pools several sources by degrees of freedom, and adds the initial value up to six", () => {
    const recorded = {
      shared: { variance: 0.02, degreesOfFreedom: 40 },
      own: { variance: 0, degreesOfFreedom: 1 },
    };
    const quiet = [1, 2, 3, 4].map((level) => [level, level, level]);
    const loud = [1, 2, 3, 4].map((level) => [level - 0.1, level, level + 0.1]);
    const { shared } = estimateOccasionNoise([quiet, loud], recorded);
    expect(shared.degreesOfFreedom).toBe(2 + 2 + 2);
    expect(shared.variance).toBeCloseTo((2 * 0 + 2 * 0.01 + 2 * 0.02) / 6, 12);
    const three = estimateOccasionNoise([quiet, loud, loud], recorded);
    expect(three.shared.degreesOfFreedom).toBe(2 + 2 + 2);
    expect(three.shared.variance).toBeCloseTo((2 * 0 + 4 * 0.01) / 6, 12);
    // One that is noisier than the start is known by itself alone, however little it has seen.
    const noisier = estimateOccasionNoise([loud], {
      ...recorded,
      shared: { variance: 0.001, degreesOfFreedom: 40 },
    });
    expect(noisier.shared).toEqual({ variance: expect.closeTo(0.01, 12), degreesOfFreedom: 2 });
  });

  it("leaves out a cell that was not measured on every occasion", () => {
    const whole = simulate(5, 10, { shared: 0.05 });
    expect(estimateOccasionNoise([[...whole, [1, 99]]], nothing)).toEqual(
      estimateOccasionNoise([whole], nothing),
    );
  });
});

describe("a change between the occasions of a baseline and the one of a candidate", () => {
  const noise = {
    shared: { variance: 0.01, degreesOfFreedom: 7 },
    own: { variance: 0.004, degreesOfFreedom: 70 },
  };

  it.each([
    [[5], 2],
    [[5, 5, 5], 1 + 1 / 3],
    [[1, 3], 1 + 1 / 16 + 9 / 16],
  ])("has the candidate's offset, and the baseline's by the runs of each: %j, %f times", (runs, times) => {
    const { shared, own } = betweenOccasions(runs, noise);
    expect(shared.variance).toBeCloseTo(times * 0.01, 12);
    expect(own.variance).toBeCloseTo(times * 0.004, 12);
    expect([shared.degreesOfFreedom, own.degreesOfFreedom]).toEqual([7, 70]);
  });

  it("is relative to a baseline that weights each occasion by its runs", () => {
    const ran = (occasion: number, count: number) =>
      Array.from({ length: count }, () => ({ value: 1, startedAt: "", occasion, hostLogSpeed: null }));
    const series = { baseline: [...ran(0, 1), ...ran(1, 3)], first: ran(0, 1), fresh: [] };
    const logs = { baseline: [5, 1, 1, 1], first: [2], fresh: [], explained: null, explainedOfFresh: null };
    const evidence = evidenceOf(series as unknown as Parameters<typeof evidenceOf>[0], logs, null, null);
    expect(evidence).toMatchObject({ baseline: 2, candidate: 2, occasionRuns: [1, 3] });
  });
});

describe("noise between occasions that no run shows yet", () => {
  it.each([
    ["pinned", "GB/s", {}, "pinned"],
    ["device", "GB/s", {}, "pinned"],
    ["pinned", "us", {}, "pageable"],
    ["pinned", "GB/s", { beside: "compute" }, "pageable"],
    ["mapped", "GB/s", {}, "pageable"],
    ["system", "GB/s", {}, "pageable"],
    ["staged", "us", {}, "staged"],
    ["host", "GB/s", {}, "host"],
  ] as const)("is for %s memory in %s %j like that of %s", (memory, unit, more, like) => {
    expect(standInFor({ memory, ...more }, unit)).toBe(like);
  });

  it("is a bound of four times what was recorded, like five occasions, but that of recorded pinned copies is their own", () => {
    const noiseOf = (memory: string, name: string) => {
      const { shared, own } = startingOccasionNoise({ unit: "GB/s", cell: { memory } }, [name]);
      return [shared, own].map(({ variance, degreesOfFreedom }) => [variance, degreesOfFreedom]);
    };
    const { pinned, pageable } = recordedOccasionNoise;
    const [ofPinned, ofPageable] = [pinned!.shared.variance, pageable!.shared.variance];
    const [ownOfPinned, ownOfPageable] = [pinned!.own.variance, pageable!.own.variance];
    expect(noiseOf("pinned", "NVIDIA H200")).toEqual([
      [ofPinned, 2],
      [ownOfPinned, 14],
    ]);
    expect(noiseOf("pageable", "NVIDIA H200")).toEqual([
      [4 * ofPageable, 2],
      [ownOfPageable, 14],
    ]);
    expect(noiseOf("pinned", "NVIDIA T4")).toEqual([
      [4 * ofPinned, 4],
      [4 * ownOfPinned, 14],
    ]);
  });
});

describe("a comparison with a baseline of three occasions", () => {
  const cells = Array.from({ length: 8 }, (_, i) => ({
    GBps: 20,
    memory: "pageable" as const,
    workers: i + 1,
  }));
  /** Runs of one hour. */
  const session = (hour: number, speed: number) =>
    buildRuns({ cells, speed, seed: hour + 1 }).map(({ run, ...rest }) => ({
      ...rest,
      run: { ...run, id: `${hour}-${run.id}`, startedAt: run.startedAt.replace("T10", `T1${hour}`) },
    }));
  const sessions = (...speeds: number[]) => speeds.flatMap((speed, hour) => session(hour, speed));
  const candidate = session(5, 0.92);

  it("calls a loss slower that none of these occasions had", () => {
    expect(compareRuns(sessions(1, 1, 1), candidate)).toMatchObject({
      outcome: "regression",
      counts: { "probably slower": 8 },
    });
  });

  it("calls nothing slower if the occasions differ by as much", () => {
    expect(compareRuns(sessions(1.06, 1, 0.94), candidate)).toMatchObject({
      outcome: "pass",
      counts: { slower: 0, "not slower": 0 },
    });
  });
  it("takes cells that an occasion lacks, whichever it is", () => {
    const whole = sessions(1.01, 1, 0.99, 1);
    const without = (hour: number, workers: number) => (document: (typeof whole)[number]) =>
      document.run.id.startsWith(`${hour}-`)
        ? { ...document, cells: document.cells.filter((cell) => cell.workers !== workers) }
        : document;
    for (const hour of [0, 1, 3]) {
      const partial = whole.map(without(hour, 1)).map(without(2, 8));
      const { cells: compared } = compareRuns(partial, candidate);
      expect(compared.map(({ baseline }) => baseline!.runs).sort()).toEqual([15, 15, 20, 20, 20, 20, 20, 20]);
      for (const cell of compared) expect(cell.candidate!.low).toEqual(expect.closeTo(-0.2, 1));
      const { kinds } = sensitivityOf(resultSet(partial).runs, 5, usualRule)!;
      expect(kinds[0]!.largestDrop).toBeLessThan(0.5);
    }
  });

  it("shows figures whose difference is the shown change", () => {
    const uneven = sessions(1, 1, 1.05).map((document, i) =>
      i % 5 === 0 ? documentAtSpeed(document, 0.7) : document,
    );
    for (const { baseline, candidate: now } of compareRuns(uneven, candidate).cells)
      expect(now!.figure / baseline!.figure - 1).toBeCloseTo(now!.change!, 9);
  });
});
