import { describe, expect, it } from "vitest";
import { mainRates, preliminaryRates } from "../../src/report/findings/main-rates.js";
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

describe("preliminary rates", () => {
  const unfinished = { result: { outcome: null } } as const;
  const both = (direction: "h2d" | "d2h") => [
    buildCell({ memory: "pageable", direction, GBps: 10.6, ...unfinished }),
    buildCell({ memory: "pinned", direction, GBps: 55.4, ...unfinished }),
  ];

  it("are those of cells that are still being measured, and are called so", () => {
    const document = buildDocument({ cells: [...both("h2d"), ...both("d2h")] });
    expect(mainRates(document)).toBeNull();
    expect(preliminaryRates(document)).toMatchObject({
      text: "preliminary: 16 MiB: pinned 55.4 GB/s to the device, 55.4 back; pageable 10.6 and 10.6",
      brief: "preliminary: 16 MiB H2D/D2H: pinned 55.4/55.4, pageable 10.6/10.6 GB/s",
    });
  });

  it("need no copies from the device, but both kinds of memory", () => {
    expect(preliminaryRates(buildDocument({ cells: both("h2d") }))?.brief).toBe(
      "preliminary: 16 MiB H2D: pinned 55.4, pageable 10.6 GB/s",
    );
    expect(preliminaryRates(buildDocument({ cells: both("h2d").slice(1) }))).toBeNull();
  });

  it("are not those of wrong data", () => {
    const wrong = both("h2d").map((cell) => ({ ...cell, outcome: "mismatch" as const }));
    expect(preliminaryRates(buildDocument({ cells: wrong }))).toBeNull();
  });
});
