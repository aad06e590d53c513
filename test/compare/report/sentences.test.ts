import { describe, expect, it } from "vitest";
import {
  type CellComparison,
  type Difference,
  isFailingGroup,
  looksSlower,
  type Verdict,
  verdicts,
} from "../../../src/compare/comparison.js";
import {
  bySeverity,
  comparedNames,
  describeChange,
  describeFigures,
  groupName,
  intervalText,
} from "../../../src/compare/report/cell-text.js";
import { failuresOf } from "../../../src/compare/report/failures.js";
import {
  describeOutcome,
  describeVerdict,
  outcomeTone,
  whatWouldShow,
} from "../../../src/compare/report/outcome.js";
import {
  buildCellComparison,
  buildCellComparisons,
  buildComparison,
  buildFaster,
  buildGroup,
  buildInconclusive,
  buildMissing,
  buildNew,
  buildSlower,
  type CellComparisonPart,
  type ComparisonPart,
} from "../../helpers/comparison.js";
import { KiB, MiB } from "../../helpers/result-document.js";

const latency = { mode: "latency", baseline: 8 } as const;
const slowRuns = (worstChange: number, starts = 1): NonNullable<CellComparison["slowRuns"]> => ({
  ...{ count: starts, runs: 8, share: { low: 0, high: 1 }, ofBaseline: 0, worstChange },
  startedAt: Array.from({ length: starts }, (_, i) => `2026-11-20T10:0${i + 1}:00.123Z`),
});

describe("a change in words", () => {
  const same = "0.0 % (−0.3 to +0.3 %)";
  const slow = (count: number, worst: string, when: string) =>
    `${same}; ${count} of 8 runs far slower, by up to ${worst} %, started ${when}`;
  const times = [1, 2, 3, 4].map((minute) => `2026-11-20T10:0${minute}:00Z`);

  it.each<[string, CellComparisonPart, string]>([
    ["a loss of speed, rounded up", { change: -0.0501 }, "−5.1 % (−5.4 to −4.7 %)"],
    ["a gain of speed, rounded down", { change: 0.0509 }, "+5.0 % (+4.7 to +5.4 %)"],
    ["a longer time, rounded up", { ...latency, change: 0.0501 }, "+5.1 % (+4.7 to +5.4 %)"],
    [
      "what only host memory would have changed, rounded alike",
      { change: -0.2, explainedByHost: -0.1201 },
      "−20.0 % (−20.3 to −19.7 %); −12.1 % if only host memory had changed",
    ],
    ["nothing of that below 1 %", { change: -0.2, explainedByHost: -0.0099 }, "−20.0 % (−20.3 to −19.7 %)"],
    [
      "slow runs, the worst rounded up",
      { ...latency, slowRuns: slowRuns(0.4001) },
      slow(1, "+40.1", times[0]!),
    ],
    [
      "the starts of four slow runs",
      { slowRuns: slowRuns(-0.4, 4) },
      slow(4, "−40.0", `${times.slice(0, 3).join(", ")} and ${times[3]}`),
    ],
    [
      "the number of further slow runs",
      { slowRuns: slowRuns(-0.4, 6) },
      slow(6, "−40.0", `${times.join(", ")} and 2 more`),
    ],
    ["the reason of an uneven cell", { verdict: "uneven", reason: "so" }, `${same}; so`],
    ["the confirmation of a loss alone", { confirmedBy: 3 }, same],
    ["what is not known", { change: Number.NaN }, "change not known"],
    ["an interval of which an end is not known", { margin: Number.NaN }, "0.0 % (no interval known)"],
    ["an interval that is too wide", { change: -0.9, margin: 0.2 }, "−90.0 % (the interval is too wide)"],
  ])("has %s", (_, part, words) => {
    expect(describeChange(buildCellComparison(part))).toBe(words);
  });

  it("has both figures in the cell's unit, and which of them there is not", () => {
    expect(intervalText(buildCellComparison({ change: 3, margin: 2 }))).toBe("+100.0 to +500.0 %");
    expect([buildCellComparison(latency), buildMissing()].map(describeFigures)).toEqual([
      `8.00 µs before, 8.00 µs now: ${same}`,
      "55.4 GB/s before, no figure now",
    ]);
  });
});

