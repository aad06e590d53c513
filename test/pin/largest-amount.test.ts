import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BisectionOptions, largestAmount } from "../../src/pin/refusal-reason.js";
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
    mayTry: () => true,
    ...more,
    tryAmount: async (bytes) => {
      tried.push(bytes);
      return bytes <= limit;
    },
  });
  return { found: found?.largestBytes, refused: found?.refusedBytes, tried };
}

describe("the largest amount", () => {
  it("is found to the unit if there are tries enough", async () => {
    expect(await search(700 * MiB)).toMatchObject({ found: 700 * MiB, refused: 702 * MiB });
    expect(await search(700 * MiB + 5)).toMatchObject({ found: 700 * MiB });
    expect(await search(2 * MiB)).toMatchObject({ found: 2 * MiB });
  });

  it("is nothing if not even one unit is given, which is asked first", async () => {
    expect(await search(0)).toEqual({ found: 0, refused: 2 * MiB, tried: [2 * MiB] });
  });

  it("is known to a part of what was refused if tries are few", async () => {
    const { found, tried } = await search(700 * MiB, { mostTries: 5 });
    expect(tried).toHaveLength(5);
    expect(found).toBeLessThanOrEqual(700 * MiB);
    expect(found).toBeGreaterThan(700 * MiB - (1024 * MiB) / 2 ** 4);
  });

  it("is known as far as the time went, and not told where that was not a single try", async () => {
    const { found, refused, tried } = await search(700 * MiB, { mayTry: (bytes) => bytes < 600 * MiB });
    expect({ found, refused, tried }).toEqual({
      found: 512 * MiB,
      refused: 1024 * MiB,
      tried: [2 * MiB, 512 * MiB],
    });
    expect(await search(700 * MiB, { mayTry: () => false })).toEqual({
      found: undefined,
      refused: undefined,
      tried: [],
    });
    expect(await search(700 * MiB, { knownBytes: 64 * MiB, mayTry: () => false })).toMatchObject({
      found: 64 * MiB,
    });
  });

  it("is looked for above what is known", async () => {
    const { found, tried } = await search(700 * MiB, { knownBytes: 512 * MiB });
    expect(found).toBe(700 * MiB);
    expect(Math.min(...tried)).toBeGreaterThan(512 * MiB);
    // What is known need not be of whole units.
    expect(await search(65 * MiB, { knownBytes: 65 * MiB })).toMatchObject({
      found: 65 * MiB,
      refused: 66 * MiB,
    });
  });

  it("is nothing without a try if a single unit was refused", async () => {
    expect(await search(0, { refusedBytes: 2 * MiB })).toEqual({ found: 0, refused: 2 * MiB, tried: [] });
  });

  it("is what is known, less than a unit, if there is no time to try one", async () => {
    expect(await search(700 * MiB, { knownBytes: MiB, mayTry: () => false })).toEqual({
      found: MiB,
      refused: 1024 * MiB,
      tried: [],
    });
  });

  it("is not tried again where what is known and what was refused are a unit apart", async () => {
    const known = { knownBytes: 62 * MiB, refusedBytes: 64 * MiB };
    expect(await search(62 * MiB, known)).toEqual({ found: 62 * MiB, refused: 64 * MiB, tried: [] });
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
          const {
            found,
            refused: least,
            tried,
          } = await search(limitBytes, {
            refusedBytes,
            knownBytes,
            mostTries,
            unitBytes: 4096,
          });
          expect(tried.length).toBeLessThanOrEqual(mostTries);
          expect([0, knownBytes, ...tried]).toContain(found);
          expect(found).toBeLessThanOrEqual(limitBytes);
          expect([refusedBytes, ...tried]).toContain(least);
          expect(least).toBeGreaterThan(limitBytes);
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
      largestAmount({
        refusedBytes: 64,
        knownBytes: 0,
        unitBytes: 1,
        mostTries: 9,
        mayTry: () => true,
        tryAmount,
      }),
    ).rejects.toThrow("the device is gone");
  });
});
