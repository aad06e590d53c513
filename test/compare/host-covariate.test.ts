import { describe, expect, it } from "vitest";
import {
  type ControlledSeries,
  controlForHost,
  estimateSlope,
  isControlledByHost,
} from "../../src/compare/evidence/host-covariate.js";
import { joinRuns } from "../../src/compare/series.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { defaultThresholds } from "../../src/settings/thresholds.js";
import { buildDevice, type CellPart } from "../helpers/result-document.js";
import { buildRuns, compareRuns, documentAtSpeed, resultSet } from "../helpers/runs.js";
import { seeded } from "../helpers/seeded.js";
import { caseOf } from "./evidence-case.js";

const workers = [1, 2, 3, 4];
const cells: CellPart[] = [
  ...workers.map((count): CellPart => ({ memory: "pageable", workers: count, GBps: 12 })),
  ...workers.map((count): CellPart => ({ memory: "staged", workers: count, GBps: 20 })),
  ...workers.map((count): CellPart => ({ memory: "pinned", workers: count, GBps: 55 })),
  ...workers.map((count): CellPart => ({ memory: "host", workers: count, GBps: 10 })),
];

/** A GPU of which nothing is recorded: the runs alone count. */
const notRecorded = { devices: [buildDevice({ name: "NVIDIA T4" })] };

interface HostRunsPart {
  count?: number;
  seed?: number;
  /** Standard deviation of what the host's memory does in each run, as a logarithm. */
  hostDeviation?: number;
  /** The host's speed in all of these runs. */
  hostSpeed?: number;
  /** How much of the host's changes pageable and staged copies show. */
  slope?: number;
  /** The speed of pageable copies besides. */
  pageableSpeed?: number;
  /** On how many days the runs were measured, one after the other. */
  days?: number;
}

/** Runs in which the host's memory, and with it pageable and staged copies, is now slower and now faster. */
function hostRuns(part: HostRunsPart = {}) {
  const { count = 8, seed = 1, hostDeviation = 0.05, hostSpeed = 1, slope = 1, pageableSpeed = 1 } = part;
  const { days = 1 } = part;
  const { normal } = seeded(seed + 100);
  return buildRuns({ cells, count, seed, deviation: 0.01, document: notRecorded }).map((measured, i) => {
    const document = onDay(measured, Math.floor((i * days) / count));
    const host = Math.log(hostSpeed) + hostDeviation * normal();
    const withHost = documentAtSpeed(document, Math.exp(host), ({ memory }) => memory === "host");
    const withCopies = documentAtSpeed(
      withHost,
      Math.exp(slope * host),
      ({ memory }) => memory === "pageable" || memory === "staged",
    );
    return documentAtSpeed(withCopies, pageableSpeed, ({ memory }) => memory === "pageable");
  });
}

const onDay = (document: ResultDocument, day: number): ResultDocument => ({
  ...document,
  run: { ...document.run, startedAt: document.run.startedAt.replace("2026-11-20", `2026-10-${10 + day}`) },
});

/** So that the noise of these runs lies within it. */
const wide = { thresholds: { ...defaultThresholds, default: 0.1 } };

const join = (baseline = hostRuns(), first = hostRuns({ seed: 2 })) =>
  joinRuns({ baseline: resultSet(baseline).runs, first: resultSet(first).runs, fresh: [] });
const seriesOf = (memory: string, ...runs: Parameters<typeof join>) =>
  join(...runs).series.filter(({ cell }) => cell.memory === memory);

const open = { slope: 0.5, variance: 1e6 };

