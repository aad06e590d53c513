import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { type PinnedRates, pinnedRatesOf, withSavings } from "../../src/trace/pinned-rates.js";
import type { TracedCopy, TracedProcess } from "../../src/trace/trace-document.js";
import { traceKind } from "../../src/trace/trace-report.js";
import { blocksOf, drawn, reportOf } from "../helpers/drawn.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";
import { buildProcess, buildTrace, buildTraced, pinnedCopy } from "../helpers/trace.js";

const [KiB, MiB] = [1024, 1024 ** 2];

const said = (processes: readonly TracedProcess[], type: "alert" | "answer" | "finding" | "note") =>
  blocksOf(reportOf(traceKind, buildTrace(processes)), type).map(({ text }) => text);
const answersOn = (...copies: TracedCopy[]) => said([buildProcess(copies)], "answer");
const saysNothingMore = (process: TracedProcess) => expect(said([process], "finding")).toEqual([]);

describe("the estimate of what pinning saves", () => {
  const rates: PinnedRates = {
    source: "before.json",
    cells: [
      { direction: "h2d", sizeBytes: 16 * MiB, GBps: 50 },
      { direction: "h2d", sizeBytes: MiB, GBps: 40 },
      { direction: "d2h", sizeBytes: MiB, GBps: 20 },
    ],
  };
  const saved = (copy: Partial<TracedCopy>, by: PinnedRates | null = rates) => {
    const {
      pinnedGBps: _,
      savedNs: __,
      ...seen
    } = buildTraced({ count: 1, engineNs: 1e9, blockedNs: 2e9, ...copy });
    const [one] = withSavings([seen], by);
    return [one!.pinnedGBps, one!.savedNs];
  };

  it.each<[string, Partial<TracedCopy>, number | null, number | null]>([
    ["is the engine's time beyond that of pinned copies", { sizeBytes: 16 * MiB }, 50, 1e9 - (16 * MiB) / 50],
    ["uses the next smaller size's rate", { sizeBytes: 15 * MiB }, 40, 1e9 - (15 * MiB) / 40],
    ["uses the direction's rate", { direction: "d2h", sizeBytes: 16 * MiB }, 20, 1e9 - (16 * MiB) / 20],
    ["is at most the time blocked", { sizeBytes: MiB, blockedNs: 5e8 }, 40, 5e8 - MiB / 40],
    [
      "is at most the engine's time if the call is unknown",
      { sizeBytes: MiB, call: "", blockedNs: 0 },
      40,
      1e9 - MiB / 40,
    ],
    ["is unknown below the smallest measured size", { sizeBytes: 512 * KiB }, null, null],
    ["is nothing below 64 KiB", { sizeBytes: 64 * KiB - 1 }, null, 0],
    ["is nothing for pinned memory", { sizeBytes: MiB, memory: "pinned" }, null, 0],
    ["is never negative", { sizeBytes: MiB, engineNs: 1 }, 40, 0],
  ])("%s", (_, copy, pinnedGBps, savedNs) => {
    expect(saved(copy)).toEqual([pinnedGBps, savedNs]);
  });

  it("is unknown without rates", () => {
    expect(saved({ sizeBytes: MiB }, null)).toEqual([null, null]);
  });

  it("is computed from a result's pinned copies by one thread on the first device", () => {
    const cells = [
      buildCell({ sizeBytes: MiB, GBps: 40 }),
      buildCell({ sizeBytes: 16 * MiB, GBps: 50 }),
      buildCell({ sizeBytes: MiB, workers: 4, GBps: 55 }),
      buildCell({ sizeBytes: MiB, memory: "pageable", GBps: 8 }),
      buildCell({ sizeBytes: 4 * MiB, device: 1, GBps: 30 }),
      buildCell({ sizeBytes: 4 * MiB, mode: "latency" }),
    ];
    const { source, cells: found } = pinnedRatesOf(buildDocument({ cells }), "it");
    expect(source).toBe("it");
    expect(found.map(({ sizeBytes, GBps }) => [sizeBytes, GBps])).toEqual([
      [16 * MiB, 50],
      [MiB, 40],
    ]);
  });
});

