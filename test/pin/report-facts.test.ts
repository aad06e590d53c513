import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { hugePageNotes, neighbourAnswer, torchNotes } from "../../src/pin/neighbour-report.js";
import type { PinnedPool, Pinning, PoolShape } from "../../src/pin/pinning-document.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { drawn, reportOf } from "../helpers/drawn.js";
import { buildPinning, buildPool, buildUnmeasured } from "../helpers/pinning.js";

/* What the results tell, and what they leave out. */

const GiB = 1024 ** 3;
const plain = { way: "host-alloc", pieces: 1, threads: 1 } as const;
const huge = { way: "register-huge", pieces: 1, threads: 16 } as const;

const textOf = (pinning: Pinning) => drawn(pinningKind, pinning, "table", fileScreen({ columns: 240 }));
/** The cells of a line of a table. */
const cellsOf = (line: string) => line.trim().split(/ {2,}/);
const linesOf = (pinning: Pinning, begin: RegExp) =>
  textOf(pinning)
    .split("\n")
    .filter((line) => begin.test(line));

describe("the conditions", () => {
  const factOf = (
    name: string,
    changes: Partial<Pinning["machine"]>,
    device: Partial<Pinning["device"]> = {},
  ) => {
    const pinning = buildPinning();
    const [line] = linesOf(
      { ...pinning, machine: { ...pinning.machine, ...changes }, device: { ...pinning.device, ...device } },
      new RegExp(`^ +${name} {2}`),
    );
    return cellsOf(line!)[1];
  };
  const link = buildPinning().device.link!;

  it.each<[string, Partial<Pinning["machine"]>, Partial<Pinning["device"]>, string]>([
    ["Host", { numaNode: 0, virtualization: null }, {}, "node7, 16 CPUs of NUMA node 0"],
    ["Host", { virtualization: "unknown hypervisor" }, {}, "node7, 16 CPUs, under an unknown hypervisor"],
    ["Device", {}, { pciBusId: null, link: null }, "NVIDIA H200"],
    ["Device", {}, { link: { ...link, width: null } }, "NVIDIA H200, 0000:00:06.0"],
    [
      "Memory",
      { cgroupMemoryLimitBytes: 64 * GiB, memlockLimitBytes: null },
      {},
      "180 GiB available, at most 90 GiB pinned, cgroup 64 GiB",
    ],
    [
      "Huge pages",
      { transparentHugePages: null, hugetlbFreeBytes: 4 * GiB },
      {},
      "transparent: not known; set aside in hugetlbfs: 4 GiB",
    ],
  ])("%s: %j %j", (name, machine, device, text) => {
    expect(factOf(name, machine, device)).toBe(text);
  });
});

describe("the answer", () => {
  const answers = (pinning: Pinning) =>
    [...textOf(pinning).matchAll(/^=> .*(\n {3}.*)*/gm)].map(([answer]) => answer.replaceAll(/\s+/g, " "));

  it("compares cuMemHostAlloc with nothing, and a way that takes longer without a factor", () => {
    const usual = buildPinning([buildPool(plain, [1, 1, 1])]);
    expect(answers(usual)[0]).toMatch(/by cuMemHostAlloc: it is there in 1\.00 s\.$/);
    const recommendation = { ...buildPinning().recommendation!, timesAsFast: 0.5, hostAllocNs: 0.3e9 };
    expect(answers(buildPinning(undefined, { recommendation }))[0]).toMatch(
      /in 600 ms, where cuMemHostAlloc takes 300 ms\.$/,
    );
  });

  it("has no reason if there are several why nothing was measured", () => {
    const left = (...reasons: string[]) =>
      buildPinning(
        reasons.map((reason, i) => buildUnmeasured({ ...huge, threads: i + 1 }, "omitted", reason)),
      );
    expect(answers(left("no time was left", "no time was left"))).toEqual([
      "=> Nothing was measured: no time was left.",
    ]);
    expect(answers(left("no time was left", "1 GiB was refused"))).toEqual(["=> Nothing was measured."]);
  });

  it("has one limit of a way with its pieces, though nothing can be obtained", () => {
    const error = { code: "CUDA_ERROR_NOT_SUPPORTED", message: "no" };
    const limit = { ...huge, largestBytes: 0, refusedBytes: GiB, error, reason: "not known" };
    expect(textOf(buildPinning(undefined, { limits: [limit] }))).toContain(
      "none by register-huge in one piece.",
    );
    const some = { ...limit, largestBytes: 8 * GiB - 1, refusedBytes: 8 * GiB + 1 };
    expect(textOf(buildPinning(undefined, { limits: [some] })).replaceAll(/\s+/g, " ")).toContain(
      "7.99 GiB can be obtained: 8.01 GiB is refused",
    );
  });

  it("says that the device has failed, and with what", () => {
    const error = { code: "CUDA_ERROR_LAUNCH_FAILED", message: "it was lost" };
    expect(textOf(buildPinning(undefined, { status: "failed", error }))).toContain(
      "the device failed: it was lost",
    );
  });
});

