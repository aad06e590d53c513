import { describe, expect, it } from "vitest";
import { evidenceOf } from "../../src/compare/evidence/cell-evidence.js";
import {
  betweenOccasions,
  estimateOccasionNoise,
  type OccasionNoise,
  recordedOccasionNoise,
  standInFor,
  startingOccasionNoise,
} from "../../src/compare/evidence/occasion-noise.js";
import { sensitivityOf } from "../../src/compare/evidence/sensitivity.js";
import { fewestOccasions, groupByOccasion } from "../../src/compare/occasions.js";
import { frozen } from "../helpers/frozen.js";
import { buildRuns, compareRuns, documentAtSpeed, resultSet, usualRule } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";

describe("the occasions of runs", () => {
  const start = Date.UTC(2026, 0, 1);
  /** Runs that start after so many seconds and take so many, on these GPUs. */
  type Run = readonly [second: number, duration?: number, gpu?: string];
  function occasionsOf(...runs: Run[]): number[][] {
    const dated = runs.map(([second, duration, gpu]) => ({
      startedAt: new Date(start + second * 1000).toISOString(),
      wallNs: duration === undefined ? null : duration * 1e9,
      ...(gpu === undefined ? {} : { machine: { hostName: [], gpuUuids: [gpu], pciAddresses: [] } }),
    }));
    return groupByOccasion(frozen(dated)).map((occasion) =>
      occasion.map(({ startedAt }) => (Date.parse(startedAt) - start) / 1000),
    );
  }

  it.each<[string, Run[], number[][]]>([
    ["are none without runs", [], []],
    ["are one if each run starts less than five minutes later", [[0], [299], [598]], [[0, 299, 598]]],
    ["end at a pause of five minutes", [[0], [10], [310], [4000], [4010]], [[0, 10], [310], [4000, 4010]]],
    ["count the pause after a run's end", [[0, 360], [360, 360], [720], [1020, 0]], [[0, 360, 720], [1020]]],
    ["count a long run", [[0, 1800], [300, 60], [720], [2040, 60], [2400]], [[0, 300, 720, 2040], [2400]]],
    [
      "follow the starts in any order of runs",
      [[900], [10], [910], [0]],
      [
        [0, 10],
        [900, 910],
      ],
    ],
    [
      "are never of two machines, however close the runs lie",
      [
        [0, 0, "a"],
        [5, 0, "b"],
        [10, 0, "a"],
        [15, 0, "b"],
        [2000, 0, "a"],
      ],
      [[0, 10], [5, 15], [2000]],
    ],
  ])("%s", (_, runs, occasions) => {
    expect(occasionsOf(...runs)).toEqual(occasions);
  });

  it("read offsets of time zones as what they are", () => {
    const runs = [{ startedAt: "2026-01-01T12:00:00+02:00" }, { startedAt: "2026-01-01T10:01:00Z" }];
    expect(groupByOccasion(runs)).toEqual([runs]);
  });
});

const { normal } = seeded(7);
const noiseOf = (shared: number, degreesOfShared: number, own = 0, degreesOfOwn = 1): OccasionNoise =>
  frozen({
    shared: { variance: shared, degreesOfFreedom: degreesOfShared },
    own: { variance: own, degreesOfFreedom: degreesOfOwn },
  });
/** A start that says nothing. */
const nothing = noiseOf(0, 1e-9, 0, 1e-9);

/** Centres of `cells` cells on `occasions` occasions, about levels of their own. */
function simulate(occasions: number, cells: number, { shared = 0, own = 0 }) {
  const offsets = Array.from({ length: occasions }, () => shared * normal());
  return frozen(
    Array.from({ length: cells }, (_, cell) => offsets.map((offset) => cell + offset + own * normal())),
  );
}