describe("the report on a trace", () => {
  it("says what came from pageable memory, what it blocked, and what pinning saves", () => {
    expect(answersOn(buildTraced(), pinnedCopy())).toEqual([
      "838.8 MB of 1.67 GB to the GPU came from pageable memory and blocked its thread for 116 ms of 2.20 s. Pinned memory would save about 89.9 ms.",
    ]);
  });

  it("has a sentence for each direction", () => {
    expect(answersOn(buildTraced(), buildTraced({ direction: "d2h" }))).toEqual([
      expect.stringContaining("838.8 MB of 838.8 MB to the GPU came from pageable memory"),
      expect.stringContaining("838.8 MB of 838.8 MB from the GPU went to pageable memory"),
    ]);
  });

  it("says if pinning would save little time, or an unknown time", () => {
    expect(answersOn(buildTraced({ savedNs: 2.19e7 }))[0]).toMatch(
      /Pinned memory would save less than 1 % of the time\.$/,
    );
    expect(answersOn(buildTraced({ savedNs: 2.2e7 }))[0]).toMatch(
      /Pinned memory would save about 22\.0 ms\.$/,
    );
    const unknown = [
      buildProcess([buildTraced({ savedNs: null, pinnedGBps: null }), buildTraced({ sizeBytes: MiB })]),
    ];
    expect(said(unknown, "answer")[0]).toMatch(/of 2\.20 s\.$/);
    expect(said(unknown, "note")).toEqual([expect.stringContaining("what pinning saves is unknown")]);
  });

  it("finds nothing to gain if all large copies are pinned", () => {
    expect(answersOn(pinnedCopy(), buildTraced({ sizeBytes: 4 * KiB }))).toEqual([
      "All large copies are pinned; nothing to gain here.",
    ]);
  });

  it("shows other causes of blocking from 1 % of the time on", () => {
    const values = (waitNs: number) =>
      buildTraced({ direction: "d2h", sizeBytes: 4, blockedNs: 0, waitNs, savedNs: 0 });
    saysNothingMore(buildProcess([values(2.19e7)]));
    expect(said([buildProcess([values(2.2e7)])], "finding")[0]).toMatch(
      /^100 small copies from the GPU waited 22\.0 ms/,
    );
    const pinning = (timeNs: number) =>
      buildProcess([], { pinningCalls: [{ name: "cudaHostAlloc", count: 3, timeNs }] });
    saysNothingMore(pinning(2.19e7));
    expect(said([pinning(2.2e7)], "finding")).toEqual([
      "Pinning and freeing took 22.0 ms in 3 calls (cudaHostAlloc): in a loop, pin once before it.",
    ]);
    const behind = (behindKernelsNs: number) => buildProcess([pinnedCopy({ behindKernelsNs })]);
    saysNothingMore(behind(2.19e7));
    expect(said([behind(2.2e7)], "finding")[0]).toMatch(
      /^Pinned copies took 22\.0 ms on streams that also run kernels/,
    );
    // Pageable copies block in any case.
    saysNothingMore(buildProcess([buildTraced({ behindKernelsNs: 1e9 })]));
    saysNothingMore(buildProcess([], { observedNs: 0 }));
  });

  it("lists the largest savings first, then the longest blocks; its brief view has few rows", () => {
    const copies = [
      pinnedCopy({ sizeBytes: MiB, blockedNs: 1 }),
      pinnedCopy({ sizeBytes: 2 * MiB, blockedNs: 2, waitNs: 7 }),
      buildTraced({ sizeBytes: 3 * MiB, savedNs: 4 }),
      buildTraced({ sizeBytes: 4 * MiB, savedNs: 5 }),
      ...Array.from({ length: 5 }, (_, i) => pinnedCopy({ sizeBytes: (9 + i) * MiB, blockedNs: 0 })),
    ];
    const table = (showsAll: boolean) =>
      drawn(traceKind, buildTrace([buildProcess(copies)]), "table", fileScreen({ showsAll }));
    const sizes = [...table(true).matchAll(/^ {2}H2D .* (\d+) MiB/gm)].map(([, size]) => Number(size));
    expect(sizes).toEqual([4, 3, 2, 1, 9, 10, 11, 12, 13]);
    expect(table(false)).not.toContain("13 MiB");
    expect(table(false)).toContain("--all shows all rows");
    expect(table(true)).not.toContain("--all");
  });

  it("adds up equal copies of several processes, and has a part for each process", () => {
    const processes = [
      buildProcess([buildTraced()], { rank: "0" }),
      buildProcess([buildTraced(), pinnedCopy()], { rank: "1", observedNs: 1e9 }),
    ];
    const { blocks } = reportOf(traceKind, buildTrace(processes));
    const grids = blocks.flatMap((block) => (block.type === "table" ? [block.grid] : []));
    expect(grids[0]!.rows.map((row) => [row[1]!.text, row[3]!.text])).toEqual([
      ["pageable", "200"],
      ["pinned", "100"],
    ]);
    expect(grids[1]!.rows.map((row) => row.map(({ text }) => text))).toEqual([
      ["rank 0", "838.8 MB", "838.8 MB", "115.4", "0.00", "0.00", "2200"],
      ["rank 1", "1.67 GB", "838.8 MB", "115.4", "0.00", "0.00", "1000"],
      ["sum", "2.51 GB", "1.67 GB", "230.7", "0.00", "0.00", "3200"],
    ]);
    expect(blocks.flatMap((block) => (block.type === "fold" ? [block.title] : []))).toEqual([
      "rank 0",
      "rank 1",
    ]);
  });

  it("says what was not recorded", () => {
    expect(said([buildProcess([], { droppedRecords: 7 })], "alert")).toEqual([
      "CUPTI dropped 7 records: real counts are higher.",
    ]);
    expect(said([buildProcess([pinnedCopy()], { isComplete: false, copiesWithoutCall: 2 })], "note")).toEqual(
      [
        "the end of process 4711 is missing: it was killed, runs on, or the disk is full",
        "the time blocked by 2 copies is unknown",
      ],
    );
    // Of a process without records it is not known whether it copies.
    expect(said([buildProcess([], { isSilent: true })], "answer")).toEqual([]);
    expect(said([buildProcess([], { error: "CUPTI was not found" })], "answer")).toEqual([]);
  });

  it("fits into 40 columns", () => {
    const trace = buildTrace([buildProcess([buildTraced({ range: "step" }), pinnedCopy()]), buildProcess()]);
    const lines = drawn(traceKind, trace, "table", fileScreen({ columns: 40 })).split("\n");
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
  });

  it("draws a bar for each kind of copies, and none without any", async () => {
    const copies = [buildTraced(), pinnedCopy({ direction: "d2h" })];
    const [chart] = (await traceKind.pictures!(buildTrace([buildProcess(copies)]))).charts;
    expect(chart).toMatchObject({
      name: "blocked",
      groups: [
        {
          bars: [
            { name: "H2D pageable 8 MiB", text: "115.4 ms" },
            { name: "D2H pinned 8 MiB", text: "0.40 ms" },
          ],
        },
        { bars: [{ value: 0 }, { value: 0 }] },
      ],
    });
    expect((await traceKind.pictures!(buildTrace([]))).charts).toEqual([]);
  });
});
