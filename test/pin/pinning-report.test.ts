import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { visibleWidth } from "../../src/draw/terminal/terminal-text.js";
import type { Pinning } from "../../src/pin/pinning-document.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { drawn } from "../helpers/drawn.js";
import { buildPinning, buildPool, buildUnmeasured, h200Pools } from "../helpers/pinning.js";

const GiB = 1024 ** 3;
const hugetlb = { way: "register-hugetlb", pieces: 1, threads: 1 } as const;
const tooFew =
  "hugetlbfs has too few free pages: root writes their number, 512 for each GiB, to /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

/** As on an H200. */
const usual = buildPinning([
  ...h200Pools.map((pool) =>
    buildPool(
      pool,
      [0, 1, 2].map((i) => (pool.obtain!.median / 16e9) * (1 + i / 100)),
      { sizeBytes: GiB },
    ),
  ),
  { ...buildUnmeasured(hugetlb, "refused", tooFew), sizeBytes: GiB },
  ...h200Pools,
  { ...buildUnmeasured(hugetlb, "omitted", "1 GiB was refused") },
]);

/** A machine that pins little and registers nothing, another program beside it, and an interrupt. */
const limited = (() => {
  const [one, pieces, ...others] = h200Pools;
  const pools = [
    buildPool(one!, [0.49, 0.5, 0.51], { sizeBytes: GiB }),
    buildUnmeasured(one!, "refused", "cuMemHostAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory)"),
    buildUnmeasured(pieces!, "omitted", "it would take about 11.8 s, and 3.05 s was left"),
    ...others.map((shape) => buildUnmeasured(shape, "omitted", "interrupted before")),
  ];
  const oom = { code: "CUDA_ERROR_OUT_OF_MEMORY", message: "out of memory" };
  return buildPinning(pools, {
    status: "aborted",
    limits: [
      {
        ...{ way: "host-alloc", pieces: 1, threads: 1 },
        ...{ largestBytes: 7.5 * GiB, refusedBytes: 7.515625 * GiB, error: oom },
        reason: "Windows lets WSL pin only a part of the machine's memory, about half of it",
      },
      {
        ...{ way: "register", pieces: 1, threads: 1 },
        ...{
          largestBytes: 0,
          refusedBytes: GiB / 512,
          error: { code: "CUDA_ERROR_NOT_SUPPORTED", message: "no" },
        },
        reason: "the driver registers no memory of programs here",
      },
    ],
    others: ["device 0 was not measured alone: python3 (pid 4711) used it as well"],
    omitted: ["a pool of 32 GiB: above the limit of 16 GiB (half of the 32 GiB of memory available)"],
    labels: { rack: "7" },
  });
})();

/** Without the programs, whose lines are not broken. */
const withoutCode = (pinning: Pinning, columns: number, more = {}) =>
  drawn(pinningKind, pinning, "table", fileScreen({ columns, ...more })).replace(/\nIn C, for .*/s, "");

describe.each([
  ["pin", usual],
  ["pin-limited", limited],
] as const)("the text of %s", (name, pinning) => {
  it.each([60, 80])("is as it was looked at in %i columns, and no wider", async (columns) => {
    const text = withoutCode(pinning, columns);
    await expect(text).toMatchFileSnapshot(`snapshots/${name}-${columns}.txt`);
    expect(text.split("\n").filter((line) => visibleWidth(line) > columns)).toEqual([]);
  });

  it("is as it was looked at in ASCII, and for awk", async () => {
    const ascii = withoutCode(pinning, 80, { isAscii: true });
    expect(ascii).toMatch(/^[\x20-\x7e\n]*$/);
    await expect(ascii).toMatchFileSnapshot(`snapshots/${name}-ascii.txt`);
    await expect(withoutCode(pinning, 80, { isPlain: true })).toMatchFileSnapshot(
      `snapshots/${name}-plain.txt`,
    );
  });

  it("is as it was looked at in Markdown and CSV", async () => {
    const screen = fileScreen();
    await expect(drawn(pinningKind, pinning, "markdown", screen)).toMatchFileSnapshot(`snapshots/${name}.md`);
    await expect(drawn(pinningKind, pinning, "csv", screen)).toMatchFileSnapshot(`snapshots/${name}.csv`);
  });
});

/** Another process watched while 20 GiB are obtained, on a machine whose memory is in pieces. */
const watched = (() => {
  const sizeBytes = 20 * GiB;
  const pool = (pieces: number, seconds: number, stallMs: number) =>
    buildPool({ way: "register-huge", pieces, threads: 16 }, [seconds, seconds], {
      ...{ sizeBytes, hugePageShare: 0.8 },
      samples: [0, 60].map((compactionStalls) => ({
        ...{ obtainNs: seconds * 1e9, touchNs: seconds * 7e8, registerNs: seconds * 3e8, releaseNs: 2e8 },
        pageEvents: { compactionStalls, hugePages: 8192, hugePagesRefused: 2048 },
      })),
      stalls: [
        { call: "memory-info", answers: 700, longestNs: stallMs * 1e6, stalledShare: 0.41 },
        { call: "nvml-memory", answers: 700, longestNs: stallMs * 0.9e6, stalledShare: 0.4 },
        { call: "small-copy", answers: 1100, longestNs: 0.15e6, stalledShare: 0 },
      ],
    });
  const plain = buildPool({ way: "host-alloc", pieces: 1, threads: 1 }, [9], { sizeBytes });
  const stalls = [{ call: "memory-info" as const, answers: 1000, longestNs: 0.2e6, stalledShare: 0 }];
  return buildPinning([plain, pool(1, 0.8, 310), pool(80, 1.1, 8.2), pool(320, 2.1, 3.4)], {
    quietStalls: stalls,
    torchRounding: { sizeBytes, pinnedBytes: 32 * GiB, extraNs: 5.4e9 },
  });
})();

