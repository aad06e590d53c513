import { describe, expect, it } from "vitest";
import { answer, findings } from "../../src/report/findings/answer.js";
import type { CellResult } from "../../src/results/cell-schema.js";
import { type BlockRates, blockCells, buildBlocks } from "../helpers/blocks.js";
import {
  buildDistribution,
  buildDocument,
  buildEmulatedDocument,
  type CellPart,
  KiB,
  MiB,
  ofFiveProcesses,
} from "../helpers/result-document.js";

const ofProcesses = (cells: CellResult[]) => linesOf(cells.map(ofFiveProcesses));

/** The lines on blocks, without what all of them begin with. */
function linesOf(cells: CellResult[]): string[] {
  const lines = findings(buildDocument({ cells })).map(({ text }) => text);
  return lines
    .filter((text) => text.startsWith("in scattered blocks"))
    .map((text) => text.replace("in scattered blocks of ", ""));
}

/** Copies to the device, of 256 MiB each: GB/s of a loop and of the other ways at 4 KiB, 64 KiB and 1 MiB. */
function sizes(rates: readonly BlockRates[], part: CellPart = {}): CellResult[] {
  return rates.flatMap((ofSize, i) => {
    const bytes = [4 * KiB, 64 * KiB, MiB][i]!;
    return buildBlocks(bytes, (256 * MiB) / bytes, part.memory === "pageable" ? 10.7 : 55.3, ofSize, part);
  });
}

const firstOf = (cells: CellResult[], lines = ofProcesses) => lines(cells)[0];