describe("the slope of a kind against the host's own copies", () => {
  it.each([0, 0.4, 0.8])("is found if it is %f", (slope) => {
    const runs = [hostRuns({ count: 40, slope }), hostRuns({ count: 40, slope, seed: 2 })] as const;
    const found = estimateSlope(seriesOf("pageable", ...runs), open, join(...runs).hostErrorVariance);
    expect(found.slope).toBeCloseTo(slope, 1);
    expect(found.variance).toBeLessThan(0.01);
  });

  it("is that of the candidate if the baseline is a single run", () => {
    const now = hostRuns({ count: 40, slope: 0.2, seed: 2 });
    const { slope } = estimateSlope(seriesOf("pageable", hostRuns({ count: 1 }), now), open, 0);
    expect(slope).toBeCloseTo(0.2, 1);
  });

  it("is that of the cells that all runs have", () => {
    const runs = [hostRuns(), hostRuns({ seed: 2 })] as const;
    const all = seriesOf("pageable", ...runs);
    const [first, ...others] = all;
    const shorter = { ...first!, baseline: first!.baseline.slice(1), first: first!.first.slice(1) };
    expect(estimateSlope([shorter, ...others], open, 0)).toEqual(estimateSlope(others, open, 0));
  });

  it("is never above 1, nor below 0", () => {
    const slopeOf = (slope: number) =>
      estimateSlope(
        seriesOf("pageable", hostRuns({ slope, count: 20 }), hostRuns({ slope, seed: 2 })),
        open,
        0,
      ).slope;
    expect(slopeOf(1.6)).toBe(1);
    expect(slopeOf(-0.5)).toBe(0);
  });

  it("is shrunk towards the recorded one, more with fewer runs", () => {
    const prior = { slope: 0.9, variance: 0.01 };
    const slopeOf = (count: number) =>
      estimateSlope(
        seriesOf("pageable", hostRuns({ slope: 0.2, count }), hostRuns({ slope: 0.2, count, seed: 2 })),
        prior,
        0,
      ).slope;
    expect(slopeOf(2)).toBe(0.9);
    expect(slopeOf(3)).toBeGreaterThan(slopeOf(40));
    expect(slopeOf(40)).toBeLessThan(0.35);
  });

  it("allows for the error of the control, which would make it look flatter", () => {
    const runs = [
      hostRuns({ count: 60, hostDeviation: 0.01 }),
      hostRuns({ count: 60, hostDeviation: 0.01, seed: 2 }),
    ] as const;
    const error = join(...runs).hostErrorVariance;
    expect(Math.sqrt(error)).toBeCloseTo(0.01 / Math.sqrt(workers.length), 3);
    const [ignored, corrected] = [0, error].map(
      (e) => estimateSlope(seriesOf("pageable", ...runs), open, e).slope,
    );
    expect(ignored).toBeLessThan(0.92);
    expect(corrected).toBeGreaterThan(ignored!);
  });
});

describe("the part that the host's memory explains", () => {
  it("is removed from pageable and staged copies on both sides", () => {
    const series = seriesOf(
      "staged",
      hostRuns({ hostDeviation: 0.1 }),
      hostRuns({ hostSpeed: 0.8, seed: 2 }),
    );
    const [controlled] = controlForHost(series, "staged", 0);
    const spread = (values: readonly number[]) => Math.max(...values) - Math.min(...values);
    const raw = series[0]!.baseline.map(({ value }) => Math.log(value));
    expect(spread(controlled!.baseline)).toBeLessThan(spread(raw) / 3);
    expect(controlled!.explained!.change).toBeCloseTo(Math.log(0.8), 1);
    expect(controlled!.explained!.variance).toBeGreaterThan(0);
    expect(controlled!.explainedOfFresh).toBeNull();
  });

  it("is that of all of the candidate's runs, and of the confirming ones, less certain than the kind's slope", () => {
    const [hostRates, speeds] = [
      { baseline: [10], first: [8], fresh: [5] },
      { baseline: [1], first: [1], fresh: [1] },
    ];
    const { series } = caseOf({ memory: "pageable", hostRates, ...speeds });
    const [{ explained, explainedOfFresh }] = controlForHost([series], "pageable", 0) as [ControlledSeries];
    // The recorded slope is 1, with a variance of 0.01, to which is added that of cells about their kind.
    for (const [part, change] of [
      [explained, (Math.log(0.8) + Math.log(0.5)) / 2],
      [explainedOfFresh, Math.log(0.5)],
    ] as const) {
      expect(part!.change).toBeCloseTo(change, 10);
      expect(part!.variance).toBeCloseTo((0.01 + 0.15) * change ** 2, 10);
    }
  });

  it.each([
    ["other memory", "pinned", hostRuns()],
    ["a baseline that did not measure the host", "pageable", buildRuns({ cells: cells.slice(0, 12) })],
  ])("is zero for %s", (_, memory, baseline) => {
    const [controlled] = controlForHost(seriesOf(memory, baseline), memory, 0);
    expect(controlled).toMatchObject({ explained: null, explainedOfFresh: null });
  });
});

/** The runs with those of their cells alone that `isKept` says. */
const keeping = (runs: ReturnType<typeof hostRuns>, isKept: (cell: { memory: string }) => boolean) =>
  runs.map((document) => ({ ...document, cells: document.cells.filter(isKept) }));

