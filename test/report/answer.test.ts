import { describe, expect, it } from "vitest";
import { answer, closingLines } from "../../src/report/findings/answer.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildEmulatedDocument,
  buildFailed,
  buildMismatch,
  buildSkipped,
  type CellPart,
  type DocumentPart,
  defaultSweepCells,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";
import { noLink, pair, textsOf, textsOfProcesses } from "./answer-texts.js";

describe("what pinned memory gains", () => {
  it("is given for both directions at the largest size", () => {
    const cells = [
      ...pair(10, 30),
      ...pair(10, 20, { direction: "d2h" }),
      ...pair(10, 25, { sizeBytes: MiB }),
    ];
    expect(textsOfProcesses(cells)).toEqual([
      "Pinned memory copies 3.0 times as fast as ordinary (pageable) memory to the device (2.9 to 3.1 in other runs), " +
        "and 2.0 times as fast back (1.98 to 2.1), in copies of 16 MiB.",
    ]);
  });

  it.each([
    [
      "no faster",
      10.01,
      "Pinned memory copies no faster than ordinary (pageable) memory to the device, in copies of 16 MiB.",
    ],
    [
      "slower",
      5,
      "Pinned memory copies only at 50 % of the speed of ordinary (pageable) memory to the device (49 % to 51 % in other runs), in copies of 16 MiB.",
    ],
  ])("may be that it is %s", (_, pinned, text) => {
    expect(textsOfProcesses(pair(10, pinned))).toEqual([text]);
  });

  it("has only the lower end of a wide range", () => {
    expect(textsOfProcesses(pair(10, 60, { relativeHalfWidth: 0.5 }))[0]).toMatch(
      /^Pinned memory copies 6\.0 times as fast as .* \(at least 2\.\d in other runs\)/,
    );
  });

  it("is not claimed if the intervals do not allow it", () => {
    const open =
      "It is open whether pinned memory copies faster than ordinary (pageable) memory in copies of 16 MiB: ";
    const wide = { relativeHalfWidth: 0.2, result: { outcome: "budget" } } as const;
    expect(textsOfProcesses(pair(10, 11, wide))).toEqual([
      `${open}the figures vary too much; try a larger --budget, or --processes 5.`,
    ]);
    // Converged figures do not vary too much.
    expect(textsOfProcesses(pair(10, 11, { relativeHalfWidth: 0.2 }))).toEqual([
      `${open}processes may differ by more than these figures do: measure with --processes 5.`,
    ]);
  });

  it("is not claimed for directions and sizes that do not allow it", () => {
    const cells = [
      ...pair(10, 30),
      ...pair(10, 10.01, { sizeBytes: 64 * KiB }),
      ...pair(10, 11, { sizeBytes: MiB, relativeHalfWidth: 0.2 }),
      ...pair(10, 11, { direction: "d2h", relativeHalfWidth: 0.2 }),
    ];
    expect(textsOfProcesses(cells)).toEqual([
      "Pinned memory copies 3.0 times as fast as ordinary (pageable) memory to the device (2.9 to 3.1 in other runs), " +
        "in copies of 16 MiB; this is not so at 64 KiB; it is not certain whether it is faster from the device, or at 1 MiB to the device.",
    ]);
  });

  it("is given for each direction at its own size, with the undecided size of one", () => {
    const large = { sizeBytes: 256 * MiB };
    const cells = [
      ...pair(10, 30),
      ...pair(10, 30, large),
      ...pair(10, 30, { direction: "d2h" }),
      ...pair(10, 11, { ...large, direction: "d2h", relativeHalfWidth: 0.3 }),
    ];
    expect(textsOfProcesses(cells)).toEqual([
      "Pinned memory copies 3.0 times as fast as ordinary (pageable) memory to the device (2.9 to 3.1 in other runs; " +
        "copies of 256 MiB), and 3.0 times as fast back (2.9 to 3.1; copies of 16 MiB); not certain at 256 MiB from the device.",
    ]);
  });

  it("counts its undecided sizes if they differ between the directions", () => {
    const open = (direction: "h2d" | "d2h", ...sizes: number[]) =>
      sizes.flatMap((sizeBytes) => pair(10, 11, { direction, sizeBytes, relativeHalfWidth: 0.3 }));
    const cells = [
      ...[...pair(10, 30), ...pair(10, 30, { direction: "d2h" })],
      ...open("h2d", KiB, MiB),
      ...open("d2h", MiB, 2 * MiB),
    ];
    expect(textsOfProcesses(cells)[0]).toMatch(/, in copies of 16 MiB; not certain at 3 other sizes\.$/);
  });

  it("is not denied if wide intervals were requested", () => {
    const cells = pair(10, 14, { relativeHalfWidth: 0.45 });
    expect(textsOfProcesses(cells, { ...noLink, plan: { precision: 0.5 } })[0]).toMatch(
      /^It is open whether pinned memory copies faster than ordinary /,
    );
  });

  it("names several workers, and uses processes without threads", () => {
    expect(textsOfProcesses(pair(10, 30, { workers: 4, workerKind: "process" }))[0]).toContain(
      "(2.9 to 3.1 in other runs), in copies of 16 MiB by 4 workers each.",
    );
  });

  it("is not repeated by a closing line", () => {
    const closing = (cells: CellResult[]) => closingLines(buildDocument({ cells })).map(({ text }) => text);
    expect(closing(pair(10, 30))).toEqual([]);
    expect(closing([...pair(10, 30), ...pair(10, 25, { sizeBytes: MiB })])).toEqual([
      "pinned is 2.2× to 3.4× pageable at every size (H2D)",
    ]);
    const d2h = { direction: "d2h" } as const;
    const back = [...pair(10, 30, d2h), ...pair(10, 25, { ...d2h, sizeBytes: MiB })];
    expect(closing([...pair(10, 30), ...back])).toHaveLength(1);
  });
});

