import { describe, expect, it } from "vitest";
import { resultKind } from "../../src/report/result-report.js";
import { blocksOf, reportOf } from "../helpers/drawn.js";
import {
  buildCell,
  buildDocument,
  type DocumentPart,
  defaultSweepCells,
} from "../helpers/result-document.js";

describe("the headline", () => {
  const headlineOf = (part: DocumentPart) =>
    blocksOf(reportOf(resultKind, buildDocument(part)), "answer").flatMap(({ headline }) => headline ?? []);

  it("has the rates to the device, how many times as fast pinning is, and how much of the link", () => {
    expect(headlineOf({ cells: defaultSweepCells() })).toEqual([
      ["pinned, to the device", expect.stringMatching(/^55\.\d GB\/s$/)],
      ["pageable", expect.stringMatching(/^\d+\.\d GB\/s$/)],
      ["pinned over pageable", expect.stringMatching(/^\d\.\d×$/)],
      ["of the link", expect.stringMatching(/^8\d\.\d %$/)],
    ]);
  });

  it("has the same figures as the table", () => {
    const report = reportOf(resultKind, buildDocument({ cells: defaultSweepCells() }));
    const [table] = blocksOf(report, "table");
    const row = table!.grid.rows.find(
      ([size, workers]) => size!.text === "256 MiB" && workers!.text === "1",
    )!;
    for (const [, value] of headlineOf({ cells: defaultSweepCells() })) {
      expect(row.map(({ text }) => text)).toContain(value.replace(" GB/s", ""));
    }
  });

  it("is none if only one kind of memory was measured", () => {
    expect(headlineOf({ cells: [buildCell({ GBps: 55 })] })).toEqual([]);
  });
});
