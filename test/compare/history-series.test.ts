import { describe, expect, it } from "vitest";
import { occasionDeviations } from "../../src/compare/history-series.js";
import { buildCourse, buildEntry, buildFigure, pinnedId } from "../helpers/history.js";

const latencyId = pinnedId.replace("throughput", "latency");
const course = buildCourse({ checks: 80, steps: { 40: -0.1 }, noise: 0.01 });
const entries = course.map((factor, day) =>
  buildEntry(day, {
    series: [
      buildFigure({ figure: 50 * factor }),
      buildFigure({ id: latencyId, unit: "us", figure: 5 / factor, runs: 3, logError: null }),
    ],
  }),
);

describe("the deviations of occasions", () => {
  it("are those from the course between its steps: a step is no noise", () => {
    const [throughput] = occasionDeviations(entries);
    expect(throughput).toMatchObject({ cell: { id: pinnedId }, moved: "h2d", unit: "GB/s", kind: "pinned" });
    const { deviations, degreesOfFreedom } = throughput!;
    expect(deviations).toHaveLength(80);
    expect(deviations[3]).toMatchObject({ startedAt: entries[3]!.startedAt, runs: 5, logError: 0.001 });
    // Two levels and a place.
    expect(degreesOfFreedom).toBe(77);
    const variance = deviations.reduce((sum, { deviation }) => sum + deviation ** 2, 0) / degreesOfFreedom;
    expect(Math.sqrt(variance)).toBeGreaterThan(0.008);
    expect(Math.sqrt(variance)).toBeLessThan(0.012);
  });

  it("are of speed: of a latency, the same as of its inverse", () => {
    const [throughput, latency] = occasionDeviations(entries);
    expect(latency).toMatchObject({ kind: "pinned latency" });
    for (const [i, { deviation, runs, logError }] of latency!.deviations.entries()) {
      expect(deviation).toBeCloseTo(throughput!.deviations[i]!.deviation, 2);
      expect({ runs, logError }).toEqual({ runs: 3, logError: null });
    }
  });

  it("are of no series with a single check", () => {
    expect(occasionDeviations(entries.slice(0, 1))).toEqual([]);
    expect(occasionDeviations([])).toEqual([]);
  });
});