describe("the table of a size", () => {
  it("marks the recommended pool in its own size alone, and shows it however slow it is", () => {
    const others = Array.from({ length: 6 }, (_, i) =>
      buildPool({ ...huge, pieces: i + 2 }, [0.1 * (i + 1)]),
    );
    const chosen = buildPool(plain, [9]);
    const small = buildPool(plain, [1], { sizeBytes: GiB });
    const recommendation = { ...buildPinning([chosen]).recommendation! };
    const lines = linesOf(buildPinning([small, ...others, chosen], { recommendation }), /^ +host-alloc /);
    expect(lines.map((line) => line.includes("<="))).toEqual([false, true]);
    const grids = JSON.stringify(
      reportOf(pinningKind, buildPinning([...others, chosen], { recommendation })),
    );
    expect(grids).toContain('"keyRows":[0,1,2,3,4,6]');
  });

  it("has each direction's own rate, and memory that the process had less of", () => {
    const rate = (median: number) => ({ median, least: median, most: median });
    const memory = (residentBytes: number) => ({
      ...{ residentBytes, pinnedBytes: residentBytes / 2, lockedBytes: residentBytes / 4 },
    });
    const pool = buildPool(huge, [1], {
      ...{ h2dGigabytesPerSecond: rate(50), d2hGigabytesPerSecond: rate(40), hugePageShare: 0 },
      memory: { before: memory(3 * GiB), held: memory(2 * GiB), after: memory(GiB) },
    });
    pool.samples[0]!.pageEvents = { compactionStalls: 5, hugePages: 9, hugePagesRefused: 7 };
    const [line] = linesOf(buildPinning([pool]), /^ +register-huge /);
    expect(cellsOf(line!).slice(7, 11)).toEqual(["50.0", "40.0", "0 %", "−1 GiB"]);
    const pinning = buildPinning([pool]);
    const [names, values] = pinningKind.rows!({ ...pinning, device: { ...pinning.device, ordinal: 2 } });
    const row = Object.fromEntries(names!.map((name, i) => [name, values![i]]));
    expect(row).toMatchObject({
      ...{ h2d_gbps: 50, d2h_gbps: 40, device: 2, compaction_stalls: 5, huge_pages_refused: 7 },
      ...{ pinned_bytes_before: 1.5 * GiB, pinned_bytes_held: GiB, pinned_bytes_after: GiB / 2 },
      ...{ locked_bytes_before: 0.75 * GiB, locked_bytes_after: GiB / 4 },
      ...{ resident_bytes_before: 3 * GiB, resident_bytes_held: 2 * GiB, resident_bytes_after: GiB },
    });
  });

  it("explains half-widths if a single pool was obtained several times, and what is too wide", () => {
    const once = buildPool(plain, [9]);
    const often = (most: number) => buildPinning([once, buildPool(huge, [1, 1, most])]);
    expect(textOf(buildPinning([once]))).not.toContain("±: half the range");
    expect(textOf(often(1.1))).toMatch(/±: half the range .* several times\n/);
    expect(textOf(often(90))).toMatch(/±: half the range .* several times; \?: too wide to be of use\n/);
  });

  it("names three pools that were left out, and counts more of them", () => {
    const left = (count: number) =>
      textOf(
        buildPinning([
          buildPool(plain, [1]),
          ...Array.from({ length: count }, (_, i) =>
            buildUnmeasured({ ...huge, pieces: i + 2 }, "refused", "it was refused"),
          ),
        ]),
      );
    expect(left(3).replaceAll(/\s+/g, " ")).toMatch(/refused: it was refused \(16 GiB by .*, .* and .*\)/);
    expect(left(4)).toContain("refused: it was refused (4 pools)");
  });
});

