import { describe, expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { visibleWidth } from "../../src/draw/terminal/terminal-text.js";
import type { PinnedPool, Pinning, PoolShape } from "../../src/pin/pinning-document.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { drawn, reportOf } from "../helpers/drawn.js";
import { buildPinning, buildPool, buildUnmeasured, h200Pools } from "../helpers/pinning.js";

const GiB = 1024 ** 3;
const hugetlb = { way: "register-hugetlb", threads: 1 } as const;
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
  const [one, next, ...others] = h200Pools;
  const pools = [
    buildPool(one!, [0.49, 0.5, 0.51], { sizeBytes: GiB }),
    buildUnmeasured(one!, "refused", "cuMemHostAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory)"),
    buildUnmeasured(next!, "omitted", "it would take about 11.8 s, and 3.05 s was left"),
    ...others.map((shape) => buildUnmeasured(shape, "omitted", "not reached before the end")),
  ];
  const oom = { code: "CUDA_ERROR_OUT_OF_MEMORY", message: "out of memory" };
  return buildPinning(pools, {
    status: "aborted",
    limits: [
      {
        ...{ way: "host-alloc", threads: 1 },
        ...{ largestBytes: 7.5 * GiB, refusedBytes: 7.515625 * GiB, error: oom },
        reason: "Windows lets WSL pin only a part of the machine's memory, about half of it",
      },
      {
        ...{ way: "register", threads: 1 },
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
] as const)("the report of pinbench pin (%s)", (name, pinning) => {
  it.each([60, 80])("matches its snapshot in %i columns, and is no wider", async (columns) => {
    const text = withoutCode(pinning, columns);
    await expect(text).toMatchFileSnapshot(`snapshots/${name}-${columns}.txt`);
    expect(text.split("\n").filter((line) => visibleWidth(line) > columns)).toEqual([]);
  });

  it("matches its snapshot in ASCII", async () => {
    const ascii = withoutCode(pinning, 80, { isAscii: true });
    expect(ascii).toMatch(/^[\x20-\x7e\n]*$/);
    await expect(ascii).toMatchFileSnapshot(`snapshots/${name}-ascii.txt`);
  });

  it("matches its snapshot in Markdown", async () => {
    const screen = fileScreen();
    await expect(drawn(pinningKind, pinning, "markdown", screen)).toMatchFileSnapshot(`snapshots/${name}.md`);
  });
});

/** Calls watched while 1 GiB is pinned in pieces, on a machine whose memory is fragmented. */
const stalls = (longestMs: number, quietMs = 0.1): NonNullable<Pinning["stalls"]> => {
  const calls = (ms: number) => [
    { call: "launch" as const, answers: 700, longestNs: ms * 1e6, stalledShare: ms / 1000 },
    { call: "small-copy" as const, answers: 1100, longestNs: 0.15e6, stalledShare: 0 },
  ];
  const pieces = (["host-alloc", "register"] as const).flatMap((way, i) =>
    [1, 64, 1024].map((size) => ({
      ...{ way, pieceBytes: size * 2 ** 20, bytes: GiB, obtainNs: (5 - i) * 1e8 },
      calls: calls((longestMs * size) / 1024),
    })),
  );
  return { quiet: calls(quietMs), pieces };
};
const fragmented = (() => {
  const sizeBytes = 20 * GiB;
  const huge = buildPool({ way: "register-huge", threads: 16 }, [0.8, 0.8], {
    ...{ sizeBytes, hugePageShare: 0.8 },
  });
  return buildPinning([buildPool({ way: "host-alloc", threads: 1 }, [9], { sizeBytes }), huge], {
    stalls: stalls(310),
    torchRounding: { sizeBytes, pinnedBytes: 32 * GiB, extraNs: 5.4e9 },
  });
})();

it("the report shows how long calls wait, and what torch would pin", async () => {
  await expect(withoutCode(fragmented, 100)).toMatchFileSnapshot("snapshots/pin-stalls-100.txt");
});

const plain = { way: "host-alloc", threads: 1 } as const;
const huge = { way: "register-huge", threads: 16 } as const;
const out = "out of memory";

const pool = (shape: PoolShape, seconds: number, more: Partial<PinnedPool> = {}) =>
  buildPool(shape, [seconds], more);
const left = (outcome: "omitted" | "refused", ...reasons: string[]) =>
  reasons.map((reason, i) => buildUnmeasured({ ...huge, threads: i + 2 }, outcome, reason));

/** Of which the recommended pool is the last. */
const recommended = (...pools: PinnedPool[]) =>
  buildPinning(pools, { recommendation: buildPinning(pools.slice(-1)).recommendation });
const on = (machine: Partial<Pinning["machine"]>, device: Partial<Pinning["device"]> = {}) => {
  const pinning = buildPinning();
  const named = { ...pinning.device, ...device };
  return { ...pinning, machine: { ...pinning.machine, ...machine }, device: named };
};
const withPages = (numaNode: number | null, ...pages: Record<number, number>[]) => {
  const pools = pages.map((ofNodes, i) =>
    pool({ way: "register", threads: i + 1 }, 1, {
      pagesOfNode: Object.entries(ofNodes).map(([node, count]) => ({ node: Number(node), pages: count })),
    }),
  );
  const pinning = buildPinning(pools);
  return { ...pinning, machine: { ...pinning.machine, numaNode } };
};
const limitOf = (
  way: "host-alloc" | "register",
  largestBytes: number,
  refusedBytes = largestBytes + GiB / 8,
) => ({
  ...{ way, threads: 1, largestBytes, refusedBytes, reason: "not known" },
  error: { code: "CUDA_ERROR_OUT_OF_MEMORY", message: out },
});
const rate = (median: number) => ({ median, least: median, most: median });
const memory = (residentBytes: number) => ({
  ...{ residentBytes, pinnedBytes: residentBytes / 2, lockedBytes: residentBytes / 4 },
});
const [first, second] = [1e9, 3e9].map((obtainNs) => ({
  ...{ obtainNs, touchNs: obtainNs / 2, registerNs: obtainNs / 4, releaseNs: 1 },
}));
const obtain = { median: 2e9, least: 1e9, most: 3e9 };
const torch = (extraNs: number | null) =>
  buildPinning([], { torchRounding: { sizeBytes: 3 * GiB, pinnedBytes: 4 * GiB, extraNs } });
const waiting = (...waits: [number, number?]) => buildPinning(undefined, { stalls: stalls(...waits) });
const link = buildPinning().device.link!;
const failed = { code: "CUDA_ERROR_LAUNCH_FAILED", message: "it was lost" };

const situations: [situation: string, pinning: Pinning][] = [
  ["a machine without virtualization", on({ numaNode: 0, virtualization: null })],
  ["an unknown hypervisor", on({ virtualization: "unknown hypervisor" })],
  ["a device without an address", on({}, { pciBusId: null, link: null, ordinal: 2 })],
  ["a link without a width", on({}, { link: { ...link, width: null } })],
  ["a cgroup", on({ cgroupMemoryLimitBytes: 64 * GiB, memlockLimitBytes: null })],
  ["pages of hugetlbfs", on({ transparentHugePages: null, hugetlbFreeBytes: 4 * GiB })],
  ["names that would act on a terminal", { ...on({}, { name: "H200\u202e" }), host: "node\u001b[2J" }],
  ["cuMemHostAlloc is recommended", buildPinning([buildPool(plain, [1, 1, 1])])],
  [
    "a way that takes longer",
    buildPinning(undefined, {
      recommendation: { ...buildPinning().recommendation!, timesAsFast: 0.5, hostAllocNs: 0.3e9 },
    }),
  ],
  ["none was had", buildPinning([buildUnmeasured(hugetlb, "refused", tooFew)])],
  ["interrupted at once", buildPinning(left("omitted", "not reached before the end"), { status: "aborted" })],
  ["no time for any", buildPinning(left("omitted", "no time was left", "no time was left"))],
  ["several reasons", buildPinning(left("omitted", "no time was left", "1 GiB was refused"))],
  ["a failed device", buildPinning(undefined, { status: "failed", error: failed })],
  ["no limit but none", buildPinning(undefined, { limits: [limitOf("register", 0)] })],
  [
    "a limit between two sizes",
    buildPinning(undefined, { limits: [limitOf("register", 8 * GiB - 1, 8 * GiB + 1)] }),
  ],
  [
    "limits of two ways, and a pool refused beyond one",
    buildPinning([h200Pools[0]!, ...h200Pools.slice(1).map((one) => buildUnmeasured(one, "refused", out))], {
      limits: [limitOf("host-alloc", 8 * GiB), limitOf("register", 0)],
    }),
  ],
  ["three refused pools", buildPinning([pool(plain, 1), ...left("refused", out, out, out)])],
  ["four refused pools", buildPinning([pool(plain, 1), ...left("refused", out, out, out, out)])],
  [
    "the recommended pool is the slowest",
    recommended(
      pool(plain, 1, { sizeBytes: GiB }),
      ...[2, 3, 4, 5, 6, 7].map((threads) => pool({ ...huge, threads }, 0.1 * threads)),
      pool(plain, 9),
    ),
  ],
  [
    "rates and memory of their own",
    buildPinning([
      pool(huge, 1, {
        hugePageShare: 0,
        ...{ h2dGigabytesPerSecond: rate(50), d2hGigabytesPerSecond: rate(40) },
        memory: { before: memory(3 * GiB), held: memory(2 * GiB), after: memory(GiB) },
      }),
    ]),
  ],
  ["a time once", buildPinning([pool(plain, 9)])],
  ["times that differ", buildPinning([pool(plain, 9), buildPool(huge, [1, 1, 1.1])])],
  ["times that differ widely", buildPinning([pool(plain, 9), buildPool(huge, [1, 1, 90])])],
  ["two times", buildPinning([pool(huge, 1, { obtain, samples: [first!, second!] })])],
  ["pages anywhere", withPages(null, { 1: 100 })],
  ["pages on two nodes", withPages(null, { 1: 60, 0: 40 })],
  ["pages on the node", withPages(1, { 1: 100 }, { 1: 100 })],
  ["pages elsewhere", withPages(1, { 1: 100 }, { 1: 60, 0: 40 })],
  ["pages that are not known", withPages(1, {})],
  ["what torch would pin, without a time", torch(null)],
  ["what torch would pin, with its time", torch(2e9)],
  ["waits of less than 10 ms for any piece", waiting(9.9)],
  ["waits of 10 ms for the largest piece", waiting(10)],
  ["waits for any piece", waiting(11_000)],
  ["waits with nothing pinned too", waiting(310, 12)],
];

it("the report's words and figures in each situation match their snapshot", async () => {
  const linesOf = (pinning: Pinning) => withoutCode(pinning, 240).split("\n");
  const usually = new Set(linesOf(buildPinning()));
  const texts = situations.map(([situation, pinning]) => {
    return [`# ${situation}`, ...linesOf(pinning).filter((line) => !usually.has(line))].join("\n");
  });
  await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot("snapshots/situations.txt");
});

it("the brief table has the five fastest pools", () => {
  const [, slowest] = situations.find(([situation]) => situation === "the recommended pool is the slowest")!;
  const blocks = reportOf(pinningKind, slowest).brief!.blocks;
  const pools = blocks.flatMap((block) => (block.type === "table" ? [block.grid.rows] : [])).at(-1)!;
  expect(pools.map((row) => row[1]!.text)).toEqual(["2", "3", "4", "5", "6"]);
});

it("programs stand unbroken below the table, however narrow the terminal, and each has a file", () => {
  const text = drawn(pinningKind, usual, "table", fileScreen({ columns: 60 }));
  const files = (pinning: Pinning) => ["c", "python"].map((format) => drawn(pinningKind, pinning, format));
  const [c, python] = files(usual);
  expect(text).toContain(`In C, for the CUDA runtime:\n\n${c}`);
  expect(text).toContain(`In Python, for torch:\n\n${python}`);
  const none = buildPinning([]);
  expect(files(none)).toEqual([
    "/* pinbench pin found nothing to recommend. */\n",
    "# pinbench pin found nothing to recommend.\n",
  ]);
  expect(drawn(pinningKind, none, "markdown", fileScreen())).not.toMatch(/In C|```/);
});

it("programs are made from the recommendation's numbers, whatever text a saved document carries", () => {
  const text = 'int main(void) { return system("true"); }';
  const forged = { ...usual, recommendation: { ...usual.recommendation!, code: { c: text, python: text } } };
  expect(drawn(pinningKind, forged, "c")).toBe(drawn(pinningKind, usual, "c"));
  expect(drawn(pinningKind, forged, "python")).toBe(drawn(pinningKind, usual, "python"));
});
