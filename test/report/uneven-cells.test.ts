import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { cellNotes } from "../../src/report/cell-notes.js";
import { answer } from "../../src/report/findings/answer.js";
import { resultKind } from "../../src/report/result-report.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { parseResult } from "../../src/results/parse.js";
import { drawn } from "../helpers/drawn.js";
import { buildCell, buildDocument, type CellPart, MiB } from "../helpers/result-document.js";

/** A cell of samples, of which the first `slow` take several times their time. */
function unevenCell(part: CellPart, { of = 6, slow = 1, times = 8 } = {}): CellResult {
  const cell = buildCell({ GBps: 4, ...part });
  const samples = cell.samples.map((one) => {
    const usualNs = one.bytesPerSample / cell.stats[0]!.bandwidthGBps.median;
    const durationNs = Array.from({ length: of }, (_, i) => usualNs * (i < slow ? times : 1));
    return { ...one, durationNs, startNs: durationNs.map(() => 0), round: durationNs.map(() => 0) };
  });
  return { ...cell, samples };
}

const answers = (...cells: CellResult[]) => answer(buildDocument({ cells })).map(({ text }) => text);
const notes = (...cells: CellResult[]) => cellNotes(buildDocument({ cells })).map(({ text }) => text);
const latency = { mode: "latency", latencyUs: { median: 8, p99: 160 } } as const;

describe("slow copies that a median does not show", () => {
  it("end the answer for pinned memory, with the average rate", () => {
    expect(answers(unevenCell({})).at(-1)).toBe(
      "Slow copies take 53 % of the time in H2D pinned 16 MiB x1: the average is 1.84 GB/s, the median 4.00 GB/s.",
    );
    const others = [2, 4].map((workers) => unevenCell({ workers }, { times: 3 }));
    for (const cells of [
      [unevenCell({}), ...others],
      [...others, unevenCell({})],
    ])
      expect(answers(...cells).at(-1)).toMatch(/16 MiB x1: .*; they take 5 % or more in 2 other cells\.$/);
  });

  it("of both directions are those of one cell", () => {
    expect(answers(unevenCell({ direction: "bidir", GBps: { h2d: 4, d2h: 4 } })).at(-1)).toBe(
      "Slow copies take 53 % of the time in H2D+D2H pinned 16 MiB x1 (H2D): the average is 1.84 GB/s, the median 4.00 GB/s.",
    );
  });

  it("are counted once for both directions of a cell, and not for their sum", () => {
    const GBps = { h2d: 4, d2h: 4, sum: 12 };
    const bidir = unevenCell({ direction: "bidir", workers: 2, GBps }, { times: 3 });
    expect(answers(unevenCell({}), bidir).at(-1)).toMatch(/ in 1 other cell\.$/);
    expect(answers(bidir).at(-1)).toMatch(
      / x2 \(H2D\): the average is [\d.]+ GB\/s, the median 4\.00 GB\/s\.$/,
    );
  });

  it("are no matter of what nobody asked for, and of one sample only if it is a rate", () => {
    expect(notes(unevenCell({ memory: "host" })).join()).not.toContain("low copies");
    expect(answers(unevenCell({}, { of: 300, slow: 1, times: 100 })).join()).toContain("Slow copies");
  });

  it("are named with a pointer if a terminal without --verbose hides the row", () => {
    const quiet = fileScreen({ isVerbose: false });
    const slowAt = (slowWorkers: number, screen = quiet) => {
      const cells = [1, 2, 4].map((workers) =>
        workers === slowWorkers ? unevenCell({ workers }) : buildCell({ workers, GBps: 4 }),
      );
      return drawn(resultKind, buildDocument({ cells }), "table", screen).replaceAll(/\s+/g, " ");
    };
    expect(slowAt(2)).toContain("in H2D pinned 16 MiB x2, a row that --verbose shows: the average");
    for (const shown of [slowAt(1), slowAt(4), slowAt(2, fileScreen())]) {
      expect(shown).toMatch(/Slow copies take 53 % of the time in H2D pinned 16 MiB x\d: the average/);
    }
  });

  it("are a note below the tables for memory whose copies vary by nature", () => {
    const cell = unevenCell({ memory: "pageable" });
    expect(answers(cell).join()).not.toContain("low copies");
    expect(notes(cell).join("\n")).toContain(
      "note: slow copies take 53 % of the time in H2D pageable 16 MiB x1: the average is",
    );
  });

  it("are found in latencies, but not for a single interrupt", () => {
    expect(answers(unevenCell(latency, { of: 300, slow: 3, times: 20 })).at(-1)).toBe(
      "Slow copies take 15 % of the time in H2D pinned 16 MiB x1 latency: a copy takes 9.52 µs on average, the median is 8.00 µs.",
    );
    expect(answers(unevenCell(latency, { of: 300, slow: 1, times: 100 })).join()).not.toContain(
      "Slow copies",
    );
  });

  it("are not reported below 5 % of the time, or if the data came back wrong", () => {
    expect(answers(unevenCell({}, { times: 1.2 })).join()).not.toContain("Slow copies");
    expect(answers(unevenCell({ result: { outcome: "mismatch" } })).join()).not.toContain("Slow copies");
  });

  it("are not claimed to take all of the time, as an average of 0 is no rate", () => {
    expect(answers(unevenCell({}, { times: 1e20 })).join()).not.toContain("Slow copies");
  });

  it.each([
    "default",
    "quick",
    "pinned",
    "fresh-process",
    "at-once-together",
    "at-once-beside",
    "blocks",
    "every-copy",
  ])("are not claimed of pinned memory in what was recorded on a healthy H200: %s.json", (name) => {
    const document = parseResult(readFileSync(`results/nvidia-h200/${name}.json`, "utf8"));
    expect(
      answer(document)
        .map(({ text }) => text)
        .join(),
    ).not.toContain("Slow copies");
  });
});

it("says in a real sweep that some pageable and staged cells have slow copies", () => {
  const document = parseResult(readFileSync("results/nvidia-h200/default.json", "utf8"));
  expect(document.cells.some(({ sizeBytes }) => sizeBytes === 64 * MiB)).toBe(true);
  expect(
    cellNotes(document)
      .map(({ text }) => text)
      .join("\n"),
  ).toMatch(
    /note: slow copies take 9\.1 % of the time in H2D staged 16 MiB x4: .*; they take 5 % or more in \d+ other cells/,
  );
});
