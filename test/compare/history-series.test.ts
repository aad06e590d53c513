import { describe, expect, it } from "vitest";
import { historyCentres, occasionDeviations } from "../../src/compare/history/history-series.js";
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

  it("have the variance of their degrees of freedom", () => {
    const [{ deviations, degreesOfFreedom }] = occasionDeviations(entries) as [
      ReturnType<typeof occasionDeviations>[number],
    ];
    const [[centres]] = historyCentres(entries, "cuda").pinned as unknown as [[number[]]];
    const squares = (values: readonly number[]) => values.reduce((sum, value) => sum + value ** 2, 0);
    expect(centres).toHaveLength(80);
    expect(squares(centres!) / 79).toBeCloseTo(
      squares(deviations.map(({ deviation }) => deviation)) / degreesOfFreedom,
      10,
    );
  });

  it("exclude the host's memory for cold copies only", () => {
    const idOf = (memory: string, cache = "cold") =>
      pinnedId.replace("pinned", memory).replace(/cold$/, cache);
    const ids = [idOf("host"), idOf("pageable"), idOf("pageable", "warm")];
    const withHost = course.map((factor, day) =>
      buildEntry(day, {
        series: [
          ...ids.map((id) => buildFigure({ id, figure: 20 * factor })),
          buildFigure({ figure: 50 / factor }),
        ],
      }),
    );
    const { host, pageable } = historyCentres(withHost, "cuda");
    const most = (values: readonly number[]) => Math.max(...values.map(Math.abs));
    const [[cold, warm]] = pageable as unknown as [[number[], number[]]];
    expect(most(cold)).toBeLessThan(most(warm) / 5);
    expect(most(warm)).toBeCloseTo(most(host![0]![0]!), 9);
  });

  it("are a source for each machine, and of no check that failed", () => {
    const machine = { hostName: [], gpuUuids: ["GPU-other"], pciAddresses: [] };
    const outcomes: Record<number, string> = { 1: "regression", 3: "failed", 5: "inconclusive" };
    const mixed = entries.map((entry, day) => ({
      ...entry,
      ...(day % 4 === 0 ? { machine } : {}),
      outcome: outcomes[day % 10] ?? "pass",
    }));
    const sources = historyCentres(mixed, "cuda").pinned!;
    expect(sources.map(([centres]) => centres!.length)).toEqual([20, 44]);
    expect(historyCentres(mixed, "emulated")).toEqual({});
  });

  it("are those of one backend: what an emulated device did says nothing of a GPU", () => {
    const emulated = course.map((factor, day) =>
      buildEntry(100 + day, { backend: "emulated", series: [buildFigure({ figure: 9 * factor ** 5 })] }),
    );
    // Of one list, which is asked for both.
    const both = [...entries, ...emulated];
    for (const backend of ["cuda", "emulated"] as const) {
      const own = backend === "cuda" ? entries : emulated;
      expect(historyCentres(both, backend)).toEqual(historyCentres(own, backend));
    }
  });

  it("are of speed: a latency has those of its inverse", () => {
    const [throughput, latency] = occasionDeviations(entries);
    expect(latency).toMatchObject({ kind: "pinned latency" });
    for (const [i, { deviation, runs, logError }] of latency!.deviations.entries()) {
      expect(deviation).toBeCloseTo(throughput!.deviations[i]!.deviation, 2);
      expect({ runs, logError }).toEqual({ runs: 3, logError: null });
    }
  });

  it("have the times of their own checks, though the series was in no check before", () => {
    const [, late] = occasionDeviations([{ ...entries[0]!, series: [] }, ...entries.slice(1)]);
    expect(late!.deviations.map(({ startedAt }) => startedAt)).toEqual(
      entries.slice(1).map(({ startedAt }) => startedAt),
    );
  });

  it("are of no series with a single check", () => {
    expect(occasionDeviations(entries.slice(0, 2))).toHaveLength(2);
    expect(occasionDeviations(entries.slice(0, 1))).toEqual([]);
    expect(occasionDeviations([])).toEqual([]);
  });
});
