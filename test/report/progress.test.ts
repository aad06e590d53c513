import { describe, expect, it } from "vitest";
import { bestOf, type ProgressState, progressLine } from "../../src/report/progress.js";
import { buildCell } from "../helpers/result-document.js";

const state: ProgressState = {
  leftNs: 41.2e9,
  done: "round 3 of at least 6, 41 of 90 cells converged",
  now: "H2D pinned 16 MiB x4, 54.9 GB/s",
  best: "55.1 GB/s, H2D pinned 64 MiB x1",
};

describe("progressLine", () => {
  it("says what is left, what is done, what happens now and the best so far", () => {
    expect(progressLine(state, 150)).toBe(
      "about 42 s left; round 3 of at least 6, 41 of 90 cells converged; H2D pinned 16 MiB x4, 54.9 GB/s; best 55.1 GB/s, H2D pinned 64 MiB x1",
    );
  });

  it("leaves out what is not known", () => {
    expect(progressLine({ leftNs: null, done: "process 1 of 3", now: null, best: null }, 120)).toBe(
      "process 1 of 3",
    );
  });

  it.each([
    [
      100,
      "about 42 s left; round 3 of at least 6, 41 of 90 cells converged; H2D pinned 16 MiB x4, 54.9 GB/s",
    ],
    [60, "about 42 s left; H2D pinned 16 MiB x4, 54.9 GB/s"],
    [20, "about 42 s left"],
    [10, "about 42 …"],
    [1, "…"],
    [0, ""],
  ])("leaves out what matters least in %i columns", (columns, line) => {
    expect(progressLine(state, columns)).toBe(line);
  });

  it.each([
    [0.2e9, false, "less than 1 s left"],
    [1.2e9, false, "about 2 s left"],
    [119e9, false, "about 119 s left"],
    [200e9, false, "about 3.4 min left"],
    [45e9, true, "at most 45 s left"],
    [-1e9, true, "less than 1 s left"],
  ])("tells %d ns in whole seconds, and in minutes from two of them", (leftNs, isMost, text) => {
    const line = progressLine({ leftNs, isMost, done: "x", now: null, best: null }, 80);
    expect(line).toBe(`${text}; x`);
  });
});

describe("the best so far", () => {
  const nameOf = (id: string) => `<${id}>`;

  it("is the highest rate of a throughput cell, the control of the host's memory aside", () => {
    const [slow, fast] = [
      buildCell({ memory: "pageable", GBps: 9 }),
      buildCell({ memory: "pinned", GBps: 55 }),
    ];
    const host = buildCell({ memory: "host", GBps: 99 });
    expect(bestOf([slow, host, fast], nameOf)).toBe(`55.0 GB/s, <${fast.id}>`);
    expect(bestOf([host], nameOf)).toBeNull();
    const within = buildCell({ direction: "d2d", memory: "device", GBps: 4000 });
    expect(bestOf([slow, within], nameOf)).toContain(`<${slow.id}>`);
  });

  it("is the shortest latency where nothing else is measured", () => {
    const cellOf = (median: number, sizeBytes: number) =>
      buildCell({ mode: "latency", sizeBytes, GBps: 1, latencyUs: { median, p99: 2 * median } });
    const [short, long] = [cellOf(7.31, 4096), cellOf(9.2, 65536)];
    expect(bestOf([long, short], nameOf)).toBe(`7.31 µs, <${short.id}>`);
  });

  it("is nothing before there is a figure", () => {
    expect(bestOf([], nameOf)).toBeNull();
  });
});