it("the effect on another process, huge pages and what torch would pin are reported", async () => {
  await expect(withoutCode(watched, 100)).toMatchFileSnapshot("snapshots/pin-stalls-100.txt");
  const all = { ...watched, pools: watched.pools.map((pool) => ({ ...pool, hugePageShare: 1 })) };
  expect(withoutCode(all, 200)).toContain(
    "Huge pages for 20 GiB: all of the requested ones; during one pool",
  );
  const bearable = { ...watched, pools: watched.pools.filter(({ pieces }) => pieces === 320) };
  expect(withoutCode(bearable, 200)).toContain("=> Calls of another process wait up to 3.4 ms meanwhile");
  const busy = watched.quietStalls!.map((stall) => ({ ...stall, longestNs: 9e9 }));
  expect(withoutCode({ ...watched, quietStalls: busy }, 200)).toMatch(
    /\(with nothing pinned: 9 s\): pinning is not the cause\.\n(?!=> (With|No measured way))/,
  );
  const unbearable = { ...watched, pools: watched.pools.filter(({ pieces }) => pieces === 1) };
  expect(withoutCode(unbearable, 200)).toContain("=> No measured way keeps that below 10 ms.");
});

it("the node of the pools' pages is reported on a machine with several, with what lies elsewhere", () => {
  const linesOf = (numaNode: number | null, ...pages: { node: number; pages: number }[][]) => {
    const pools = pages.map((pagesOfNode, i) =>
      buildPool({ way: "register", pieces: i + 1, threads: 4 }, [1], { pagesOfNode }),
    );
    const plain = buildPinning(pools);
    return withoutCode({ ...plain, machine: { ...plain.machine, numaNode } }, 200);
  };
  const [there, partly] = [
    [{ node: 1, pages: 100 }],
    [
      { node: 1, pages: 60 },
      { node: 0, pages: 40 },
    ],
  ];
  expect(linesOf(null, there)).not.toContain("Pages");
  expect(linesOf(null, partly)).toMatch(
    /Pages +60 % of register in 1 piece on node 1; 40 % of register in 1 piece on node 0\n/,
  );
  expect(linesOf(1, there, there)).toMatch(/Pages +on NUMA node 1\n/);
  expect(linesOf(1, there, partly)).toMatch(/Pages +40 % of register in 2 pieces on node 0\n/);
  expect(linesOf(1, [])).toMatch(/Pages +their NUMA node is not known\n/);
});

it("limits are reported for memory in one piece and in several", () => {
  const refused = h200Pools.map((pool) => buildUnmeasured(pool, "refused", "out of memory"));
  const error = { code: "CUDA_ERROR_OUT_OF_MEMORY", message: "out of memory" };
  const limit = (way: "host-alloc" | "register", pieces: number, largestBytes: number) => ({
    ...{ way, pieces, threads: pieces, largestBytes, error },
    ...{ refusedBytes: largestBytes + GiB / 8, reason: "not known" },
  });
  const limits = [
    limit("host-alloc", 4, 32 * GiB),
    limit("host-alloc", 1, 8 * GiB),
    limit("register", 1, 0),
    limit("register", 4, 0),
  ];
  const text = withoutCode(buildPinning([h200Pools[0]!, ...refused.slice(1)], { limits }), 200);
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    "Not all can be obtained: less than 32.2 GiB by host-alloc in 4 pieces, less than 8.13 GiB by host-alloc in one piece and none by register.",
  );
});

it("the answer stands first: what to do, what it takes, and how much sooner that is", () => {
  const [, answer] = /=> (.*?)\n=>/s.exec(withoutCode(usual, 200)) ?? [];
  expect(answer).toBe(
    "Obtain 16 GiB of pinned memory by huge pages, registered, touched by 16 threads: it is there in 600 ms, 13×\n   as fast as cuMemHostAlloc (7.87 s).",
  );
});

it("programs stand below, as they are, also if lines are narrower", () => {
  const text = drawn(pinningKind, usual, "table", fileScreen({ columns: 60 }));
  const { c, python } = usual.recommendation!.code;
  expect(text).toContain(`In C, for the CUDA runtime:\n\n${c}`);
  expect(text).toContain(`In Python, for torch:\n\n${python}`);
});

it("if nothing can be had, or was measured, there is no program", () => {
  const refused = buildPinning([buildUnmeasured(hugetlb, "refused", tooFew)]);
  expect(drawn(pinningKind, refused, "table", fileScreen())).toMatch(
    /=> None of the tried ways gave pinned memory/,
  );
  const cut = buildPinning([buildUnmeasured(hugetlb, "omitted", "interrupted before")], {
    status: "aborted",
  });
  const text = drawn(pinningKind, cut, "table", fileScreen());
  expect(text).toMatch(/=> Nothing was measured\./);
  const late = buildPinning([buildUnmeasured(hugetlb, "omitted", "no time was left")]);
  expect(drawn(pinningKind, late, "table")).toContain("=> Nothing was measured: no time was left.");
  expect(text).not.toContain("In C");
  expect(drawn(pinningKind, cut, "markdown", fileScreen())).not.toContain("```");
});

it("names of hosts and devices are shown and not obeyed", () => {
  const hostile = { ...usual, host: "node\u001b[2J", device: { ...usual.device, name: "H200\u202e" } };
  const text = drawn(pinningKind, hostile, "table", fileScreen());
  expect(text).toContain("node\\x1b[2J");
  expect(text).toContain("H200\\u202e");
  expect(drawn(pinningKind, hostile, "csv", fileScreen())).toContain("node\\x1b[2J");
});
