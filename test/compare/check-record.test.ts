import { describe, expect, it } from "vitest";
import { checkRecord } from "../../src/compare/history/check-record.js";
import { runFigures } from "../../src/compare/result-set.js";
import { historyEntrySchema } from "../../src/results/history-entry.js";
import { buildComparison } from "../helpers/comparison.js";
import { buildCell, buildDocument, buildFailed } from "../helpers/result-document.js";

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
const runs = documents.map((document) => runFigures(document, null));
const record = checkRecord(runs, buildComparison({ outcome: "regression" }));

describe("what a history keeps of a check", () => {
  it("is a line that its reader accepts", () => {
    expect(historyEntrySchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  it("has the check's time, outcome and machine", () => {
    const { fingerprint } = documents[0]!;
    expect(record).toMatchObject({
      id: "run-0",
      startedAt: "2026-11-20T10:00:00.000Z",
      version: "0.1.0",
      outcome: "regression",
      backend: "cuda",
      fingerprint,
      machine: {
        hostName: ["node-1"],
        gpuUuids: ["GPU-6f1c2a54-0000-0000-0000-000000000000"],
        pciAddresses: ["0000:00:06.0"],
      },
    });
  });

  it("says whether every copy was compared, which makes other figures", () => {
    const recordOf = (verify: boolean | "every") =>
      checkRecord([runFigures(buildDocument({ plan: { verify } }), null)], buildComparison({}));
    expect(recordOf("every").verify).toBe("every");
    expect(recordOf(true).verify).toBe(true);
  });

  it("has each figure's median over the runs, and none for a failed cell", () => {
    expect(record.series.map(({ moved, unit, figure, runs }) => [moved, unit, figure, runs])).toEqual([
      ["h2d", "GB/s", 50, 3],
      ["h2d", "us", 10, 3],
      ["h2d", "GB/s", 50, 3],
      ["d2h", "GB/s", 100, 3],
      ["sum", "GB/s", 150, 3],
    ]);
  });

  it("has the standard error of the figure's logarithm if there are several runs", () => {
    const logs = [50, 55, 40].map(Math.log);
    const mean = logs.reduce((sum, value) => sum + value, 0) / 3;
    const variance = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 2;
    expect(record.series[0]!.logError).toBeCloseTo(Math.sqrt(((Math.PI / 2) * variance) / 3), 12);
    const errorsOf = (count: number) =>
      checkRecord(runs.slice(0, count), buildComparison()).series.map(({ logError }) => logError);
    expect(errorsOf(2)).not.toContain(null);
    expect(errorsOf(1)).toEqual([null, null, null, null, null]);
  });

  it("has no facts of a machine that the result does not describe", () => {
    const imported = runFigures({ ...documents[0]!, host: null, devices: [], plan: null }, null);
    const { machine, verify } = checkRecord([imported], buildComparison());
    expect(verify).toBeUndefined();
    expect(machine).toEqual({ hostName: [], gpuUuids: [], pciAddresses: [] });
  });
});