it.each([
  [{ memory: "pageable" }, true],
  [{ memory: "staged" }, true],
  [{ memory: "pinned" }, false],
  [{ memory: "host" }, false],
  [{ memory: "pageable", cache: "warm" }, false],
  [{ memory: "staged", mode: "latency" }, false],
] as const)(
  "the host's copies are a control of cold throughput through the CPU alone: %j",
  (part, expected) => {
    const { cell } = caseOf().series;
    expect(isControlledByHost({ ...cell, ...part } as typeof cell)).toBe(expected);
  },
);

describe("a comparison with slower host memory", () => {
  const before = hostRuns({ hostDeviation: 0.01, count: 24, days: 8 });
  const slowHost = hostRuns({ hostDeviation: 0.01, hostSpeed: 0.9, seed: 2 });

  it("keeps its control if fresh processes measured only pinned cells", () => {
    const fresh = keeping(hostRuns({ seed: 3 }), ({ memory }) => memory === "pinned");
    const alone = compareRuns(before, slowHost, { command: "check" });
    const confirmed = compareRuns(before, slowHost, { command: "check", fresh });
    for (const [i, cell] of alone.cells.entries()) {
      if (cell.memory === "pinned") continue;
      expect(confirmed.cells[i]).toEqual(cell);
    }
    expect(alone.cells[0]!.explainedByHost).toBeLessThan(-0.05);
  });

  it("shows the fresh processes' figures, whatever the host did before", () => {
    const fresh = keeping(hostRuns({ hostDeviation: 0, seed: 3 }), ({ memory }) => memory !== "pinned");
    const [pageable] = compareRuns(before, slowHost, { command: "check", fresh }).cells;
    expect(pageable!.candidate!.change).toBeCloseTo(-0.05, 1);
    expect(pageable!.confirmation!.change).toBeCloseTo(0, 1);
    expect(pageable!.confirmation!.figure).toBeCloseTo(12, 0);
  });

  it("includes in their confirmation what the host did to them", () => {
    const fresh = hostRuns({ hostDeviation: 0, hostSpeed: 0.7, seed: 3 });
    const [pageable] = compareRuns(before, slowHost, { command: "check", fresh }).cells;
    const { figure, change, low, high } = pageable!.confirmation!;
    expect(change).toBeCloseTo(-0.3, 1);
    expect(figure / pageable!.baseline!.figure - 1).toBeCloseTo(change!, 9);
    expect(Math.sqrt((1 + low!) * (1 + high!)) - 1).toBeCloseTo(change!, 9);
  });

  it("has one alarm, on host memory: affected copies are not called slower", () => {
    const comparison = compareRuns(
      before,
      hostRuns({ hostDeviation: 0.01, hostSpeed: 0.8, slope: 0.9, seed: 2 }),
      { rule: wide },
    );
    expect(comparison.outcome).toBe("regression");
    const verdictsOf = (kind: string) =>
      new Set(comparison.cells.filter(({ memory }) => memory === kind).map(({ verdict }) => verdict));
    expect([...verdictsOf("host")]).toEqual(["slower"]);
    // A program gets less from these copies, whatever is to blame.
    const together = comparison.groups.filter(({ isWithHost }) => isWithHost);
    expect(together.map(({ kind, verdict }) => [kind, verdict])).toEqual([
      ["pageable", "slower"],
      ["staged", "slower"],
    ]);
    expect([...verdictsOf("pinned")]).toEqual(["not slower"]);
    for (const kind of ["pageable", "staged"])
      expect([...verdictsOf(kind)].join()).not.toMatch(/(?<!not )slower/);
    const [pageable] = comparison.cells;
    expect(pageable!.candidate!.change).toBeCloseTo(0.8 ** 0.9 - 1, 1);
    expect(pageable!.explainedByHost).toBeLessThan(-0.1);
    // The interval is that of the whole change.
    const { change, low, high } = pageable!.candidate!;
    expect(Math.sqrt((1 + low!) * (1 + high!)) - 1).toBeCloseTo(change!, 9);
  });

  it("still finds pageable copies that lost more than the host explains", () => {
    const slower = hostRuns({ hostDeviation: 0.01, pageableSpeed: 0.7, seed: 2 });
    for (const { memory, verdict } of compareRuns(before, slower, { rule: wide }).cells)
      expect(verdict).toBe(memory === "pageable" ? "slower" : "not slower");
  });
});
