import { describe, expect, it } from "vitest";
import { cellNotes } from "../../src/report/cell-notes.js";
import {
  buildCell,
  buildDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type CellPart,
  type DocumentPart,
} from "../helpers/result-document.js";

const notesOf = (part: DocumentPart) => cellNotes(buildDocument(part)).map(({ text }) => text);

/** Five processes, of which only their number matters here. */
const processes = Array.from({ length: 5 }, (_, i) => ({ id: `${i}`, startedAt: "", wallNs: 1e9 }));

/** A cell that used its time up, and whose samples have this share of their median between p10 and p90. */
function buildVarying(share: number, part: CellPart = {}) {
  const cell = buildCell({ GBps: 50, relativeHalfWidth: 0.3, ...part, result: { outcome: "budget" } });
  const stats = cell.stats.map((one) => ({
    ...one,
    bandwidthGBps: { ...one.bandwidthGBps, p10: 50 - 25 * share, p90: 50 + 25 * share },
  }));
  return { ...cell, stats };
}

describe("a note on wrong data", () => {
  it("says how many places are wrong, and where the first of them is", () => {
    const place = { direction: "d2h" as const, worker: 2, offsetBytes: 8192, mismatchedBytes: 512 };
    const mismatches = [place, { ...place, direction: "h2d" as const, worker: 3 }];
    const cell = buildMismatch({ direction: "bidir" });
    const verification = { checkedBytes: 1, mismatches };
    expect(notesOf({ cells: [{ ...cell, verification }] })[0]).toBe(
      "MISMATCH: data came back wrong in H2D+D2H pinned 16 MiB x1: 2 places, the first D2H of worker 2, 512 B wrong from byte 8192 of its arena",
    );
    expect(notesOf({ cells: [{ ...cell, verification: null }] })[0]).toMatch(/ 16 MiB x1$/);
  });
});

it("a failure has its code once, whether or not its message has it", () => {
  const cells = [
    buildFailed({}, "CODE_A", "out of memory (CODE_A)."),
    buildFailed({ workers: 2 }, "CODE_B", "it is lost."),
  ];
  const failed = notesOf({ cells }).filter((text) => text.startsWith("failed"));
  expect(failed[0]).toBe("failed: out of memory (CODE_A) (H2D pinned 16 MiB x1)");
  expect(failed[1]).toBe("failed: it is lost (CODE_B) (H2D pinned 16 MiB x2)");
});

describe("an interval that stayed wide", () => {
  const late = (part: DocumentPart) =>
    notesOf({
      cells: [buildCell({ GBps: 50, relativeHalfWidth: 0.02, result: { outcome: "budget" } })],
      ...part,
    }).filter((text) => text.includes("still wider"));

  it.each<[string, DocumentPart, string]>([
    ["the budget", {}, "its interval was still wider than ±1 % when the budget of 8 s was spent"],
    [
      "the samples",
      { plan: { samplesPerCell: 9 } },
      "its interval was still wider than ±1 % after 9 samples a cell",
    ],
  ])("is put down to %s", (_, part, reason) => {
    expect(late(part)).toEqual([expect.stringMatching(new RegExp(`not converged: ${reason}$`))]);
    expect(late({ ...part, run: { processes } })).toEqual([
      expect.stringMatching(new RegExp(`not converged: in one of the processes ${reason}$`)),
    ]);
  });

  it("is put down to the samples or the processes if they vary too much, by the most of any cell", () => {
    const cells = [
      buildVarying(0.3),
      buildVarying(0.8, { memory: "pageable" }),
      buildVarying(0.5, { workers: 2 }),
    ];
    const varies = (part: DocumentPart) =>
      notesOf({ cells, ...part }).find((text) => text.includes("varies"));
    expect(varies({})).toBe(
      "3 cells, pageable and pinned: varies by up to 80 % from sample to sample, too much for ±1 % in the time",
    );
    expect(varies({ run: { processes } })).toContain("varies by up to 80 % between processes, too much");
  });
});

it("ends with how many cells came to what, in which time", () => {
  const cells = [
    buildCell({ GBps: 55 }),
    buildCell({ GBps: 55, workers: 2 }),
    buildCell({ GBps: 50, workers: 4, result: { outcome: "budget" } }),
    buildSkipped({ memory: "mapped" }, "no kernels"),
    buildFailed({ memory: "staged" }, "CODE", "out of memory"),
    buildMismatch({ memory: "pageable" }),
    buildCell({ memory: "host", result: { outcome: null } }),
  ];
  expect(notesOf({ cells }).at(-1)).toBe(
    "7 cells in 8.4 s: 2 converged to ±1 %, 1 not converged, 1 skipped, 1 failed, 1 with wrong data, 1 not finished",
  );
  expect(notesOf({ cells: cells.slice(0, 1), run: { wallNs: null } }).at(-1)).toBe(
    "1 cell: 1 converged to ±1 %",
  );
});

it("says what the plan noted, and what cannot be seen of any device", () => {
  const unseen = [0, 1].map((device) => ({
    ...{ device, others: [], activityBefore: null },
    unseen: ["programs" as const],
  }));
  const notes = notesOf({ plan: { notes: ["256 MiB is left out.", "b"] }, run: { sharing: unseen } });
  expect(notes).toEqual(
    expect.arrayContaining([
      ...["note: 256 MiB is left out.", "note: b"],
      expect.stringMatching(/^note: device 0 may have been used/),
      expect.stringMatching(/^note: device 1 may have been used/),
    ]),
  );
});

it("counts as unproved in part only what --verify every could not check whole", () => {
  const checked = (provenCopies: number, part: CellPart) =>
    buildCell({
      GBps: 50,
      ...part,
      result: { verification: { checkedBytes: 1, mismatches: [], copies: 10, provenCopies } },
    });
  const cells = [checked(10, {}), checked(9, { workers: 2 })];
  expect(notesOf({ cells, plan: { verify: "every" } })).toContain(
    "note: every copy was checked (except in H2D pinned 16 MiB x2), so samples have few copies: compare with results of --verify every alone",
  );
});

it("says what conclusions rest on, and how to know it better", () => {
  const recorded =
    "note: the conclusions allow for the spread between processes that was recorded on an NVIDIA H200";
  const [certain, unsure] = [0.004, null].map((relativeHalfWidth) => [
    buildCell({ GBps: 55, relativeHalfWidth }),
  ]);
  const basisOf = (part: DocumentPart) => notesOf(part).filter((text) => text.includes("the conclusions"));
  expect(basisOf({ cells: certain! })).toEqual([`${recorded}; --processes 5 measures it`]);
  expect(basisOf({ cells: unsure! })).toEqual([]);
  expect(basisOf({ cells: certain!, run: { processes } })).toEqual([
    "note: the conclusions rest on the intervals between the processes",
  ]);
  expect(basisOf({ cells: unsure!, run: { processes } })).toEqual([`${recorded}; 3 processes measure it`]);
});
