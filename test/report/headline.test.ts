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
      ["of the link at best", expect.stringMatching(/^8\d\.\d %$/)],
    ]);
  });

  it("has the same figures as the table, and the answer's share of the link", () => {
    const report = reportOf(resultKind, buildDocument({ cells: defaultSweepCells() }));
    const rows = blocksOf(report, "table")[0]!.grid.rows.map((row) => row.map(({ text }) => text));
    const headline = headlineOf({ cells: defaultSweepCells() }).map(([, value]) =>
      value.replace(" GB/s", ""),
    );
    const row = rows.find(([size, workers]) => size === "256 MiB" && workers === "1");
    for (const value of headline.slice(0, -1)) expect(row).toContain(value);
    const share = headline.at(-1)!;
    expect(rows.map((one) => one.at(-1))).toContain(share);
    const answers = blocksOf(report, "answer").map(({ text }) => text);
    expect(answers.join(" ")).toContain(`${share} of what the link can carry`);
  });

  it("has no share of the link if the answer has none", () => {
    const faster = (["pageable", "pinned"] as const).map((memory) => buildCell({ memory, GBps: 80 }));
    expect(headlineOf({ cells: faster }).map(([name]) => name)).not.toContain("of the link at best");
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
