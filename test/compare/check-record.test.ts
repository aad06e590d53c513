import { expect, it } from "vitest";
import { checkRecord } from "../../src/compare/history/check-record.js";
import { runFigures } from "../../src/compare/result-set.js";
import { historyEntrySchema } from "../../src/results/history-entry.js";
import { frozen } from "../helpers/frozen.js";
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
const runs = frozen(documents.map((document) => runFigures(document, null)));
const passed = { outcome: "pass", tool: { name: "pinbench", version: "0.1.0" } } as const;

it("the record of a check has its time, outcome and machine, and its reader accepts it", () => {
  const record = checkRecord(runs, { ...passed, outcome: "regression" });
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

it("the record of a check has each figure's median over the runs, and none for a failed cell", () => {
  const of = (moved: string, unit: string, figure: number) => {
    return { moved, unit, runs: 3, figure: expect.closeTo(figure, 10) };
  };
  expect(checkRecord(runs, passed).series).toMatchObject([
    ...[of("h2d", "GB/s", 50), of("h2d", "us", 10)],
    ...[of("h2d", "GB/s", 50), of("d2h", "GB/s", 100), of("sum", "GB/s", 150)],
  ]);
});

it("the record of a check names how copies were verified, and no unknown machine", () => {
  const every = runFigures(buildDocument({ plan: { verify: "every" } }), null);
  expect(checkRecord([every], passed).verify).toBe("every");
  const imported = runFigures({ ...documents[0]!, host: null, devices: [], plan: null }, null);
  const { machine, verify } = checkRecord([imported], passed);
  expect(verify).toBeUndefined();
  expect(machine).toEqual({ hostName: [], gpuUuids: [], pciAddresses: [] });
});