describe("from which size of a block on a loop is enough", () => {
  it("is where it copies 80 % of what the fastest way does, at this size and at all larger ones", () => {
    expect(
      firstOf(
        sizes([
          { loop: [1.4, 2800], kernel: [49, 5] },
          { loop: [16, 2800], batch: [38, 1700], kernel: [50, 5] },
          { loop: [50, 19000], batch: [54, 2700] },
        ]),
      ),
    ).toBe(
      "pinned memory, a loop of copies is enough from 1 MiB on, where it reaches at least 92 % of the fastest other way's " +
        "rate (H2D)",
    );
  });

  it("is the smallest one if it is enough there already, or no other way is faster", () => {
    const fast: BlockRates = { loop: [54, 900], batch: [50, 900] };
    expect(firstOf(sizes([fast, fast, fast]))).toBe(
      "pinned memory, a loop of copies is enough from 4 KiB on, where no other way is faster (H2D)",
    );
  });

  it("copies there the least of what it does at that size and all larger ones, of whichever way is fastest", () => {
    const [good, worse]: BlockRates[] = [
      { loop: [50, 900], kernel: [50, 5] },
      { loop: [45, 900], kernel: [50, 5] },
    ];
    expect(firstOf(sizes([good!, worse!, good!]))).toMatch(
      /from 4 KiB on, where it reaches at least 89 % of/,
    );
    // The batch may be faster than the kernel, though its median is lower.
    const loop = sizes([{ loop: [45, 900], kernel: [50, 5] }]);
    const batch = sizes([{ batch: [49, 900] }], { relativeHalfWidth: 0.08 }).slice(1);
    expect(firstOf([...loop, ...batch])).toMatch(/at least 8[0-5] % of/);
  });

  it("is none if it never is", () => {
    const slow: BlockRates = { loop: [10, 900], kernel: [50, 5] };
    expect(firstOf(sizes([slow, slow, slow]))).toBe(
      "pinned memory, a loop of copies is not enough up to 1 MiB, where it reaches at most 21 % of the fastest other way's " +
        "rate (H2D)",
    );
  });

  it("is none, and what it copies at most there is the most of all sizes, of whichever way is fastest", () => {
    const [slow, slower]: BlockRates[] = [
      { loop: [20, 900], batch: [25, 900], kernel: [50, 5] },
      { loop: [10, 900], batch: [25, 900], kernel: [50, 5] },
    ];
    expect(firstOf(sizes([slow!, slower!]))).toMatch(
      /not enough up to 64 KiB, where it reaches at most 41 % of/,
    );
  });

  it("is not the first if a larger block is again too slow", () => {
    const [slow, fast]: BlockRates[] = [
      { loop: [10, 900], kernel: [50, 5] },
      { loop: [50, 900], kernel: [50, 5] },
    ];
    expect(firstOf(sizes([fast!, slow!, fast!]))).toMatch(/enough from 1 MiB on, where/);
  });

  it("says so if intervals leave it open, and what they do tell", () => {
    const [no, open, yes]: BlockRates[] = [
      { loop: [10, 900], kernel: [50, 5] },
      { loop: [40, 900], kernel: [50, 5] },
      { loop: [50, 900], kernel: [50, 5] },
    ];
    expect(firstOf(sizes([no!, open!, yes!]))).toMatch(/enough from 1 MiB on at the latest, where/);
    expect(firstOf(sizes([no!, open!, open!]))).toBe(
      "pinned memory, a loop of copies is not enough at 4 KiB; these intervals do not show whether it is enough " +
        "from 64 KiB to 1 MiB (H2D)",
    );
    expect(firstOf(sizes([no!, no!, open!]))).toBe(
      "pinned memory, a loop of copies is not enough up to 64 KiB; these intervals do not show whether it is " +
        "enough at 1 MiB (H2D)",
    );
    expect(firstOf(sizes([open!, no!, no!]))).toMatch(
      /^pinned memory, a loop of copies is not enough at 1 MiB, where it reaches at most 21 % of/,
    );
    expect(firstOf(sizes([open!, no!, open!]))).toMatch(
      /is not enough at 64 KiB; these intervals do not show whether it is enough at 1 MiB/,
    );
    expect(firstOf(sizes([open!, open!, open!]))).toBe(
      "pinned memory, these intervals do not show whether a loop of copies is enough from 4 KiB to 1 MiB (H2D)",
    );
  });

  it("is claimed of one process only where another one would agree: far from the link, a loop is a CPU's work", () => {
    const sureOfProcesses: BlockRates = { loop: [17, 900], kernel: [20, 5] };
    expect(firstOf(sizes([sureOfProcesses]))).toMatch(/is enough from 4 KiB on/);
    expect(firstOf(sizes([sureOfProcesses]), linesOf)).toMatch(/do not show whether/);
    // Near the link, it waits for the link alone.
    const nearLink: BlockRates = { loop: [47, 900], kernel: [55, 5] };
    expect(firstOf(sizes([nearLink]), linesOf)).toMatch(/is enough from 4 KiB on/);
  });

  it("is given for each kind of memory and direction, equal ones in one line", () => {
    const rates: BlockRates[] = [{ loop: [50, 900], batch: [50, 900] }];
    const pageable: BlockRates[] = [{ loop: [2, 900], gather: [8, 300] }];
    const cells = [
      ...sizes(rates),
      ...sizes(rates, { direction: "d2h" }),
      ...sizes(rates, { direction: "bidir" }),
      ...sizes(pageable, { memory: "pageable" }),
    ];
    const lines = ofProcesses(cells).filter((line) => line.includes("enough"));
    expect(lines).toEqual([
      expect.stringMatching(/^pinned memory, a loop of copies is enough from 4 KiB on.*\(H2D and D2H\)$/),
      expect.stringMatching(/^pinned memory, a loop of copies is enough from 4 KiB on.*\(both directions\)$/),
      expect.stringMatching(/^pageable memory, a loop of copies is not enough at 4 KiB, .*\(H2D\)$/),
    ]);
  });

  it("is undecided with only a loop, or without one", () => {
    expect(ofProcesses(sizes([{ loop: [10, 900] }]))).toEqual([]);
    expect(ofProcesses(sizes([{ batch: [10, 900] }]))).toEqual([]);
  });

  it("is that of the fewest workers, which are named if they are several", () => {
    const cells = [
      ...sizes([{ loop: [10, 900], kernel: [50, 5] }], { workers: 2 }),
      ...sizes([{ loop: [50, 900], kernel: [50, 5] }], { workers: 4 }),
    ];
    expect(firstOf(cells)).toMatch(/^pinned memory, by 2 workers, a loop of copies is not enough at 4 KiB/);
  });
});

