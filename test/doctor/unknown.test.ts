import fc from "fast-check";
import { expect, it } from "vitest";
import { type DeviceChange, examinationOf, otherProgram, rates } from "../helpers/examination.js";
import { runs } from "../helpers/hostile.js";
import { machineTree } from "../helpers/machine-tree.js";
import { foundIn } from "./cause-case.js";

it("unknown facts lead to no finding with NaN, null, undefined or an impossible cost", () => {
  const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
  const rate = orNull(fc.constantFrom(0, 1e-6, 0.4, 13.9, 44, 55.5, 61, 370));
  const anyRates = fc.tuple(rate, rate).map(([h2d, d2h]) => rates(h2d, d2h));
  const anyHealth = fc.record(
    {
      link: orNull(
        fc.record({
          generation: orNull(fc.integer({ min: 0, max: 9 })),
          width: orNull(fc.constantFrom(0, 1, 4, 16)),
          maxGeneration: orNull(fc.constantFrom(3, 5)),
          maxWidth: orNull(fc.constantFrom(8, 16)),
          smClockMHz: orNull(fc.nat()),
          memoryClockMHz: orNull(fc.nat()),
        }),
      ),
      cardMaxGeneration: orNull(fc.constantFrom(3, 6)),
      replays: orNull(fc.nat()),
      clockReasons: orNull(fc.subarray(["gpu-idle", "sw-power-cap", "hw-thermal-slowdown", "new-reason"])),
      maxSmClockMHz: orNull(fc.nat()),
      temperatureC: orNull(fc.nat()),
      powerWatts: orNull(fc.nat()),
      powerLimitWatts: orNull(fc.nat()),
      eccErrors: orNull(fc.nat()),
      retirementPending: orNull(fc.boolean()),
      migEnabled: orNull(fc.boolean()),
      confidentialComputing: orNull(fc.boolean()),
      c2cLinks: orNull(fc.nat(2)),
    },
    { requiredKeys: [] },
  );
  const anyChange = fc.record({
    health: anyHealth,
    before: anyHealth,
    after: anyHealth,
    measured: fc.record(
      {
        pinned: anyRates,
        pageable: anyRates,
        registered: fc.record({ rates: anyRates, refused: orNull(fc.constant("refused")) }),
        together: orNull(anyRates),
        bothWays: anyRates,
        hostShare: fc.record({ h2d: orNull(fc.constantFrom(0, 1)), d2h: orNull(fc.constantFrom(0, 1)) }),
        nodes: fc.array(fc.record({ node: fc.nat(2), rates: anyRates }), { maxLength: 3 }),
        latency: orNull(fc.constant({ backToBackUs: 8, afterRestUs: 500 })),
      },
      { requiredKeys: [] },
    ),
    other: fc.record(
      {
        expected: anyRates,
        reference: fc.constant(null),
        others: orNull(fc.constant([otherProgram({ pid: null, name: null })])),
        correctableErrors: orNull(fc.nat()),
        limitGBps: orNull(fc.constantFrom(3.9, 63)),
        activityBefore: fc.constant(null),
      },
      { requiredKeys: [] },
    ),
  });
  const root = machineTree({ "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n" });
  fc.assert(
    fc.property(anyChange, (change) => {
      for (const finding of foundIn(examinationOf(root, change as DeviceChange, { devices: 2 }))) {
        const text = [finding.summary, ...finding.evidence, finding.fix ?? ""].join("\n");
        expect(text).not.toMatch(/\bNaN\b|undefined|\bnull\b|Infinity|\[object| {2}|: ?\n|: $/);
        expect(finding.cost?.gigabytesPerSecond ?? 1).toBeGreaterThan(0);
        expect(Number.isFinite(finding.cost?.gigabytesPerSecond ?? 1)).toBe(true);
      }
    }),
    runs(50),
  );
});
