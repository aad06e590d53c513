import { describe, expect, it } from "vitest";
import {
  concludeTooManyWorkers,
  type WorkersRate,
  type WorkerTrials,
} from "../../../src/explain/questions/too-many-workers.js";

/** A rate known to within this many batches a second. */
const rate = (numWorkers: number, batchesPerSecond: number, spread = 5): WorkersRate => ({
  ...{ numWorkers, batchesPerSecond, batches: 400 },
  ...{ low: batchesPerSecond - spread, high: batchesPerSecond + spread },
});

const told = (rates: WorkersRate[], changes: Partial<WorkerTrials> = {}) => {
  const { verdict, sentences } = concludeTooManyWorkers({ cpus: 16, rates, without: [], ...changes });
  return { verdict, text: sentences.join("\n") };
};

const upToCores = [rate(0, 45), rate(8, 310), rate(16, 520)];

describe("that too many workers compete is", () => {
  it("true if the most are certainly slower than the best", () => {
    expect(told([...upToCores, rate(32, 430)])).toEqual({
      verdict: "true",
      text: `A DataLoader whose samples take some milliseconds of CPU each delivered most with 16 workers: 520 batches/s.
With 32 workers on 16 CPUs the rate is 0.827 times that of the best with fewer: they compete.
The best number of workers is the number of CPUs, as in the rule of thumb.
For other data other numbers are best: \`pinbench tune --torch FILE:NAME\` finds them.`,
    });
  });

  it("true if fewer than the CPUs are best, and then it is said what the rule of thumb loses", () => {
    const { verdict, text } = told([rate(0, 45), rate(8, 600), rate(16, 500), rate(32, 430)]);
    expect(verdict).toBe("true");
    expect(text).toContain("delivered most with 8 workers");
    expect(text).toContain("As many workers as CPUs, 16, reach 83.3 % of that.");
  });

  it("not here if the most are as fast, or the best", () => {
    expect(told([...upToCores, rate(32, 521)]).verdict).toBe("not here");
    const { verdict, text } = told([...upToCores, rate(32, 700)]);
    expect(verdict).toBe("not here");
    expect(text).toContain("delivered most with 32 workers");
    expect(text).toContain(
      "1.35 times that of the best with fewer: no sign of workers that slow each other down.",
    );
  });

  it("inconclusive if the intervals do not decide it, or one is not known", () => {
    expect(told([...upToCores, rate(32, 500, 40)])).toMatchObject({
      verdict: "inconclusive",
      text: expect.stringContaining("leave open whether that is slower by 3 % or more."),
    });
    const unknown = { ...rate(32, 300), low: 0, high: Number.POSITIVE_INFINITY };
    expect(told([...upToCores, unknown]).verdict).toBe("inconclusive");
  });

  it("inconclusive if more workers than CPUs did not fit, with the reason", () => {
    const without = [
      "32 workers, not pinned: batches in flight need 6.2 MiB of /dev/shm, and 2 MiB are free.",
    ];
    const { verdict, text } = told(upToCores, { without });
    expect(verdict).toBe("inconclusive");
    expect(text).toContain("No more than 16 workers were tried, as many as there are CPUs");
    expect(text).toContain(without[0]!);
  });

  it("said with a figure for each number of workers, and the share of the most", () => {
    const figures = (rates: WorkersRate[]) =>
      concludeTooManyWorkers({ cpus: 16, rates, without: [] }).figures;
    const own = { unit: "batches/s", samples: 400 };
    expect(figures([rate(0, 45), rate(1, 50), rate(32, 40)])).toEqual([
      { ...own, name: "0 workers", value: 45, interval: { low: 40, high: 50 } },
      { ...own, name: "1 worker", value: 50, interval: { low: 45, high: 55 } },
      { ...own, name: "32 workers", value: 40, interval: { low: 35, high: 45 } },
      expect.objectContaining({ name: "32 workers over 1", value: 0.8 }),
    ]);
    const open = { ...rate(8, 50), high: Number.POSITIVE_INFINITY };
    const from0 = { ...rate(16, 50), low: 0 };
    expect(figures([open, from0]).map(({ interval }) => interval)).toEqual([null, null, null]);
  });

  it("said of two numbers, and of the first of equal ones; the rule of thumb only where it was tried", () => {
    const { text } = told([rate(8, 300), rate(32, 300)]);
    expect(text).toContain("delivered most with 8 workers");
    expect(text.split("\n")).toHaveLength(3);
    expect(text).not.toContain("as many workers");
  });

  it("inconclusive for one number", () => {
    expect(told([rate(0, 45)])).toEqual({
      verdict: "inconclusive",
      text: "There are no two numbers of workers to compare.",
    });
    expect(told([rate(0, 45)], { without: ["Why not."] }).text).toContain("Why not.");
  });
});