describe("cells by severity", () => {
  const lostTime = (candidate: number) =>
    buildSlower({ verdict: "uneven", change: (candidate - 1) / 9, lostShare: { baseline: 0, candidate } });

  it.each<[string, CellComparison[]]>([
    ["missing, then undecided ones", [buildMissing(), buildInconclusive({ change: -0.5 })]],
    [
      "their worst runs",
      [-0.4, -0.3].map((one) => buildSlower({ verdict: "unsteady", change: 0, slowRuns: slowRuns(one) })),
    ],
    ["their lost time", [0.5, 0.2].map(lostTime)],
    ["their times", [0.3, 0.2].map((change) => buildSlower({ ...latency, change }))],
    [
      "their verdicts",
      [
        buildSlower({ change: -0.3 }),
        buildSlower({ change: -0.2, verdict: "probably slower" }),
        buildSlower(),
        buildSlower({ change: 0, verdict: "unsteady" }),
        buildMissing(),
        buildInconclusive(),
        buildFaster(),
        buildNew(),
        buildCellComparison(),
      ],
    ],
  ])("are in the order of %s", (_, cells) => {
    expect(bySeverity(cells)).toEqual(cells);
    expect(bySeverity(cells.toReversed())).toEqual(cells);
  });
});

it("names have the direction or the device that tells cells and groups apart", () => {
  const cells = (["h2d", "sum"] as const).map((moved) => buildCellComparison({ direction: "bidir", moved }));
  expect(cells.map(comparedNames({ cells }))).toEqual([
    "H2D+D2H pinned 16 MiB x1 (H2D)",
    "H2D+D2H pinned 16 MiB x1",
  ]);
  const groupNames = (...parts: [device: number, moved: "h2d" | "sum"][]) => {
    const groups = parts.map(([device, moved]) => buildGroup([buildCellComparison({ device })], { moved }));
    return groups.map((one) => groupName(one, groups));
  };
  expect(groupNames([0, "h2d"], [0, "sum"])).toEqual(["H2D pinned", "H2D+D2H pinned"]);
  expect(groupNames([0, "h2d"], [1, "h2d"])).toEqual(["d0 H2D pinned", "d1 H2D pinned"]);
});

const outcomeOf = (part: ComparisonPart) => describeOutcome(buildComparison(part));
const same = (count: number) => buildCellComparisons(count);

