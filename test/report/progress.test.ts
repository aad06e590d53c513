import { describe, expect, it } from "vitest";
import { type ProgressState, progressLine } from "../../src/report/progress.js";
import { MiB } from "../helpers/result-document.js";

const state: ProgressState = {
  round: 3,
  convergedCells: 41,
  totalCells: 90,
  elapsedNs: 3.2e9,
  budgetNs: 8e9,
  activity: null,
  cell: {
    device: 0,
    direction: "h2d",
    memory: "pinned",
    sizeBytes: 16 * MiB,
    workers: 4,
    mode: "throughput",
    timer: "wall",
    cache: "cold",
  },
  bandwidthGBps: 54.93,
};

describe("progressLine", () => {
  it("says how far the run is and what it measures", () => {
    expect(progressLine(state, 120)).toBe(
      "round 3, 41/90 cells converged, 3.2 s of 8 s: d0 h2d pinned 16 MiB w4 54.9 GB/s",
    );
  });

  it("shows what else is done in the cell's place, and no round before the first", () => {
    const opening = { ...state, round: 0, convergedCells: 0, elapsedNs: 0, activity: "opening device 0" };
    expect(progressLine(opening, 120)).toBe("0/90 cells converged, 0.0 s of 8 s: opening device 0");
  });

  it("leaves out what is not known", () => {
    expect(progressLine({ ...state, budgetNs: null, bandwidthGBps: null }, 120)).toBe(
      "round 3, 41/90 cells converged, 3.2 s: d0 h2d pinned 16 MiB w4",
    );
  });

  it.each([60, 20, 1, 0])("fits into %i columns", (columns) => {
    const line = progressLine(state, columns);
    expect(line.length).toBeLessThanOrEqual(columns);
    expect(line).toBe(columns === 0 ? "" : `${progressLine(state, 120).slice(0, columns - 1)}…`);
  });
});
