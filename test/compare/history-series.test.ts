import { describe, expect, it } from "vitest";
import { checkRecord } from "../../src/compare/history/check-record.js";
import { historyCentres, occasionDeviations } from "../../src/compare/history/history-series.js";
import { runFigures } from "../../src/compare/result-set.js";
import { historyEntrySchema } from "../../src/results/history-entry.js";
import { buildComparison } from "../helpers/comparison.js";
import { frozen } from "../helpers/frozen.js";
import { buildCourse, buildEntry, buildFigure, pinnedId } from "../helpers/history.js";
import { buildCell, buildDocument, buildFailed } from "../helpers/result-document.js";

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
    const squares = (values: readonly number[]) => values.reduce((sum, value) => sum + value ** 2, 0);
    expect(deviations).toHaveLength(80);
    expect(deviations[3]).toMatchObject({ startedAt: entries[3]!.startedAt, runs: 5, logError: 0.001 });
    // Two levels and a place.
    expect(degreesOfFreedom).toBe(77);
    const variance = squares(deviations.map(({ deviation }) => deviation)) / degreesOfFreedom;
    expect(Math.sqrt(variance)).toBeGreaterThan(0.008);
    expect(Math.sqrt(variance)).toBeLessThan(0.012);
    // Those of a machine have the variance of their degrees of freedom.
    const [[centres]] = historyCentres(entries, "cuda").pinned as unknown as [[number[]]];
    expect(centres).toHaveLength(80);
    expect(squares(centres!) / 79).toBeCloseTo(variance, 10);
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

describe("what a history keeps of a check", () => {
  const documents = [50, 55, 40].map((GBps, run) =>
    buildDocument({
      run: { id: `run-${run}`, startedAt: `2026-11-20T10:0${run}:00.000Z` },
      cells: [
        buildCell({ GBps }),
        buildCell({ mode: "latency", GBps: 1, latencyUs: { median: 500 / GBps, p99: 90 } }),
        buildCell({ direction: "bidir", GBps: { h2d: GBps, d2h: 2 * GBps, sum: 3 * GBps } }),
        buildFailed({ workers: 4 }, "X", "x"),
      ],
    }),
  );
  const runs = frozen(documents.map((document) => runFigures(document, null)));
  const recordOf = (count: number, outcome: "pass" | "regression" = "pass") =>
    checkRecord(runs.slice(0, count), buildComparison({ outcome }));

  it("is a line that its reader accepts, with the check's time, outcome and machine", () => {
    const record = recordOf(3, "regression");
    expect(historyEntrySchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
    expect(record).toMatchObject({
      ...{ id: "run-0", startedAt: "2026-11-20T10:00:00.000Z", version: "0.1.0", outcome: "regression" },
      ...{ backend: "cuda", fingerprint: documents[0]!.fingerprint, verify: "last" },
      machine: {
        ...{ hostName: ["node-1"], gpuUuids: ["GPU-6f1c2a54-0000-0000-0000-000000000000"] },
        pciAddresses: ["0000:00:06.0"],
      },
    });
  });

  it("has each figure's median over the runs with its error, if there are several, and none for a failed cell", () => {
    const squares = (Math.log(55 / 50) ** 2 + Math.log(55 / 40) ** 2 + Math.log(50 / 40) ** 2) / 3;
    const logError = expect.closeTo(Math.sqrt(((Math.PI / 2) * (squares / 2)) / 3), 12);
    const of = (moved: string, unit: string, figure: number) => ({ moved, unit, figure, runs: 3, logError });
    expect(recordOf(3).series).toMatchObject([
      ...[of("h2d", "GB/s", 50), of("h2d", "us", 10)],
      ...[of("h2d", "GB/s", 50), of("d2h", "GB/s", 100), of("sum", "GB/s", 150)],
    ]);
    expect(recordOf(2).series.map((one) => one.logError)).not.toContain(null);
    expect(recordOf(1).series.map((one) => one.logError)).toEqual(Array(5).fill(null));
  });

  it("says that every copy was compared, and nothing of a machine that the result does not describe", () => {
    const every = runFigures(buildDocument({ plan: { verify: "every" } }), null);
    expect(checkRecord([every], buildComparison()).verify).toBe("every");
    const imported = runFigures({ ...documents[0]!, host: null, devices: [], plan: null }, null);
    const { machine, verify } = checkRecord([imported], buildComparison());
    expect(verify).toBeUndefined();
    expect(machine).toEqual({ hostName: [], gpuUuids: [], pciAddresses: [] });
  });
});