describe("a regression in words", () => {
  const sentenceOf = (cells: CellComparison[], part: ComparisonPart = {}) =>
    outcomeOf({ outcome: "regression", cells, ...part });
  /** Two slower cells of different numbers of workers. */
  const pair = (part: CellComparisonPart, second: CellComparisonPart = {}) =>
    [part, { ...part, ...second }].map((one, i) =>
      buildSlower({ direction: "h2d", change: -0.1, workers: i + 1, ...one }),
    );
  const ofTwo = "2 of 2 cells slower; confirmed by 5 fresh processes.";
  const tenth = (rest: string, kind = "") => `H2D pinned${kind}: −10.0 %, ${rest}`;
  const open = (workers: number) => buildInconclusive({ memory: "pinned", workers });
  const three = (part: CellComparisonPart, changes: number[]) =>
    changes.map((change, i) => buildSlower({ direction: "h2d", change, workers: i + 1, ...part }));

  it.each<[string, CellComparison[], string]>([
    [
      "the only slower cell, its change, and who confirmed it",
      [...same(59), buildSlower({ confirmedBy: 1 })],
      "D2H pinned 16 MiB x1: slower, −9.9 % (−10.2 to −9.5 %); confirmed by 1 fresh process.",
    ],
    [
      "one that is probably slower",
      [...same(3), buildSlower({ verdict: "probably slower", margin: null })],
      "D2H pinned 16 MiB x1: probably slower, −9.9 % (no interval known); confirmed by 5 fresh processes.",
    ],
    [
      "that one of several certainly is, and how many are not",
      pair({ change: -0.2, verdict: "probably slower" }, { change: -0.1, verdict: "slower" }),
      "H2D pinned: −15.0 %, 2 of 2 cells slower; 1 of them probably; confirmed by 5 fresh processes.",
    ],
    ["the fewest confirming processes", pair({}, { confirmedBy: 3 }), tenth(ofTwo.replace("5", "3"))],
    ["no confirmation of one", pair({}, { confirmedBy: undefined as never }), tenth("2 of 2 cells slower.")],
    [
      "a loss that is much larger than the median one",
      three({}, [-0.1, -0.1, -0.4]),
      "H2D pinned: −10.0 % (up to −40.0 %), 3 of 3 cells slower; confirmed by 5 fresh processes.",
    ],
    [
      "a time that is much longer than the median one",
      three({ mode: "latency" }, [0.1, 0.1, 0.4]),
      "H2D pinned latency: +10.0 % (up to +40.0 %), 3 of 3 cells slower; confirmed by 5 fresh processes.",
    ],
    [
      "the slowest of single runs",
      pair({ verdict: "unsteady", change: 0, slowRuns: slowRuns(-0.4) }),
      "H2D pinned: −40.0 % in single runs, 2 of 2 cells unsteady; confirmed by 5 fresh processes.",
    ],
    [
      "undecided cells among the others, but none that one side lacks",
      [...pair({}, { workers: 4 }), open(2), buildNew({ memory: "pinned", workers: 3 })],
      "H2D pinned: −10.0 %, 2 of 3 cells slower; confirmed by 5 fresh processes.",
    ],
    ["processes", pair({ workerKind: "process" }), `H2D pinned processes: −10.0 %, ${ofTwo}`],
    [
      "the size of blocks",
      pair({ blockBytes: 4 * KiB, blockWay: "loop" }),
      tenth(ofTwo, " loop in blocks of 4 KiB"),
    ],
    [
      "the compared direction",
      pair({ direction: "bidir", moved: "d2h" }),
      `H2D+D2H (D2H) pinned: −10.0 %, ${ofTwo}`,
    ],
    [
      "throughput and latency apart",
      [
        ...pair({ change: -0.15 }),
        buildSlower({ mode: "latency", sizeBytes: 4096, baseline: 3.5, change: 0.3 }),
      ],
      `H2D pinned: −15.0 %, ${ofTwo} D2H pinned 4 KiB x1 latency: slower, +30.0 % (+29.7 to +30.3 %); confirmed by 5 fresh processes.`,
    ],
  ])("has %s", (_, cells, sentence) => {
    expect(sentenceOf(cells)).toBe(sentence);
  });

  it("has patterns of many slower cells, the worst first", () => {
    const sizes = [4096, 65536, MiB, 16 * MiB, 64 * MiB];
    const lossOf = (memory: string, sizeBytes: number, workers: number) =>
      memory === "pinned" ? (sizeBytes >= MiB ? -0.2 : 0) : workers === 4 ? -0.4 : 0;
    const cells = ["pageable", "pinned"].flatMap((memory) =>
      sizes.flatMap((sizeBytes) =>
        [1, 2, 4].map((workers) => {
          const change = lossOf(memory, sizeBytes, workers);
          const cell = { direction: "d2h" as const, memory, sizeBytes, workers };
          return change === 0 ? buildCellComparison(cell) : buildSlower({ ...cell, change });
        }),
      ),
    );
    expect(sentenceOf(cells)).toBe(
      "D2H pageable with 4 workers: −40.0 %, 5 of 5 cells slower; confirmed by 5 fresh processes. " +
        "D2H pinned from 1 MiB on: −20.0 %, 9 of 9 cells slower; confirmed by 5 fresh processes.",
    );
  });

  const alternating = (count: number) =>
    Array.from({ length: count }, (_, i) =>
      i % 2 === 0
        ? buildSlower({ workers: i + 1, change: -0.5 + 0.02 * i })
        : buildCellComparison({ direction: "d2h", workers: i + 1 }),
    );

  it("has three failures, and the number of the others; no more than eight patterns of one kind", () => {
    expect(sentenceOf(alternating(8))).toMatch(/\. 1 more like it below\.$/);
    const comparison = buildComparison({ outcome: "regression", cells: alternating(20) });
    const texts = failuresOf(comparison, comparedNames(comparison)).map(({ text }) => text);
    expect(texts).toHaveLength(9);
    expect(texts[8]).toBe("2 further cells slower, most of all D2H pinned 16 MiB x17");
  });

  const host = [-0.1, -0.2].map((change, i) => buildSlower({ memory: "host", workers: i + 1, change }));
  const slower = "Host memory is 15.0 % slower than in the baseline";
  const probable = host.map((cell) => ({ ...cell, verdict: "probably slower" as const }));
  const [pageable, staged] = ["pageable", "staged"].map((memory) => buildInconclusive({ memory }));

  it.each<[CellComparison[], string]>([
    [[...host, pageable!, ...same(1)], `${slower}: pageable copies suffer from it, the link does not.`],
    [
      [host[0]!, probable[1]!, pageable!, staged!, open(1)],
      `${slower}: pageable and staged copies suffer from it.`,
    ],
    [probable, "Host memory is probably 15.0 % slower than in the baseline."],
  ])("has the effect of host memory on the measured copies only: %#", (cells, sentence) => {
    expect(sentenceOf(cells)).toBe(sentence);
  });

  it("has the host's single slow runs as any other's", () => {
    const cells = [{ ...host[0]!, verdict: "unsteady" as const }];
    expect(sentenceOf(cells, { rule: { strict: true } })).toMatch(/^D2H host 16 MiB x1: unsteady, /);
  });

  const lost = { change: -0.1, low: -0.14, high: -0.06, verdict: "probably slower" } as const;
  const openCells = [1, 2, 4].map((workers) => buildInconclusive({ workers, change: -0.04 }));
  const bidir = pair({ direction: "bidir", moved: "h2d" });
  const withHost = "with what host memory lost";
  const range = "−10.0 % (−14.0 to −6.0 %), probably slower.";

  it.each<[string, CellComparison[], object, string | null]>([
    ["without a failing cell", openCells, {}, `H2D pageable, 3 cells together: ${range}`],
    ["with host memory", openCells, { isWithHost: true }, `H2D pageable, 3 cells ${withHost}: ${range}`],
    ["not of failing cells", bidir, {}, null],
    ["of such with host memory", bidir, { isWithHost: true }, `H2D pinned, 2 cells ${withHost}: ${range}`],
    ["of such in another direction", bidir, { moved: "d2h" }, `D2H pinned, 2 cells together: ${range}`],
  ])("has the loss of a group, %s", (_, cells, part, sentence) => {
    const text = sentenceOf(cells, { groups: [buildGroup(cells, { ...lost, ...part })] });
    if (sentence === null) expect(text).not.toContain("together");
    else expect(text.endsWith(sentence)).toBe(true);
  });

  const differ = (fact: string, more = {}) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks: false, isOverruled: false, ...more },
  });
  const isOther = { isOtherMachine: true as const };

  it.each([
    [
      [differ("host name"), differ("GPU UUID", isOther)],
      "On another machine (host a → b, another GPU of the same model): ",
    ],
    [[differ("host name", isOther)], "On another machine (host a → b): "],
    [[differ("GPU UUID", isOther)], "On another GPU of the same model: "],
    [[differ("GPU"), differ("GPU UUID", isOther)], "On another GPU: "],
    [[differ("host name"), differ("PCI address")], ""],
  ])("begins with the other machine, also if nothing is slower: %#", (differences, begin) => {
    expect(sentenceOf([...same(59), buildSlower()], { differences }).startsWith(`${begin}D2H`)).toBe(true);
    const passed = outcomeOf({ cells: same(3), differences });
    expect(passed.startsWith(`${begin}Nothing is slower.`)).toBe(true);
  });

  const loss = (generation: number, width: number, runs = 3, device = 0) => ({
    ...{ device, baseline: { generation: 5, width: 16 }, candidate: { generation, width }, runs, of: 3 },
  });

  it.each([
    [[loss(5, 8)], "The link of GPU 0 runs at x8, the baseline's at x16. Nothing is slower."],
    [
      [loss(4, 8), loss(4, 16, 1, 1)],
      "The link of GPU 0 runs at gen4 x8, the baseline's at gen5 x16. The link of GPU 1 runs at gen4 in 1 of 3 runs, the baseline's at gen5. ",
    ],
  ])("begins with a link that lost lanes or a generation: %#", (linkLosses, begin) => {
    expect(sentenceOf(same(3), { linkLosses }).startsWith(begin)).toBe(true);
    const failed = outcomeOf({ outcome: "failed", cells: same(1), linkLosses });
    expect(failed.startsWith(`A measurement failed. ${begin}`)).toBe(true);
  });
});