describe("the smallest blocks", () => {
  const second = (rates: BlockRates, lines = ofProcesses) => lines(sizes([rates]))[1];

  it("have a fastest way, with its gain over a loop and what it takes of a CPU for that", () => {
    expect(second({ loop: [1.4, 2810.4], batch: [2.8, 1400], kernel: [49, 5.21] })).toBe(
      "pinned memory, a kernel is fastest at 4 KiB, 34× to 36× a loop, for less than 1 % of the CPU time that a loop takes " +
        "(H2D)",
    );
    expect(second({ loop: [1.4, 2000], gather: [8, 460] })).toMatch(
      /for about 20 % of the CPU time that a loop/,
    );
    expect(second({ loop: [1.4, 2000], gather: [8, 1990] })).toMatch(/a loop, without saving CPU time/);
  });

  it("have several if these cannot be told apart", () => {
    expect(second({ loop: [1.4, 2800], batch: [5, 1400], gather: [5.01, 300] })).toBe(
      "pinned memory, gathering or a batch is fastest at 4 KiB, 3.5× to 3.6× a loop (H2D)",
    );
  });

  it("have the least gain alone if the range would say little", () => {
    const rates: BlockRates = { loop: [1.4, 2800], batch: [40, 1400], kernel: [49, 5] };
    expect(linesOf(sizes([rates], { relativeHalfWidth: 0.7 }))[1]).toMatch(
      /^pinned memory, a kernel or a batch is fastest at 4 KiB, at least \d\.\d× a loop/,
    );
  });

  it("have none that beats a loop for certain if intervals do not show it", () => {
    expect(second({ loop: [5, 2800], batch: [5.01, 1400] })).toBe(
      "pinned memory, no way is faster than a loop for certain at 4 KiB (H2D)",
    );
    expect(second({ loop: [5, 2800], gather: [5.5, 300] }, linesOf)).toMatch(/no way is faster than a loop/);
  });

  it("have no line if no loop was measured", () => {
    expect(ofProcesses(sizes([{ batch: [10, 900], kernel: [50, 5] }]))).toEqual([]);
  });
});

describe("a kernel on few multiprocessors", () => {
  const third = (few: number, fewer: BlockRates = {}) =>
    ofProcesses(sizes([{ loop: [1.4, 2800], kernel: [50, 5], "kernel on 8": [few, 5], ...fewer }]))[2];

  it("keeps so much of its rate", () => {
    expect(third(40)).toBe(
      "pinned memory, a kernel keeps 79 % to 81 % of its rate on 8 multiprocessors at 4 KiB (H2D)",
    );
  });

  it("keeps all of it where there is no difference", () => {
    expect(third(50)).toBe(
      "pinned memory, a kernel keeps all of its rate on 8 multiprocessors at 4 KiB (H2D)",
    );
  });

  it("keeps all of it down to a number of them, and less on fewer", () => {
    const few: BlockRates = { "kernel on 4": [50, 5], "kernel on 2": [40, 5], "kernel on 1": [20, 5] };
    expect(third(50, few)).toBe(
      "pinned memory, a kernel keeps all of its rate on 4 multiprocessors or more, 79 % to 81 % of it on 2 multiprocessors " +
        "and 39 % to 41 % of it on 1 multiprocessor at 4 KiB (H2D)",
    );
    expect(third(40, { "kernel on 4": [20, 5] })).toMatch(
      /keeps 79 % to 81 % of its rate on 8 multiprocessors and 39 % to 41 % of it on 4 multiprocessors/,
    );
  });
});

describe("the answer above the tables", () => {
  it("has the line that matters most", () => {
    const texts = answer(buildDocument({ cells: blockCells() })).map(({ text }) => text);
    expect(texts.at(-1)).toMatch(
      /^In scattered blocks of pinned memory, a loop of copies is enough from 1 MiB on, where it reaches at least \d+ % \(H2D\) and \d+ % \(D2H\)/,
    );
  });

  it("says where there is no GPU", () => {
    const cells = sizes([{ loop: [1, 900], kernel: [5, 5] }]).map(ofFiveProcesses);
    expect(findings(buildEmulatedDocument({ cells })).map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^in this machine's memory, in scattered blocks of pinned memory, a loop/),
    );
  });
});

