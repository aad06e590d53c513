import { describe, expect, it } from "vitest";
import { comparisonSchema, type Difference, verdicts } from "../../../src/compare/comparison.js";
import { describeOutcome, describeVerdict } from "../../../src/report/comparison/outcome.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildInconclusive,
  buildMissing,
  buildMixedCells,
  buildSlower,
  type ComparisonPart,
} from "../../helpers/comparison.js";

const outcomeOf = (part: ComparisonPart) => describeOutcome(buildComparison(part));
const same = (count: number) => buildCellComparisons(count);

it("is tested with comparisons that the schema takes", () => {
  for (const part of [{}, { cells: buildMixedCells() }, { backend: "emulated" as const, cells: [] }]) {
    expect(comparisonSchema.parse(buildComparison(part))).toEqual(buildComparison(part));
  }
});

describe("the outcome in one sentence", () => {
  it("counts what the cells are where none is slower", () => {
    expect(outcomeOf({ cells: [...same(57), buildInconclusive(), buildMissing()] })).toBe(
      "no cell was shown to be slower: 1 missing, 1 inconclusive, 57 same",
    );
  });

  it("names the slower cell, its change, and who confirmed it", () => {
    expect(outcomeOf({ outcome: "regression", cells: [...same(59), buildSlower()] })).toBe(
      "1 of 60 cells is slower: D2H pinned 16 MiB x1 −9.9 % (−10.2 to −9.5 %); " +
        "confirmed by 5 fresh processes",
    );
    expect(outcomeOf({ outcome: "regression", cells: [buildSlower({ confirmedBy: 1 })] })).toMatch(
      /^1 of 1 cell is slower: .*; confirmed by 1 fresh process$/,
    );
  });

  it("names of several the one that lost most, throughput and latency alike", () => {
    const slowLatency = buildSlower({ mode: "latency", sizeBytes: 4096, baseline: 3.5, change: 0.3 });
    const cells = [buildSlower(), slowLatency, buildSlower({ workers: 4, change: -0.2 })];
    expect(outcomeOf({ outcome: "regression", cells })).toContain(
      "3 of 3 cells are slower, most of all D2H pinned 4 KiB x1 latency +30.0 % (+29.7 to +30.3 %)",
    );
  });

  it("says of the host's memory what it does to the copies that were measured, and not more", () => {
    const host = [1, 2].map((workers) =>
      buildSlower({ memory: "host", workers, change: -0.15, verdict: "slower" }),
    );
    const sentenceOf = (...cells: ReturnType<typeof buildSlower>[]) =>
      outcomeOf({ outcome: "regression", cells: [...host, ...cells] });
    const pageable = buildInconclusive();
    expect(sentenceOf(pageable, ...same(1))).toBe(
      "host memory is 15.0 % slower than in the baseline: pageable copies suffer from it, the link does not",
    );
    expect(sentenceOf(pageable, buildInconclusive({ memory: "pinned" }))).toBe(
      "host memory is 15.0 % slower than in the baseline: pageable copies suffer from it",
    );
    const strict = { outcome: "regression", rule: { strict: true } } as const;
    expect(outcomeOf({ ...strict, cells: [{ ...host[0]!, verdict: "unsteady" }] })).toMatch(
      /^1 of 1 cell is unsteady: D2H host /,
    );
  });

  it("begins with the other machine, of which a regression may be", () => {
    const differ = (fact: string, more = {}) => ({
      ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled: false, ...more },
    });
    const other = { isOtherMachine: true as const };
    const cells = [...same(59), buildSlower()];
    const regressionWith = (...differences: Difference[]) =>
      outcomeOf({ outcome: "regression", cells, differences });
    expect(regressionWith(differ("host name"), differ("GPU UUID", other))).toMatch(
      /^on another machine \(host a → b, another GPU\): 1 of 60 cells is slower: /,
    );
    expect(regressionWith(differ("host name", other))).toMatch(/^on another machine \(host a → b\): 1 of 60/);
    expect(regressionWith(differ("GPU UUID", other))).toMatch(/^on another GPU: 1 of 60/);
    expect(regressionWith(differ("host name"), differ("PCI address"))).toMatch(/^1 of 60/);
    expect(outcomeOf({ cells: same(3), differences: [differ("GPU UUID", other)] })).toBe(
      "no cell is slower: 3 same",
    );
  });

  it("begins with a link that lost lanes or a generation, whatever the cells say", () => {
    const loss = (candidate: { generation: number; width: number }, runs = 3) => ({
      ...{ device: 0, baseline: { generation: 5, width: 16 }, candidate, runs, of: 3 },
    });
    const withLoss = (...linkLosses: ReturnType<typeof loss>[]) =>
      outcomeOf({ outcome: "regression", cells: same(3), linkLosses });
    expect(withLoss(loss({ generation: 5, width: 8 }))).toMatch(
      /^the link of GPU 0 runs at x8, the baseline's at x16; no cell is slower: /,
    );
    expect(
      withLoss(loss({ generation: 4, width: 8 }), { ...loss({ generation: 4, width: 16 }, 1), device: 1 }),
    ).toMatch(
      /^the link of GPU 0 runs at gen4 x8, the baseline's at gen5 x16; the link of GPU 1 runs at gen4 in 1 of 3 runs, the baseline's at gen5; /,
    );
    expect(
      outcomeOf({ outcome: "failed", cells: same(1), linkLosses: [loss({ generation: 5, width: 8 })] }),
    ).toMatch(/^a measurement failed; the link of GPU 0 runs at x8/);
  });

  it("says that no interval is known where none is", () => {
    expect(outcomeOf({ outcome: "regression", cells: [buildSlower({ margin: null })] })).toContain(
      "−9.9 % (no interval known)",
    );
  });

  it("says what prevents a comparison", () => {
    const differ = (fact: string, blocks = true) => ({
      ...{ fact, baseline: "a", candidate: "b", blocks, isOverruled: false },
    });
    const outcome = "not comparable" as const;
    expect(outcomeOf({ outcome, differences: [differ("driver"), differ("kernel", false)] })).toBe(
      "not comparable: driver differs",
    );
    expect(outcomeOf({ outcome, differences: [differ("driver"), differ("link under load")] })).toBe(
      "not comparable: driver and link under load differ",
    );
    expect(outcomeOf({ outcome, cells: [buildCellComparison({ verdict: "not comparable" })] })).toBe(
      "not comparable: 1 not comparable",
    );
    expect(outcomeOf({ outcome, cells: [] })).toBe("not comparable: no cell was compared");
  });

  it("says what failed or stayed open before it says what the cells are", () => {
    expect(outcomeOf({ outcome: "failed", cells: [...same(2), buildMissing()] })).toBe(
      "a measurement failed; no cell was shown to be slower: 1 missing, 2 same",
    );
    expect(outcomeOf({ outcome: "inconclusive", cells: [buildInconclusive()] })).toBe(
      "not decided, as --strict demands; whether a cell is slower cannot be told: 1 inconclusive",
    );
  });

  it("does not take no cell for a pass in so many words", () => {
    expect(outcomeOf({ cells: [] })).toBe("no cell was compared");
  });
});

it("each verdict has a meaning of its own", () => {
  expect(new Set(verdicts.map(describeVerdict)).size).toBe(verdicts.length);
});
