import fc from "fast-check";
import { expect, it } from "vitest";
import { trialSeed } from "../helpers/trials.js";
import { errorOf, GiB, h200, KiB, MiB, planOf } from "./support.js";

it("a plan names its preset only if the preset decided at least one axis", () => {
  const request = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
  expect(planOf(request).preset).toBeNull();
  for (const open of Object.keys(request)) {
    expect(planOf({ ...request, [open]: null }).preset, open).toBe("default");
  }
});

/** Requests of every kind, each list in any order and with repetitions. */
const listOf = <const Value>(...values: Value[]) =>
  fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 4 });
const anyRequest = fc.record({
  sizesBytes: listOf(KiB, 3 * KiB, MiB, 5 * MiB, 64 * MiB, 300 * MiB, 2 * GiB),
  workers: listOf(1, 2, 3, 8),
  memory: listOf("pageable", "staged", "pinned", "mapped", "registered"),
  directions: listOf("h2d", "d2h", "bidir"),
  caches: listOf("cold", "warm"),
  workerKinds: listOf("thread", "process"),
});

it("a plan never exceeds its limits; a request that does not fit is refused, never changed", () => {
  const machine = fc.record({
    memoryAvailableBytes: fc.integer({ min: 64 * MiB, max: 256 * GiB }),
    ...{ freeMemoryBytes: fc.integer({ min: 64 * MiB, max: 139 * GiB }), emulated: fc.boolean() },
  });
  const planned = { fits: 0, refused: 0 };
  fc.assert(
    fc.property(anyRequest, machine, (request, { freeMemoryBytes, ...facts }) => {
      const changes = { ...facts, devices: [{ ...h200, freeMemoryBytes }] };
      let fitting: ReturnType<typeof planOf>;
      try {
        fitting = planOf(request, changes);
      } catch (error) {
        expect(error).toMatchObject({ kind: "limit" });
        ++planned.refused;
        return;
      }
      ++planned.fits;
      const { hostBytes, pinnedBytes, deviceBytes } = fitting.need;
      expect(pinnedBytes).toBeLessThanOrEqual(facts.memoryAvailableBytes / 4);
      expect(hostBytes + (facts.emulated ? deviceBytes : 0)).toBeLessThanOrEqual(
        0.8 * facts.memoryAvailableBytes,
      );
      expect(deviceBytes).toBeLessThanOrEqual(0.9 * freeMemoryBytes);
      const most = { memoryAvailableBytes: 1024 * GiB, devices: [{ ...h200, freeMemoryBytes: 140 * GiB }] };
      expect(planOf(request, { ...changes, ...most }).need).toMatchObject({ hostBytes, pinnedBytes });
    }),
    { seed: trialSeed, numRuns: 80 },
  );
  expect(Math.min(planned.fits, planned.refused)).toBeGreaterThan(10);
});

it("a plan does not depend on the order or the repetition of requested values", () => {
  const device = { ...h200, totalMemoryBytes: 1024 * GiB, freeMemoryBytes: 1024 * GiB };
  const machine = { memoryAvailableBytes: 4096 * GiB, devices: [device] };
  fc.assert(
    fc.property(anyRequest, (request) => {
      const turned = Object.fromEntries(
        Object.entries(request).map(([key, values]) => [key, [...values, ...values].reverse()]),
      );
      const plans = [request, turned].map((given) => {
        const { settings: _, ...plan } = planOf(given as typeof request, machine);
        return plan;
      });
      expect(plans[1]).toEqual(plans[0]);
    }),
    { seed: trialSeed, numRuns: 30 },
  );
});

it("a plan may use its limits up to the last byte", () => {
  const request = {
    sizesBytes: [MiB],
    workers: [1],
    memory: ["pageable"],
    directions: ["h2d"],
    caches: ["warm"],
  } as const;
  const { hostBytes, deviceBytes } = planOf(request).need;
  const fits = (hostShort: number, deviceShort: number) => {
    const freeMemoryBytes = deviceBytes / 0.9 - deviceShort;
    const facts = {
      memoryAvailableBytes: hostBytes / 0.8 - hostShort,
      devices: [{ ...h200, freeMemoryBytes }],
    };
    return planOf({ ...request, maxPinnedBytes: 0 }, facts).cells.length > 0;
  };
  expect(fits(-1, -1)).toBe(true);
  expect(errorOf(() => fits(3, -1)).message).toContain("above 80 %");
  expect(errorOf(() => fits(-1, 3)).message).toContain("above 90 %");
});

it("a plan notes which sizes and numbers of workers its limits leave out", () => {
  const changes = { memoryAvailableBytes: GiB / 4, lastLevelCacheBytes: 16 * MiB };
  expect(planOf({}, changes).notes[0]).toMatch(/^Left out 64 MiB and 2, 4 workers, because/);
});
