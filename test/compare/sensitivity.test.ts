import { describe, expect, it } from "vitest";
import { sensitivityOf } from "../../src/compare/evidence/sensitivity.js";
import { buildDevice, type CellPart } from "../helpers/result-document.js";
import {
  buildRuns,
  compareRuns,
  documentAtSpeed,
  type RunsPart,
  resultSet,
  usualRule,
} from "../helpers/runs.js";

const pinned = [1, 2, 4, 8, 16].map((workers): CellPart => ({ workers, GBps: 50 }));
/** A GPU of which nothing is recorded: the runs alone count. */
const notRecorded = { devices: [buildDevice({ name: "NVIDIA T4" })] };
const sensitivity = (part: RunsPart, checkRuns = 5) =>
  sensitivityOf(
    resultSet(buildRuns({ cells: pinned, count: 10, document: notRecorded, ...part })).runs,
    checkRuns,
    usualRule,
  );
const drop = (...args: Parameters<typeof sensitivity>) => sensitivity(...args)!.kinds[0]!.typicalDrop;

/**
 * Of cells on ten days that were alike, of three runs each: above, at and below the level by `deviation`, the cell `loud` by
 * `more` besides.
 */
function ofTenDays(deviation: number, cells = pinned.slice(0, 1), more = 0, loud = 0, count = 10) {
  const speed = [-1, 0, 1].map((z) => Math.exp(deviation * z));
  const days = Array.from({ length: count }, (_, day) =>
    buildRuns({ cells, speed, deviation: 0 }).map((document, run) => ({
      ...documentAtSpeed(document, Math.exp(more * (run - 1)), ({ id }) => id === document.cells[loud]!.id),
      run: {
        ...document.run,
        id: `${day}-${document.run.id}`,
        startedAt: document.run.startedAt.replace("2026-11-20", `2026-11-1${day}`),
      },
    })),
  );
  return sensitivityOf(resultSet(days.flat()).runs, 5, usualRule);
}

describe("the sensitivity of a baseline", () => {
  it("is given for each kind of memory, latency separately", () => {
    const cells = [
      ...pinned,
      { memory: "pageable", GBps: 10 },
      { mode: "latency", GBps: 1, latencyUs: { median: 8, p99: 9 } },
    ] as const;
    expect(sensitivity({ cells })!.kinds.map(({ name, cells: count }) => [name, count])).toEqual([
      ["pinned", 5],
      ["pageable", 1],
      ["pinned latency", 1],
    ]);
  });

  it("is little more than the threshold with little noise, and more with more", () => {
    const { typicalDrop } = ofTenDays(0.0001)!.kinds[0]!;
    expect(typicalDrop).toBeGreaterThan(0.03);
    expect(typicalDrop).toBeLessThan(0.031);
    expect(drop({ deviation: 0.01 })).toBeGreaterThan(drop({ deviation: 0.005 }));
    expect(drop({ deviation: 0.3 })).toBeLessThan(1);
  });

  it("has the threshold of each kind, and the noisiest cell's figures wherever that is", () => {
    const pair = [...pinned.slice(0, 3), { memory: "pageable", GBps: 10 } as const];
    const { kinds } = ofTenDays(0.0001, pair, 0)!;
    expect(kinds.map(({ typicalDrop }) => +typicalDrop.toFixed(3))).toEqual([0.03, 0.05]);
    for (const loud of [0, 2]) {
      const [kind] = ofTenDays(0.001, pair.slice(0, 3), 0.05, loud)!.kinds;
      expect(kind!.largestDeviation).toBeGreaterThan(10 * kind!.typicalDeviation);
      expect(kind!.largestDrop).toBeGreaterThan(2 * kind!.typicalDrop);
    }
  });

  it("of the host's memory is apart from that of the copies", () => {
    const host = [1, 2].map((workers): CellPart => ({ memory: "host", workers, GBps: 10 }));
    const dropsOf = (...cells: CellPart[]) =>
      Object.fromEntries(ofTenDays(0.02, cells)!.kinds.map(({ name, typicalDrop }) => [name, typicalDrop]));
    const [few, many, alone] = [pinned.slice(0, 1), pinned.slice(0, 2), []].map((some) =>
      dropsOf(...some, ...host),
    );
    expect(few!.host).toBe(alone!.host);
    expect(many!.host).toBe(alone!.host);
    expect(few!.pinned).toBe(dropsOf(...pinned.slice(0, 1)).pinned);
    // Three days alone tell how it differs between them.
    expect(ofTenDays(0.001, host, 0, 0, 3)!.kinds[0]!.typicalDrop).toBeLessThan(0.06);
  });

  it("uses Student's t for the interval and for the chance of missing a drop", () => {
    const kind = ofTenDays(0.04)!.kinds[0]!;
    const variance = kind.typicalDeviation ** 2;
    expect(variance).toBeCloseTo((2 * 0.04 ** 2) / 2 / 0.995, 6);
    // Thirty runs before, five and five now, and offsets of a lag-1 correlation of 0.43; 20 degrees of freedom.
    const error = Math.sqrt(variance * (1.43 / 0.57) * (1 / 30 + 1 / 10));
    const [beyondInterval, missed] = [2.744, 1.725];
    expect(kind.typicalDrop).toBeCloseTo(1 - Math.exp(-error * (beyondInterval + missed)), 3);
    // Of several cells each has less of the chance of a false alarm.
    expect(ofTenDays(0.04, pinned)!.kinds[0]!.typicalDrop).toBeGreaterThan(kind.typicalDrop);
  });

  it("is a drop that check does detect", () => {
    const baseline = { cells: pinned, count: 10, deviation: 0.01 };
    const [kind] = sensitivity(baseline)!.kinds;
    const found = Array.from({ length: 20 }, (_, i) => {
      const slow = (seed: number) => buildRuns({ ...baseline, count: 5, speed: 1 - kind!.largestDrop, seed });
      const before = buildRuns({ ...baseline, seed: 100 + i });
      const comparison = compareRuns(before, slow(200 + i), { command: "check", fresh: slow(300 + i) });
      return comparison.counts.slower;
    });
    expect(found.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(0.95 * 20 * pinned.length);
  });

  it("is not known from one run", () => {
    expect(sensitivity({ count: 1 })).toBeNull();
    expect(sensitivityOf([], 5, usualRule)).toBeNull();
  });
});
