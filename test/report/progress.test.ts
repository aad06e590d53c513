import { describe, expect, it } from "vitest";
import { bestOf, type ProgressState, progressLine } from "../../src/report/progress.js";
import { buildCell } from "../helpers/result-document.js";

const state: ProgressState = {
  leftNs: 41.2e9,
  done: { text: "41 of 90 cells converged", more: "round 3 of at least 6" },
  now: { text: "H2D pinned 16 MiB x4", more: "54.9 GB/s" },
  best: { text: "55.1 GB/s", more: "H2D pinned 64 MiB x1" },
};

describe("progressLine", () => {
  it("leaves out what is not known, and says of what the time is left if that is not the whole", () => {
    const done = { text: "process 1 of 3" };
    const only = { done, now: null, best: null };
    expect(progressLine({ leftNs: null, ...only }, 120)).toBe("process 1 of 3");
    expect(progressLine({ ...state, leftOf: "of session 2 of 4", ...only }, 120)).toBe(
      "about 42 s left of session 2 of 4; process 1 of 3",
    );
  });

  it.each([
    [
      150,
      "about 42 s left; 41 of 90 cells converged, round 3 of at least 6; H2D pinned 16 MiB x4, 54.9 GB/s; best 55.1 GB/s, H2D pinned 64 MiB x1",
    ],
    [100, "about 42 s left; 41 of 90 cells converged; H2D pinned 16 MiB x4; best 55.1 GB/s"],
    [79, "about 42 s left; 41 of 90 cells converged; H2D pinned 16 MiB x4; best 55.1 GB/s"],
    [78, "about 42 s left; 41 of 90 cells converged; H2D pinned 16 MiB x4"],
    [60, "about 42 s left; H2D pinned 16 MiB x4"],
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
    const line = progressLine({ leftNs, isMost, done: { text: "x" }, now: null, best: null }, 80);
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
    expect(bestOf([slow, host, fast], nameOf)).toEqual({ text: "55.0 GB/s", more: `<${fast.id}>` });
    expect(bestOf([host], nameOf)).toBeNull();
    const within = buildCell({ direction: "d2d", memory: "device", GBps: 4000 });
    expect(bestOf([slow, within], nameOf)?.more).toBe(`<${slow.id}>`);
  });

  it("is the shortest latency if nothing else is measured", () => {
    const cellOf = (median: number, sizeBytes: number) =>
      buildCell({ mode: "latency", sizeBytes, GBps: 1, latencyUs: { median, p99: 2 * median } });
    const [short, long] = [cellOf(7.31, 4096), cellOf(9.2, 65536)];
    expect(bestOf([long, short], nameOf)).toEqual({ text: "7.31 µs", more: `<${short.id}>` });
  });

  it("is nothing before there is a figure", () => {
    expect(bestOf([], nameOf)).toBeNull();
  });
});