describe("other outcomes in words", () => {
  const differ = (fact: string, blocks = true) => ({
    ...{ fact, baseline: "a", candidate: "b", blocks, isOverruled: false },
  });
  const outcome = "not comparable" as const;
  const of = (...differences: Difference[]) => ({ outcome, differences });
  const undecided = [buildInconclusive(), buildMissing()];

  it.each<[string, ComparisonPart, RegExp, string]>([
    [
      "verdicts are counted if some cells are not fine",
      { cells: [...same(57), ...undecided] },
      /^Nothing is slower\. .* 59 cells: 1 missing, 1 inconclusive, 57 not slower\.$/,
      "plain",
    ],
    ["no cell is no pass", { cells: [] }, /^No cell was compared\.$/, "plain"],
    [
      "exit code 0 is no pass if no cell could be decided",
      { cells: undecided },
      /^Nothing could be decided: .* in any cell\. Exit code 0 is no pass here: --strict fails undecided cells\./,
      "warning",
    ],
    ["a faster cell is decided", { cells: [...undecided, buildFaster()] }, /^Nothing is slower\./, "plain"],
    [
      "failures come first",
      { outcome: "failed", cells: [...same(2), buildMissing()] },
      /^A measurement failed\. Nothing is slower\. .* 3 cells: 1 missing, 2 not slower\.$/,
      "failure",
    ],
    [
      "wrong data comes first",
      { outcome: "mismatch", cells: [...same(2), buildMissing()] },
      /^Data came back wrong: take the machine out of use\. Nothing is slower\. .* 3 cells: 1 missing, 2 not slower\.$/,
      "mismatch",
    ],
    [
      "undecided cells come first",
      { outcome: "inconclusive", cells: [buildInconclusive()] },
      /^Undecided, and --strict fails undecided cells\. Nothing could be decided: .* in any cell\. .* 1 cell: 1 inconclusive\.$/,
      "warning",
    ],
    [
      "one obstacle",
      of(differ("driver"), differ("kernel", false)),
      /^Not comparable: driver differs\.$/,
      "failure",
    ],
    ["two", of(differ("driver"), differ("GPU")), /: driver and GPU differ\.$/, "failure"],
    [
      "none known",
      { outcome, cells: [buildCellComparison({ verdict: outcome })] },
      /: 1 not comparable\.$/,
      "failure",
    ],
    ["no cell", { outcome, cells: [] }, /^Not comparable: no cell was compared\.$/, "failure"],
  ])("%s", (_, part, sentence, tone) => {
    expect(outcomeOf(part)).toMatch(sentence);
    expect(outcomeTone(buildComparison(part))).toBe(tone);
  });
});

