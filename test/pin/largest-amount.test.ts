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

const known = (knownMiB: number, more: Partial<BisectionOptions> = {}) => ({
  ...{ knownBytes: knownMiB * MiB, ...more },
});
const noTime = { mayTry: () => false };

/** In MiB: what the machine gives, what is found and refused, and what is tried for it, if that is known. */
type Row = [string, number, Partial<BisectionOptions>, number | undefined, number | undefined, number[]?];

describe("the largest amount of memory that a machine grants", () => {
  it.each<Row>([
    ["to the unit, with enough tries", 700, {}, 700, 702],
    ["to the unit below, if the limit is between two units", 701, {}, 700, 702],
    ["to be a single unit", 2, {}, 2, 4],
    ["to be nothing after one unit was refused", 0, {}, 0, 2, [2]],
    ["to be nothing without a try if one unit was refused before", 0, { refusedBytes: 2 * MiB }, 0, 2, []],
    ["only roughly, in five tries", 700, { mostTries: 5 }, 640, 704, [2, 512, 768, 640, 704]],
    ["as precisely as the time allows", 700, { mayTry: (bytes) => bytes < 600 * MiB }, 512, 1024, [2, 512]],
    ["not at all without time for a try", 700, noTime, undefined, undefined, []],
    ["to be the known amount without time for a try", 700, known(64, noTime), 64, 1024, []],
    ["to be the known amount if that is less than a unit", 700, known(1, noTime), 1, 1024, []],
    ["above the known amount", 700, known(512), 700, 702],
    ["from a known amount that is no whole number of units", 65, known(65), 65, 66],
    ["a unit below the refused amount", 62, known(62, { refusedBytes: 64 * MiB }), 62, 64, []],
  ])("is found %s", async (_, limit, more, found, refused, tried) => {
    const all = await search(limit * MiB, more);
    const inMiB = (bytes?: number) => bytes && bytes / MiB;
    expect([inMiB(all.found), inMiB(all.refused)]).toEqual([found, refused]);
    if (tried !== undefined) expect(all.tried.map(inMiB)).toEqual(tried);
    expect(Math.min(...all.tried)).toBeGreaterThan(more.knownBytes ?? 0);
  });

  it("was always granted before, is below each refused amount, and takes at most the allowed tries", async () => {
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
});
