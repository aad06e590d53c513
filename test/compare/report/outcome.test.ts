import { describe, expect, it } from "vitest";
import {
  comparisonSchema,
  type Difference,
  isFailingGroup,
  looksSlower,
  type Verdict,
  verdicts,
} from "../../../src/compare/comparison.js";
import { describeFigures } from "../../../src/compare/report/cell-text.js";
import { describeOutcome, describeVerdict, outcomeTone } from "../../../src/compare/report/outcome.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildFaster,
  buildGroup,
  buildInconclusive,
  buildMissing,
  buildMixedCells,
  buildSlower,
  type ComparisonPart,
} from "../../helpers/comparison.js";
import { MiB } from "../../helpers/result-document.js";

const outcomeOf = (part: ComparisonPart) => describeOutcome(buildComparison(part));
const same = (count: number) => buildCellComparisons(count);

it("is tested with comparisons that match the schema", () => {
  for (const part of [{}, { cells: buildMixedCells() }, { backend: "emulated" as const, cells: [] }]) {
    expect(comparisonSchema.parse(buildComparison(part))).toEqual(buildComparison(part));
  }
});

describe("the outcome in a few sentences", () => {
  it("counts the verdicts if nothing is slower but some cells are not fine", () => {
    expect(outcomeOf({ cells: [...same(57), buildInconclusive(), buildMissing()] })).toMatch(
      /^Nothing is slower\. .* 59 cells: 1 missing, 1 inconclusive, 57 not slower\.$/,
    );
  });

  it("names the slower cell, its change, and who confirmed it", () => {
    expect(outcomeOf({ outcome: "regression", cells: [...same(59), buildSlower()] })).toBe(
      "D2H pinned 16 MiB x1: slower, −9.9 % (−10.2 to −9.5 %); confirmed by 5 fresh processes.",
    );
    expect(outcomeOf({ outcome: "regression", cells: [buildSlower({ confirmedBy: 1 })] })).toMatch(
      /; confirmed by 1 fresh process\.$/,
    );
  });

  it("calls a probably slower cell probable", () => {
    const cells = [...same(3), buildSlower({ verdict: "probably slower" })];
    expect(outcomeOf({ outcome: "regression", cells })).toMatch(
      /^D2H pinned 16 MiB x1: probably slower, −9\.9 % /,
    );
  });

  it("summarizes many slower cells as patterns, the worst first", () => {
    const sizes = [4096, 65536, MiB, 16 * MiB, 64 * MiB];
    const cells = ["pageable", "pinned"].flatMap((memory) =>
      sizes.flatMap((sizeBytes) =>
        [1, 2, 4].map((workers) =>
          memory === "pinned" && sizeBytes >= MiB
            ? buildSlower({ memory, sizeBytes, workers, change: -0.2 })
            : memory === "pageable" && workers === 4
              ? buildSlower({ memory, sizeBytes, workers, change: -0.4 })
              : buildCellComparison({ direction: "d2h", memory, sizeBytes, workers }),
        ),
      ),
    );
    expect(outcomeOf({ outcome: "regression", cells })).toBe(
      "D2H pageable with 4 workers: −40.0 %, 5 of 5 cells slower; confirmed by 5 fresh processes. " +
        "D2H pinned from 1 MiB on: −20.0 %, 9 of 9 cells slower; confirmed by 5 fresh processes.",
    );
  });

  it("gives a pattern's largest loss too if it is much larger than the median", () => {
    const cells = [-0.1, -0.1, -0.4].map((change, i) => buildSlower({ change, workers: 2 ** i }));
    expect(outcomeOf({ outcome: "regression", cells })).toMatch(
      /^D2H pinned: −10\.0 % \(up to −40\.0 %\), 3 of 3 cells slower;/,
    );
  });

  it("gives the starts of four slow runs, and the number of the others", () => {
    const startedAt = [1, 2, 3, 4, 5, 6].map((minute) => `2026-11-20T10:0${minute}:00.000Z`);
    const rest = { share: { low: 0.5, high: 1 }, ofBaseline: 0, worstChange: -0.4 };
    const textOf = (count: number) =>
      describeFigures(
        buildCellComparison({
          verdict: "unsteady",
          slowRuns: { ...rest, count, runs: 8, startedAt: startedAt.slice(0, count) },
        }),
      );
    const four = [1, 2, 3, 4].map((minute) => `2026-11-20T10:0${minute}:00Z`);
    expect(textOf(6)).toContain(
      `6 of 8 runs far slower, by up to −40.0 %, started ${four.join(", ")} and 2 more`,
    );
    expect(textOf(4)).toMatch(new RegExp(`started ${four.slice(0, 3).join(", ")} and ${four[3]}$`));
  });

  it("counts the failures beyond three", () => {
    const cells = [1, 2, 4, 8, 16, 32, 64, 128].map((workers, i) =>
      i % 2 === 0 ? buildSlower({ workers }) : buildCellComparison({ direction: "d2h", workers }),
    );
    expect(outcomeOf({ outcome: "regression", cells })).toMatch(/\. 1 more like it below\.$/);
  });

  it("gives the common loss of a group that fails without a failing cell", () => {
    const cells = [1, 2, 4].map((workers) => buildInconclusive({ workers, change: -0.04 }));
    const group = buildGroup(cells, { change: -0.1, low: -0.14, high: -0.06, verdict: "probably slower" });
    expect(outcomeOf({ outcome: "regression", cells, groups: [group] })).toBe(
      "H2D pageable, 3 cells together: −10.0 % (−14.0 to −6.0 %), probably slower.",
    );
    expect(outcomeOf({ outcome: "regression", cells, groups: [{ ...group, isWithHost: true }] })).toBe(
      "H2D pageable, 3 cells with what host memory lost: −10.0 % (−14.0 to −6.0 %), probably slower.",
    );
  });

  it("does not name a group whose cells fail", () => {
    const cells = [1, 2, 4].map((workers) => buildSlower({ workers }));
    const group = buildGroup(cells, { change: -0.1, low: -0.14, high: -0.06, verdict: "slower" });
    expect(outcomeOf({ outcome: "regression", cells, groups: [group] })).not.toContain("together");
  });

  it("keeps throughput and latency apart", () => {
    const slowLatency = buildSlower({ mode: "latency", sizeBytes: 4096, baseline: 3.5, change: 0.3 });
    const cells = [buildSlower(), slowLatency, buildSlower({ workers: 4, change: -0.2 })];
    expect(outcomeOf({ outcome: "regression", cells })).toMatch(
      /^D2H pinned: −15\.0 %, 2 of 2 cells slower; .*\. D2H pinned 4 KiB x1 latency: slower, \+30\.0 % \(\+29\.7 to \+30\.3 %\);/,
    );
  });

  it("gives the effect of host memory on the measured copies only", () => {
    const host = [1, 2].map((workers) =>
      buildSlower({ memory: "host", workers, change: workers === 1 ? -0.1 : -0.2, verdict: "slower" }),
    );
    const sentenceOf = (...cells: ReturnType<typeof buildSlower>[]) =>
      outcomeOf({ outcome: "regression", cells: [...host, ...cells] });
    const pageable = buildInconclusive();
    expect(sentenceOf(pageable, ...same(1))).toBe(
      "Host memory is 15.0 % slower than in the baseline: pageable copies suffer from it, the link does not.",
    );
    expect(sentenceOf(pageable, buildInconclusive({ memory: "pinned" }))).toBe(
      "Host memory is 15.0 % slower than in the baseline: pageable copies suffer from it.",
    );
    const strict = { outcome: "regression", rule: { strict: true } } as const;
    expect(outcomeOf({ ...strict, cells: [{ ...host[0]!, verdict: "unsteady" }] })).toMatch(
      /^D2H host 16 MiB x1: unsteady, /,
    );
    const probable = host.map((cell) => ({ ...cell, verdict: "probably slower" as const }));
    expect(outcomeOf({ outcome: "regression", cells: probable })).toBe(
      "Host memory is probably 15.0 % slower than in the baseline.",
    );
  });

  it("begins with the other machine, which may explain a regression", () => {
    const differ = (fact: string, more = {}) => ({
      ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled: false, ...more },
    });
    const other = { isOtherMachine: true as const };
    const cells = [...same(59), buildSlower()];
    const regressionWith = (...differences: Difference[]) =>
      outcomeOf({ outcome: "regression", cells, differences });
    expect(regressionWith(differ("host name"), differ("GPU UUID", other))).toMatch(
      /^On another machine \(host a → b, another GPU\): D2H pinned 16 MiB x1: slower, /,
    );
    expect(regressionWith(differ("host name", other))).toMatch(/^On another machine \(host a → b\): D2H/);
    expect(regressionWith(differ("GPU UUID", other))).toMatch(/^On another GPU: D2H/);
    expect(regressionWith(differ("host name"), differ("PCI address"))).toMatch(/^D2H/);
    expect(outcomeOf({ cells: same(3), differences: [differ("GPU UUID", other)] })).toMatch(
      /^Nothing is slower\./,
    );
  });

  it("begins with a link that lost lanes or a generation, whatever the cells' verdicts", () => {
    const loss = (candidate: { generation: number; width: number }, runs = 3) => ({
      ...{ device: 0, baseline: { generation: 5, width: 16 }, candidate, runs, of: 3 },
    });
    const withLoss = (...linkLosses: ReturnType<typeof loss>[]) =>
      outcomeOf({ outcome: "regression", cells: same(3), linkLosses });
    expect(withLoss(loss({ generation: 5, width: 8 }))).toMatch(
      /^The link of GPU 0 runs at x8, the baseline's at x16\. Nothing is slower\./,
    );
    expect(
      withLoss(loss({ generation: 4, width: 8 }), { ...loss({ generation: 4, width: 16 }, 1), device: 1 }),
    ).toMatch(
      /^The link of GPU 0 runs at gen4 x8, the baseline's at gen5 x16\. The link of GPU 1 runs at gen4 in 1 of 3 runs, the baseline's at gen5\. /,
    );
    expect(
      outcomeOf({ outcome: "failed", cells: same(1), linkLosses: [loss({ generation: 5, width: 8 })] }),
    ).toMatch(/^A measurement failed\. The link of GPU 0 runs at x8/);
  });

  it("says that no interval is known", () => {
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
      "Not comparable: driver differs.",
    );
    expect(outcomeOf({ outcome, differences: [differ("driver"), differ("link under load")] })).toBe(
      "Not comparable: driver and link under load differ.",
    );
    expect(outcomeOf({ outcome, cells: [buildCellComparison({ verdict: "not comparable" })] })).toBe(
      "Not comparable: 1 not comparable.",
    );
    expect(outcomeOf({ outcome, cells: [] })).toBe("Not comparable: no cell was compared.");
  });

  it("names failures and undecided cells before other cells", () => {
    expect(outcomeOf({ outcome: "failed", cells: [...same(2), buildMissing()] })).toMatch(
      /^A measurement failed\. Nothing is slower\. .* 3 cells: 1 missing, 2 not slower\.$/,
    );
    expect(outcomeOf({ outcome: "inconclusive", cells: [buildInconclusive()] })).toMatch(
      /^Undecided, and --strict fails undecided cells\. Nothing could be decided: .* 1 cell: 1 inconclusive\.$/,
    );
  });

  it("says that exit code 0 is no pass if no cell could be decided", () => {
    const undecided = [buildInconclusive(), buildMissing()];
    expect(outcomeOf({ cells: undecided })).toMatch(
      /^Nothing could be decided: .* in any cell\. Exit code 0 is no pass here: --strict fails undecided cells\./,
    );
    expect(outcomeTone(buildComparison({ cells: undecided }))).toBe("warning");
    for (const decided of [same(1), [buildFaster()]])
      expect(outcomeTone(buildComparison({ cells: [...undecided, ...decided] }))).toBe("plain");
  });

  it("does not call a comparison without cells a pass", () => {
    expect(outcomeOf({ cells: [] })).toBe("No cell was compared.");
    expect(outcomeTone(buildComparison({ cells: [] }))).toBe("plain");
  });
});

it("each verdict has a meaning of its own", () => {
  expect(new Set(verdicts.map(describeVerdict)).size).toBe(verdicts.length);
  expect((["slower", "probably slower", "not slower", "faster"] as const).map(describeVerdict)).toEqual([
    "slower: shown to be slower, by the cell's threshold or more",
    "probably slower: likely to be slower, by the cell's threshold or more, but not certain",
    "not slower: a loss of the cell's threshold is ruled out",
    "faster: shown to be faster, by the cell's threshold or more",
  ]);
});

it("four verdicts are those of a loss, of which two fail a group", () => {
  const those = (holds: (cell: { verdict: Verdict }) => boolean) =>
    verdicts.filter((verdict) => holds({ verdict }));
  expect(those(looksSlower)).toEqual(["slower", "probably slower", "unsteady", "uneven"]);
  expect(those(isFailingGroup)).toEqual(["slower", "probably slower"]);
});