describe("the loss that would show", () => {
  const said = (part: ComparisonPart) => whatWouldShow(buildComparison(part));
  const ofFolder = { ...buildComparison().baseline, path: "sets/main" };
  const cells = ["pinned", "pageable", "staged"].flatMap((memory) =>
    (["h2d", "d2h"] as const).flatMap((direction) => buildCellComparisons(3, { memory, direction })),
  );
  const withThresholds = cells.map((cell, i) => ({ ...cell, threshold: i % 3 === 0 ? 0.2 : 0.03 }));
  /** A group for each kind and direction, with the losses that would show. */
  const groupsWith = (losses: Record<string, readonly (number | null)[]>) =>
    Object.entries(losses).flatMap(([memory, ofMemory]) =>
      (["h2d", "d2h"] as const).map((direction, i) =>
        buildGroup(
          cells.filter((cell) => cell.memory === memory && cell.direction === direction),
          { wouldShow: ofMemory[i]! },
        ),
      ),
    );
  const equal = (loss: number) =>
    groupsWith({ pageable: [loss, loss], staged: [loss, loss], pinned: [loss, loss] });
  const ofSum = buildCellComparisons(3, { direction: "bidir", moved: "sum" });

  it.each<[string, ComparisonPart, string | null]>([
    [
      "that of a kind's least certain direction, rounded up",
      {
        cells,
        groups: groupsWith({ pinned: [0.0312, 0.0333], pageable: [0.03, 0.0331], staged: [0.01, 0.034] }),
      },
      "Pinned, pageable and staged: a loss of 3.4 % would show",
    ],
    [
      "undetectable above twice the threshold, with advice",
      {
        cells,
        groups: groupsWith({ staged: [0.12, 0.149], pinned: [0.03, 0.034], pageable: [0.15, 0.1] }),
        baseline: ofFolder,
      },
      "Pinned: a loss of 3.4 % would show; staged and pageable: a loss below 15 % would not show " +
        "(add sessions: `pinbench baseline sets/main --append`)",
    ],
    [
      "undetectable from just above twice the threshold on",
      { cells, groups: equal(0.061) },
      "Pageable, staged and pinned: a loss below 6.1 % would not show " +
        "(make a baseline of several sessions: `pinbench baseline FOLDER --sessions 4`)",
    ],
    [
      "none if no spread is known",
      { cells: buildCellComparisons(2, { margin: null }) },
      "Pinned: no loss would show (make a baseline of several sessions: `pinbench baseline FOLDER --sessions 4`)",
    ],
    [
      "held against its largest threshold",
      { cells: withThresholds, groups: equal(0.3) },
      "Pageable, staged and pinned: a loss of 30 % would show",
    ],
    [
      "none if one direction has no known spread, or it is all of the speed",
      {
        cells,
        groups: groupsWith({ pinned: [0.03, null], pageable: [0.96, 0.03], staged: [0.06, 0.03] }),
        command: "compare",
      },
      "Staged: a loss of 6.0 % would show; pinned and pageable: no loss would show " +
        "(more runs on each side, on several occasions, show more)",
    ],
    [
      "that of a direction of a cell whose sum alone is in a group",
      {
        cells: [...ofSum, buildCellComparison({ direction: "bidir", moved: "h2d", wouldShow: 0.05 })],
        groups: [buildGroup(ofSum, { wouldShow: 0.04 })],
      },
      "Pinned: a loss of 5.0 % would show",
    ],
    [
      "that of the single cells if they are too few for a group",
      { cells: [...cells, buildCellComparison({ mode: "latency", wouldShow: 0.041 })], groups: equal(0.02) },
      "Pageable, staged and pinned: a loss of 2.0 % would show; pinned latency: a loss of 4.1 % would show",
    ],
    [
      "not of the host, or of one side",
      { cells: [buildCellComparison({ memory: "host" }), buildNew()] },
      null,
    ],
    [
      "with a path quoted in its advice",
      { cells: [buildCellComparison({ wouldShow: 0.3 })], baseline: { ...ofFolder, path: "my sets" } },
      "Pinned: a loss below 30 % would not show (add sessions: `pinbench baseline 'my sets' --append`)",
    ],
    [
      "with no path in its advice if there is none",
      { cells: [buildCellComparison({ wouldShow: 0.3 })], baseline: { ...ofFolder, path: null } },
      "Pinned: a loss below 30 % would not show (more runs on each side, on several occasions, show more)",
    ],
  ])("is %s", (_, part, sentence) => {
    expect(said(part)).toBe(sentence);
  });
});

it("each verdict has a meaning of its own, four are of a loss, and two of these fail a group", () => {
  expect(new Set(verdicts.map(describeVerdict)).size).toBe(verdicts.length);
  const those = (holds: (cell: { verdict: Verdict }) => boolean) =>
    verdicts.filter((verdict) => holds({ verdict }));
  expect(those(looksSlower)).toEqual(["slower", "probably slower", "unsteady", "uneven"]);
  expect(those(isFailingGroup)).toEqual(["slower", "probably slower"]);
});
