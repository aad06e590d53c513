import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BisectionOptions, largestAmount } from "../../src/pools/largest-amount.js";
import { trialSeed } from "../helpers/trials.js";

const MiB = 1024 ** 2;

/** What is found on a machine that gives `limit` at most, and which amounts were tried for it. */
async function search(limit: number, more: Partial<BisectionOptions> = {}) {
  const tried: number[] = [];
  const found = await largestAmount({
    refusedBytes: 1024 * MiB,
    knownBytes: 0,
    unitBytes: 2 * MiB,
    mostTries: 20,
    ...more,
    tryAmount: async (bytes) => {
      tried.push(bytes);
      return bytes <= limit;
    },
  });
  return { found, tried };
}

describe("the largest amount", () => {
  it("is found to the unit where there are tries enough", async () => {
    expect(await search(700 * MiB)).toMatchObject({ found: 700 * MiB });
    expect(await search(700 * MiB + 5)).toMatchObject({ found: 700 * MiB });
    expect(await search(2 * MiB)).toMatchObject({ found: 2 * MiB });
  });

  it("is nothing where not even one unit is given, which is asked first", async () => {
    expect(await search(0)).toEqual({ found: 0, tried: [2 * MiB] });
  });

  it("is known to a part of what was refused where tries are few", async () => {
    const { found, tried } = await search(700 * MiB, { mostTries: 5 });
    expect(tried).toHaveLength(5);
    expect(found).toBeLessThanOrEqual(700 * MiB);
    expect(found).toBeGreaterThan(700 * MiB - (1024 * MiB) / 2 ** 4);
  });

  it("is looked for above what is known", async () => {
    const { found, tried } = await search(700 * MiB, { knownBytes: 512 * MiB });
    expect(found).toBe(700 * MiB);
    expect(Math.min(...tried)).toBeGreaterThan(512 * MiB);
  });

  it("is nothing without a try where a single unit was refused", async () => {
    expect(await search(0, { refusedBytes: 2 * MiB })).toEqual({ found: 0, tried: [] });
  });

  it("is always one that was tried or known, never what was refused or more, in as few tries as allowed", async () => {
    const units = fc.integer({ min: 1, max: 100_000 });
    await fc.assert(
      fc.asyncProperty(
        units,
        units,
        units,
        fc.integer({ min: 1, max: 30 }),
        async (refused, limit, known, mostTries) => {
          const refusedBytes = (refused + 1) * 4096;
          const limitBytes = Math.min(limit, refused) * 4096;
          const knownBytes = known * 4096 <= limitBytes ? known * 4096 : 0;
          const { found, tried } = await search(limitBytes, {
            refusedBytes,
            knownBytes,
            mostTries,
            unitBytes: 4096,
          });
          expect(tried.length).toBeLessThanOrEqual(mostTries);
          expect([0, knownBytes, ...tried]).toContain(found);
          expect(found).toBeLessThanOrEqual(limitBytes);
          expect(tried.filter((bytes) => bytes >= refusedBytes)).toEqual([]);
          if (mostTries >= 18) expect(found).toBe(limitBytes);
        },
      ),
      { seed: trialSeed, numRuns: 200 },
    );
  });

  it("is not told where a try cannot be made", async () => {
    const tryAmount = () => Promise.reject(new Error("the device is gone"));
    await expect(
      largestAmount({ refusedBytes: 64, knownBytes: 0, unitBytes: 1, mostTries: 9, tryAmount }),
    ).rejects.toThrow("the device is gone");
  });
});