describe("the share of the link", () => {
  it("is given for pinned memory, once if both directions are the same", () => {
    const both = [...pair(10, 55), ...pair(10, 55, { direction: "d2h" })];
    expect(textsOfProcesses(both, {})[1]).toBe(
      "Pinned memory reaches 87.2 % of what the link can carry to the device and back (86 % to 88 % in other runs).",
    );
    const apart = [...pair(10, 55), ...pair(10, 30, { direction: "d2h" })];
    expect(textsOfProcesses(apart, {})[1]).toBe(
      "Pinned memory reaches 87.2 % of what the link can carry to the device (86 % to 88 % in other runs), and 47.6 % back (47 % to 48 %).",
    );
  });

  it("has a range for each direction if only these differ", () => {
    const wider = pair(10, 55, { direction: "d2h", relativeHalfWidth: 0.02 });
    expect(textsOfProcesses([...pair(10, 55), ...wider], {})[1]).toBe(
      "Pinned memory reaches 87.2 % of what the link can carry to the device (86 % to 88 % in other runs), and 87.2 % back (85 % to 90 %).",
    );
  });

  it("is never more than all of it", () => {
    expect(textsOfProcesses(pair(10, 62.9, { relativeHalfWidth: 0.01 }), {})[1]).toContain(
      "99.8 % of what the link can carry to the device (98 % to 100 % in other runs)",
    );
  });

  it("is left out if copies are faster than the reported link", () => {
    const oneKind = [buildCell({ GBps: 130 })];
    const texts = [...textsOfProcesses(pair(10, 130), {}), ...textsOfProcesses(oneKind, {})];
    expect(texts).toHaveLength(2);
    expect(texts.join()).not.toContain("link");
  });
});