describe("the waits of another process", () => {
  const watchedPool = (shape: PoolShape, seconds: number, waitMs: number, more: Partial<PinnedPool> = {}) =>
    buildPool(shape, [seconds], {
      stalls: [
        { call: "memory-info", answers: 9, longestNs: waitMs * 1e6, stalledShare: 0.1 },
        { call: "small-copy", answers: 9, longestNs: 1e6, stalledShare: 0.2 },
      ],
      ...more,
    });

  it("are listed by pool, the quickest first, with the share of the call that waited most", () => {
    const slow = watchedPool(plain, 9, 3);
    const quick = watchedPool(huge, 1, 4);
    quick.stalls = quick.stalls!.slice(0, 1);
    const text = (pinning: Partial<Pinning>) =>
      textOf(buildPinning([slow, quick], pinning)).split("Longest waits of another process")[1]!;
    const rows = text({ quietStalls: [] })
      .split("\n")
      .filter((line) => /^ +(host-alloc|register-huge|none, )/.test(line));
    expect(rows.map((line) => cellsOf(line).slice(4))).toEqual([
      ["4.00", "-", "10 %"],
      ["3.00", "1.00", "20 %"],
    ]);
    const quietStalls = [{ call: "memory-info" as const, answers: 9, longestNs: 1e5, stalledShare: 0 }];
    expect(text({ quietStalls })).toMatch(/none, for a second .*0\.10+ .*0 %\n/);
  });

  it.each<[string, Partial<PinnedPool>]>([
    ["way", { way: "register" }],
    ["number of pieces", { pieces: 4 }],
    ["number of threads", { threads: 4 }],
    ["size", { sizeBytes: 8 * GiB }],
  ])("in the answer are those of the recommended pool, and of none with another %s", (_, difference) => {
    const chosen = watchedPool(huge, 1, 5);
    const other = { ...watchedPool(huge, 1, 3), ...difference };
    const { recommendation } = buildPinning([chosen]);
    const [answer] = neighbourAnswer(buildPinning([other, chosen], { recommendation }));
    expect(answer!.text).toBe("Calls of another process wait up to 5 ms meanwhile.");
  });

  it("of 10 ms are borne no longer, and pieces are named only where there are several", () => {
    const said = (waitMs: number, ...others: PinnedPool[]) =>
      neighbourAnswer(buildPinning([watchedPool(huge, 1, waitMs), ...others])).map(({ text }) => text);
    expect(said(9.9)).toHaveLength(1);
    expect(said(10)[1]).toBe("No measured way keeps that below 10 ms.");
    expect(said(50, watchedPool(plain, 4, 2))[1]).toBe(
      "With cuMemHostAlloc, they wait up to 2 ms, and it takes 4 s.",
    );
    expect(said(50, watchedPool({ ...huge, pieces: 4 }, 4, 2))[1]).toContain("16 threads (4 GiB each), they");
  });
});

it("huge pages are told of the largest size, and of pools that asked for them", () => {
  const events = (hugePagesRefused: number | null) => ({
    ...{ obtainNs: 1e9, touchNs: 1, registerNs: 1, releaseNs: 1 },
    pageEvents: { compactionStalls: 0, hugePages: 9, hugePagesRefused },
  });
  const pool = (sizeBytes: number, share: number, ...refused: (number | null)[]) =>
    buildPool(huge, [1], { sizeBytes, hugePageShare: share, samples: refused.map(events) });
  const other = buildPool({ ...huge, way: "register" }, [1], { hugePageShare: 0, samples: [events(99)] });
  const notes = hugePageNotes(buildPinning([pool(GiB, 0.1, 50), pool(16 * GiB, 0.5, 7, 3), other]));
  expect(notes.map(({ text }) => text)).toEqual([
    "Huge pages for 16 GiB: at least 50 % of the requested ones; during one pool the kernel refused up to 7, and stopped programs up to 0 times to make room for them.",
  ]);
  expect(hugePageNotes(buildPinning([pool(GiB, 1, null)]))).toEqual([]);
  expect(hugePageNotes(buildPinning([buildUnmeasured(huge, "omitted", "no time")]))).toEqual([]);
});

it("what torch would pin is told without a time if cuMemHostAlloc was not timed", () => {
  const torchRounding = { sizeBytes: 3 * GiB, pinnedBytes: 4 * GiB, extraNs: null };
  expect(torchNotes(buildPinning([], { torchRounding }))[0]!.text).toContain(": 1 GiB more memory. PYTORCH");
  expect(
    torchNotes(buildPinning([], { torchRounding: { ...torchRounding, extraNs: 2e9 } }))[0]!.text,
  ).toContain("1 GiB more memory and about 2 s.");
});

it("a program as a file is that of its language, or says that there is none", () => {
  const { code } = buildPinning().recommendation!;
  const none = buildPinning([], {});
  expect(["c", "python"].map((format) => drawn(pinningKind, buildPinning(), format))).toEqual([
    code.c,
    code.python,
  ]);
  expect(["c", "python"].map((format) => drawn(pinningKind, none, format))).toEqual([
    "/* pinbench pin found no way to recommend. */\n",
    "# pinbench pin found no way to recommend.\n",
  ]);
});