describe("blocks beside a load", () => {
  /** A way at two sizes of blocks, alone and beside arithmetic: GB/s, and the kept shares of its rate and the load's. */
  const beside = (
    way: keyof BlockRates,
    ofCopies: readonly number[],
    ofLoad: readonly number[],
    part: CellPart = {},
  ) =>
    [4 * KiB, 64 * KiB].flatMap((bytes, i) => {
      const load = {
        unit: "GFLOP/s" as const,
        alone: buildDistribution(5e5),
        during: buildDistribution(5e5 * ofLoad[i]!),
        keptShare: { ...buildDistribution(ofLoad[i]!), processMedians: Array(5).fill(ofLoad[i]!) },
      };
      const cells = (GBps: number, more: CellPart) =>
        buildBlocks(bytes, 1024, 55, { [way]: [GBps, 900] as const }, { ...part, ...more }).slice(1);
      return [...cells(20, {}), ...cells(20 * ofCopies[i]!, { beside: "compute", result: { load } })];
    });
  const ofLoads = (cells: CellResult[]) => ofProcesses(cells).filter((line) => line.includes("beside"));

  it("say what the ways leave the load over all sizes, the greatest loss first, and what copies keep", () => {
    const cells = [
      ...beside("loop", [1, 1], [0.99, 0.97]),
      ...beside("kernel", [1, 1], [0.55, 0.15]),
      ...beside("kernel on 8", [1, 1], [0.66, 0.61]),
      ...beside("batch", [1, 1], [0.95, 0.85]),
      ...beside("gather", [0.7, 0.65], [1, 1.02]),
    ];
    expect(ofLoads(cells)).toEqual([
      "pinned memory beside arithmetic on the device, the load keeps 14 % to 56 % of its rate beside a kernel, 60 % to 67 % " +
        "beside a kernel on 8 multiprocessors, 84 % to 96 % beside a batch, at least 96 % beside a loop and gathering; " +
        "copies keep 64 % to 71 % of their rate by gathering (H2D)",
    ]);
  });

  it("say so for each direction and kind of memory, and nothing of losses that are not certain", () => {
    const cells = [
      ...beside("kernel", [0.5, 0.5], [0.5, 0.5]),
      ...beside("kernel", [1, 1], [0.2, 0.2], { direction: "d2h" }),
      ...beside("loop", [0.9, 1], [1, 0.9], { memory: "pageable" }),
      ...beside("loop", [1, 1], [1, 1], { memory: "pageable", direction: "d2h" }),
      ...beside("kernel", [1, 1], [0.1, 0.1], { direction: "bidir" }),
    ];
    expect(ofLoads(cells)).toEqual([
      "pinned memory beside arithmetic on the device, H2D: the load keeps 49 % to 51 % of its rate beside a kernel; copies " +
        "keep 49 % to 51 % of their rate by a kernel; D2H: the load keeps 19 % to 21 % of its rate beside a kernel",
      "pinned memory beside arithmetic on the device, the load keeps 9.9 % to 11 % of its rate beside a kernel (both directions)",
      "pageable memory beside arithmetic on the device, the load keeps at least 99 % of its rate beside a loop (D2H)",
    ]);
  });

  it("leave open what the spread of processes may be, which is the CPU's for gathering", () => {
    const lines = linesOf(beside("gather", [0.85, 0.85], [1, 1])).filter((line) => line.includes("beside"));
    expect(lines).toEqual([
      expect.stringMatching(/the load keeps at least \d+ % of its rate beside gathering \(H2D\)$/),
    ]);
  });

  it("are certain of a loss near the rate in one piece, where copies wait for the link, and not of the CPU's", () => {
    const alone = buildBlocks(4 * KiB, 1024, 55, { loop: [54, 900] });
    const [, loaded] = buildBlocks(4 * KiB, 1024, 55, { loop: [43.2, 900] }, { beside: "compute" });
    const lossesIn = (cells: CellResult[]) => linesOf(cells).filter((line) => line.includes("copies keep"));
    expect(lossesIn([...alone, loaded!])).toHaveLength(1);
    expect(lossesIn([...alone.slice(1), loaded!])).toEqual([]);
  });
});