describe("a sweep without two kinds to compare", () => {
  it("is described by the rates of its fastest cells", () => {
    const cells = [buildCell({ GBps: 55 }), buildCell({ GBps: 50, direction: "d2h" })];
    expect(textsOfProcesses(cells)).toEqual([
      "Pinned memory copies 55.0 GB/s to the device (54.7 to 55.3 in other runs), and 50.0 GB/s back (49.8 to 50.2), in copies of 16 MiB by 1 worker.",
    ]);
    expect(textsOfProcesses([cells[1]!], {})).toEqual([
      "Pinned memory copies 50.0 GB/s from the device, 79.3 % of what the link can carry (49.8 to 50.2 in other runs; copies of 16 MiB by 1 worker).",
    ]);
  });

  it("is described by both ways at once or device memory if nothing else was measured", () => {
    const bidir = buildCell({ direction: "bidir", GBps: { h2d: 40, d2h: 40, sum: 80 } });
    expect(textsOfProcesses([bidir])[0]).toMatch(
      /^Pinned memory copies 80\.0 GB\/s both ways at once \(79\.\d to 80\.\d in other runs; /,
    );
    const own = buildCell({ direction: "d2d", memory: "device", GBps: 4000 });
    expect(textsOfProcesses([own])[0]).toMatch(
      /^Device memory copies 4000 GB\/s within the device \(39\d\d to 40\d\d in other runs; /,
    );
  });

  it("is described by the latencies of its smallest copies without rates", () => {
    const latency = (memory: "pageable" | "pinned", median: number, part: CellPart = {}) =>
      buildCell({
        memory,
        mode: "latency",
        GBps: 1,
        latencyUs: { median, p99: 2 * median },
        sizeBytes: 4 * KiB,
        ...part,
      });
    expect(textsOfProcesses([latency("pageable", 8), latency("pinned", 4)])).toEqual([
      "A copy of 4 KiB to the device takes 4.00 µs with pinned memory and 8.00 µs with ordinary (pageable) memory (3.98 to 4.02 and 7.96 to 8.04 in other runs).",
    ]);
    expect(textsOfProcesses([latency("pinned", 4), latency("pinned", 40, { sizeBytes: MiB })])).toEqual([
      "A copy of 4 KiB to the device takes 4.00 µs with pinned memory (3.98 to 4.02 in other runs).",
    ]);
    const wide = { relativeHalfWidth: 0.5 };
    const open = (["h2d", "d2h"] as const).flatMap((direction) => [
      latency("pageable", 5, { ...wide, direction }),
      latency("pinned", 4, { ...wide, direction }),
    ]);
    expect(textsOfProcesses(open)).toEqual([
      "The times vary too much to show whether a copy of 4 KiB takes longer with ordinary (pageable) memory than with " +
        "pinned memory, in either direction.",
    ]);
  });
});

describe("the prefix of a sentence", () => {
  it("names the emulated device, one device of several, or one with other users", () => {
    const first = (part: DocumentPart, build = buildDocument) => answer(build({ ...part }))[0]?.text;
    const cells = pair(10, 30);
    expect(first({ cells }, buildEmulatedDocument)).toMatch(/^On the emulated device, pinned memory copies /);
    const devices = [buildDevice({ ordinal: 2 }), buildDevice({ ordinal: 3 })];
    const ofBoth = [2, 3].flatMap((device) => pair(10, 30, { device }));
    expect(first({ cells: ofBoth, devices })).toMatch(/^On device 2, pinned memory copies /);
    const busy = { computeShare: 0.4, toDeviceGBps: null, fromDeviceGBps: null };
    const sharing = [{ device: 0, others: [], activityBefore: busy, unseen: [] }];
    expect(first({ cells, run: { sharing } })).toMatch(/^With others on the device, pinned memory copies /);
  });

  it("appears once for all following sentences", () => {
    const texts = answer(buildEmulatedDocument({ cells: defaultSweepCells(), devices: [buildDevice()] }));
    expect(texts.map(({ text }) => text.startsWith("On the emulated device"))).toEqual([true, false]);
  });
});

describe("what was measured beside plain copies", () => {
  const chunked = (memory: "pinned", rates: Record<number, number>) =>
    Object.entries(rates).map(([chunks, GBps]) => buildCell({ memory, chunks: Number(chunks), GBps }));

  it("is described by the most important line, which is then no closing line", () => {
    const document = buildDocument({
      cells: chunked("pinned", { 1: 26, 4: 46 }).map(ofFiveProcesses),
      ...noLink,
    });
    expect(answer(document).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Copies of 16 MiB that overlap with kernels \(non_blocking\) gain 1\.7.*\.$/),
    ]);
    expect(closingLines(document)).toEqual([]);
  });

  it("names the load that costs most", () => {
    const cells = [
      buildCell({ GBps: 50 }),
      ...(["compute", "host"] as const).map((beside) =>
        buildCell({ beside, GBps: beside === "host" ? 20 : 49 }),
      ),
    ].map(ofFiveProcesses);
    const document = buildDocument({ cells, ...noLink });
    expect(answer(document)[1]?.text).toMatch(
      /^Beside a load on the host's memory \(16 MiB, 1 worker\), pinned keeps /,
    );
    expect(closingLines(document).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^beside arithmetic on the device /),
    ]);
  });
});