describe("the noise between occasions", () => {
  it("is divided into a part shared by the cells of a kind, and each cell's own, if there are three cells", () => {
    const { shared, own } = estimateOccasionNoise([simulate(200, 40, { shared: 0.05, own: 0.02 })], nothing);
    expect([Math.sqrt(shared.variance), Math.sqrt(own.variance)]).toEqual([
      ...[expect.closeTo(0.05, 2), expect.closeTo(0.02, 3)],
    ]);
    expect(shared.degreesOfFreedom).toBeCloseTo(199, 6);
    expect(own.degreesOfFreedom).toBeCloseTo(199 * 39, 6);
    const ofTwo = estimateOccasionNoise([simulate(100, 2, { own: 0.03 })], nothing);
    expect(Math.sqrt(ofTwo.shared.variance)).toBeCloseTo(0.03, 2);
    expect(ofTwo.own.variance).toBe(0);
  });

  it("does not take one cell's step for something shared, nor a cell that some occasions lack", () => {
    const centres = simulate(6, 20, { own: 0.001 });
    const stepped = centres.map((row, i) => row.map((value, o) => (i === 0 && o > 2 ? value - 0.3 : value)));
    expect(Math.sqrt(estimateOccasionNoise([stepped], nothing).shared.variance)).toBeLessThan(0.002);
    const whole = estimateOccasionNoise([centres], nothing);
    expect(estimateOccasionNoise([[...centres, [1, 99]]], nothing)).toEqual(whole);
  });

  it("is the initial value for fewer than three occasions", () => {
    const recorded = noiseOf(1e-3, 3, 1e-4, 30);
    for (const sources of [[], [simulate(fewestOccasions - 1, 10, { shared: 1 })]])
      expect(estimateOccasionNoise(sources, recorded)).toEqual(recorded);
  });

  const quiet = [1, 2, 3, 4].map((level) => [level, level, level]);
  const loud = [1, 2, 3, 4].map((level) => [level - 0.1, level, level + 0.1]);

  it.each([
    ["adds the initial value up to six degrees of freedom", [quiet, loud], 0.02, 0.01, 6],
    ["does not need it from six on", [quiet, loud, loud], 0.02, (4 * 0.01) / 6, 6],
    ["is its own if it is noisier than the start, however little it has seen", [loud], 0.001, 0.01, 2],
  ])("%s", (_, sources, start, variance, degreesOfFreedom) => {
    const { shared } = estimateOccasionNoise(frozen(sources), noiseOf(start, 40));
    expect(shared).toEqual({ variance: expect.closeTo(variance, 12), degreesOfFreedom });
  });
});

describe("a change between the occasions of a baseline and the one of a candidate", () => {
  it.each([
    [[5], 2],
    [[5, 5, 5], 1 + 1 / 3],
    [[1, 3], 1 + 1 / 16 + 9 / 16],
  ])("has the candidate's offset, and the baseline's by the runs of each: %j, %f times", (runs, times) => {
    expect(betweenOccasions(runs, noiseOf(0.01, 7, 0.004, 70))).toEqual({
      shared: { variance: expect.closeTo(times * 0.01, 12), degreesOfFreedom: 7 },
      own: { variance: expect.closeTo(times * 0.004, 12), degreesOfFreedom: 70 },
    });
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

  it.each([
    ["pinned", "NVIDIA H200", 1, 1, 2],
    ["pageable", "NVIDIA H200", 4, 1, 2],
    ["pinned", "NVIDIA T4", 4, 4, 4],
  ])(
    "is a bound of what was recorded, for %s copies of an %s %i and %i times",
    (memory, name, shared, own, degrees) => {
      const recorded = recordedOccasionNoise[memory]!;
      expect(startingOccasionNoise({ unit: "GB/s", cell: { memory } }, [name])).toEqual(
        noiseOf(shared * recorded.shared.variance, degrees, own * recorded.own.variance, 14),
      );
    },
  );
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

  it.each([
    ["probably slower", [1, 1, 1], { outcome: "regression", counts: { "probably slower": 8 } }],
    ["inconclusive", [1.06, 1, 0.94], { outcome: "pass", counts: { inconclusive: 8 } }],
  ])("calls a loss %s by how the occasions differ: %j", (_, speeds, expected) => {
    expect(compareRuns(sessions(...speeds), candidate)).toMatchObject(expected);
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
