import { expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import { hugePageNotes, neighbourAnswer } from "../../src/pin/neighbour-report.js";
import type { PinnedPool } from "../../src/pin/pinning-document.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { drawn } from "../helpers/drawn.js";
import { buildPinning, buildPool, buildUnmeasured } from "../helpers/pinning.js";

/* Which of several figures the results tell of. */

const huge = (threads: number, more: Partial<PinnedPool> = {}) =>
  buildPool({ way: "register-huge", pieces: 1, threads }, [1], more);
const stallsOf = (...longestMs: number[]): NonNullable<PinnedPool["stalls"]> =>
  longestMs.map((ms, i) => ({
    call: (["memory-info", "nvml-memory"] as const)[i]!,
    answers: 9,
    longestNs: ms * 1e6,
    stalledShare: ms / 1000,
  }));

function cellsOf(pool: PinnedPool): Record<string, unknown> {
  const [names, cells] = pinningKind.rows!(buildPinning([pool]));
  return Object.fromEntries(names!.map((name, i) => [name, cells![i]]));
}

it("the parts of a time are those of the sample next to the median, the earlier one of two", () => {
  const [first, second] = [1e9, 3e9].map((obtainNs) => ({
    ...{ obtainNs, touchNs: obtainNs / 2, registerNs: obtainNs / 4, releaseNs: 1 },
  }));
  const obtain = { median: 2e9, least: 1e9, most: 3e9 };
  expect(cellsOf(huge(4, { obtain, samples: [first!, second!] }))).toMatchObject({ touch_ns: 0.5e9 });
  expect(cellsOf(huge(4, { obtain, samples: [second!, first!] }))).toMatchObject({ touch_ns: 1.5e9 });
});

it("a stall is that of the call that waited most", () => {
  const longest = { longest_stall_ns: 500e6, stalled_share: 0.5 };
  expect(cellsOf(huge(4, { stalls: stallsOf(100, 500) }))).toMatchObject(longest);
  expect(cellsOf(huge(4, { stalls: stallsOf(500, 100) }))).toMatchObject(longest);
});

it("refused pools in pieces are told apart from a limit of one piece", () => {
  const reason = "out of memory";
  const shape = { way: "register", pieces: 4, threads: 4 } as const;
  const limit = {
    ...({ way: "register", pieces: 1, threads: 4, largestBytes: 2 ** 30, refusedBytes: 2 ** 31 } as const),
    ...{ error: { code: "CUDA_ERROR_OUT_OF_MEMORY", message: reason }, reason: "not known" },
  };
  const toldOf = (pieces: number) => {
    const pools = [huge(1), buildUnmeasured({ ...shape, pieces }, "refused", reason)];
    return drawn(
      pinningKind,
      buildPinning(pools, { limits: [limit] }),
      "markdown",
      fileScreen({ columns: 200 }),
    );
  };
  expect(toldOf(4)).toContain(`register/pieces-4/threads-4`);
  expect(toldOf(4)).toMatch(/refused[^"]*: out of memory|refused: [^"]*out of memory/);
  expect(toldOf(1)).not.toMatch(/refused[^"]*: out of memory|refused: [^"]*out of memory/);
});

it("another process waits as long as it does for the recommended pool, not for one of other threads", () => {
  const pools = [huge(1, { stalls: stallsOf(3) }), huge(4, { stalls: stallsOf(5) })];
  const pinning = buildPinning(pools);
  const saidOf = (threads: number, quietMs = 0) =>
    neighbourAnswer({
      ...pinning,
      recommendation: { ...pinning.recommendation!, threads },
      quietStalls: stallsOf(quietMs),
    })[0]!.text;
  expect(saidOf(1)).toContain("wait up to 3 ms");
  expect(saidOf(4)).toContain("wait up to 5 ms");
});

it("pinning is not the cause of waits that are as long without it", () => {
  const saidOf = (quietMs: number) =>
    neighbourAnswer(buildPinning([huge(4, { stalls: stallsOf(50) })], { quietStalls: stallsOf(quietMs) }))
      .map(({ text }) => text)
      .join(" ");
  expect(saidOf(50)).toContain("pinning is not the cause");
  expect(saidOf(49)).not.toContain("pinning is not the cause");
});

it.each([
  [[1, 0.5], 0, 0, /at least 50 % .*refused none/, "muted"],
  [[0.5, 1], 0, 3, /at least 50 % .*refused up to 0, and stopped programs up to 3 times/, "warning"],
  [[1, 0.004], 0, 0, /at least 0\.4 % /, "muted"],
  [[1, 1], 2, 0, /: all .*refused up to 2/, "warning"],
] as const)("of huge pages the least share is told: %j", (shares, hugePagesRefused, stalls, text, tone) => {
  const pageEvents = { compactionStalls: stalls, hugePages: 9, hugePagesRefused };
  const pools = shares.map((hugePageShare, i) => {
    const pool = huge(i + 1, { hugePageShare });
    return { ...pool, samples: pool.samples.map((sample) => ({ ...sample, pageEvents })) };
  });
  expect(hugePageNotes(buildPinning(pools))).toMatchObject([{ text: expect.stringMatching(text), tone }]);
});
