import { describe, expect, it } from "vitest";
import { bestOf, type ProgressState, progressLine } from "../../src/report/progress.js";
import { buildCell } from "../helpers/result-document.js";

const state: ProgressState = {
  elapsedNs: 3.9e9,
  limitNs: 8e9,
  done: { text: "41 of 90 cells converged", more: "round 3 of at least 6" },
  now: { text: "H2D pinned 16 MiB x4", more: "54.9 GB/s" },
  best: { text: "55.1 GB/s", more: "H2D pinned 64 MiB" },
};

describe("the progress line", () => {
  it("leaves out the time limit and other parts that are not known", () => {
    const done = { text: "process 1 of 3" };
    const only = { done, now: null, best: null };
    expect(progressLine({ elapsedNs: 1e9, limitNs: null, ...only }, 120)).toBe("1 s; process 1 of 3");
    expect(progressLine({ elapsedNs: 1e9, limitNs: null, done }, 120)).toBe("1 s; process 1 of 3");
  });

  it.each([
    [
      150,
      "[####------] 3 s of 8 s; 41 of 90 cells converged, round 3 of at least 6; H2D pinned 16 MiB x4, 54.9 GB/s; best 55.1 GB/s, H2D pinned 64 MiB",
    ],
    [100, "[####------] 3 s of 8 s; 41 of 90 cells converged; H2D pinned 16 MiB x4; best 55.1 GB/s"],
    [87, "[####------] 3 s of 8 s; 41 of 90 cells converged; H2D pinned 16 MiB x4; best 55.1 GB/s"],
    [86, "[####------] 3 s of 8 s; 41 of 90 cells converged; H2D pinned 16 MiB x4"],
    [60, "[####------] 3 s of 8 s; H2D pinned 16 MiB x4"],
    [30, "[####------] 3 s of 8 s"],
    [10, "[####----…"],
    [1, "…"],
    [0, ""],
  ])("leaves out the least important parts in %i columns", (columns, line) => {
    expect(progressLine(state, columns)).toBe(line);
  });

  it.each([
    [0.9e9, 8e9, "[#---------] 0 s of 8 s"],
    [0.799e9, 8e9, "[----------] 0 s of 8 s"],
    [7.99e9, 8e9, "[#########-] 7 s of 8 s"],
    [8e9, 8e9, "[##########] 8 s of 8 s"],
    [9.5e9, 8e9, "[##########] 9 s of 8 s"],
    [0.3e9, 0.4e9, "[#######---] 0 s of 400 ms"],
    [150e9, 3600e9, "[----------] 150 s of 60 min"],
    [150e9, null, "150 s"],
  ])(
    "shows %d ns of %d ns in whole seconds, and in a bar that never overflows",
    (elapsedNs, limitNs, text) => {
      expect(progressLine({ elapsedNs, limitNs, done: { text: "x" } }, 80)).toBe(`${text}; x`);
    },
  );
});

describe("the best figure so far", () => {
  const nameOf = (id: string) => `<${id}>`;

  it("is the highest rate between host and device, not within one of them", () => {
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