describe("a result without a conclusion", () => {
  const unfinished = { result: { outcome: null } } as const;

  it.each<[string, DocumentPart, string]>([
    ["no cells", { cells: [] }, "Nothing was measured."],
    [
      "cells that failed or were skipped",
      { cells: [buildFailed({}, "CUDA", "lost"), buildSkipped({ sizeBytes: MiB }, "no memory")] },
      "Nothing was measured: 1 cell failed and 1 cell had to be skipped; the notes below the tables say why.",
    ],
    [
      "too few samples",
      { cells: pair(10, 30, { relativeHalfWidth: null }) },
      "Nothing is certain: there are too few samples for intervals; without --samples there are enough.",
    ],
    [
      "intervals that say nothing",
      { cells: [buildCell({ GBps: 50, relativeHalfWidth: 0.99, result: { outcome: "budget" } })] },
      "Nothing is certain: the figures vary too much; try a larger --budget, or --processes 5.",
    ],
    [
      "an early interruption",
      { cells: pair(10, 30, unfinished), run: { status: "aborted" } },
      "Preliminary: 16 MiB: pinned 30.0 GB/s to the device; pageable 10.0; the run was interrupted before a cell was finished.",
    ],
    [
      "an interruption before both kinds of memory were copied",
      { cells: [buildCell({ GBps: 50, ...unfinished })], run: { status: "aborted" } },
      "There is no answer: the run was interrupted before a cell was finished.",
    ],
    [
      "an early failure",
      { cells: pair(10, 30, unfinished), run: { status: "failed" } },
      "There is no answer: the run failed before a cell was finished.",
    ],
    [
      "imported figures",
      {
        cells: pair(10, 30, { relativeHalfWidth: null }),
        importedFrom: { tool: "nvbandwidth", version: null, file: "a" },
      },
      "Nothing is concluded from imported figures, which have no intervals.",
    ],
    [
      "the host's own copies",
      { cells: [buildCell({ memory: "host", GBps: 12 })] },
      "Nothing was copied to or from a device: the table shows what the CPU copies by itself.",
    ],
  ])("says why: %s", (_, part, text) => {
    expect(textsOf(part)).toEqual([text]);
  });
});

it("wrong data come first, as loudly as can be", () => {
  const cells = [...pair(10, 30), buildMismatch({ GBps: 50, sizeBytes: MiB })];
  const [first, second] = answer(buildDocument({ cells }));
  expect(first).toEqual({
    text: "DATA CAME BACK WRONG in 1 of 3 cells: do not trust this machine",
    tone: "mismatch",
  });
  expect(second?.text).toMatch(/^Pinned memory copies /);
});

it("failed cells come before conclusions", () => {
  const cells = [...pair(10, 30), buildFailed({ sizeBytes: MiB }, "CUDA", "lost")];
  const [first, second] = answer(buildDocument({ cells }));
  expect(first).toEqual({
    text: "1 of 3 cells failed: the notes below the tables say why.",
    tone: "failure",
  });
  expect(second?.text).toMatch(/^Pinned memory copies /);
});
