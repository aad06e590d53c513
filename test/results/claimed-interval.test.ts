import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  areRecorded,
  claimedBlockRate,
  claimedInterval,
  ratioInterval,
} from "../../src/results/claimed-interval.js";
import type { Memory } from "../../src/settings/choices.js";
import { buildDistribution } from "../helpers/result-document.js";

interface Recorded {
  cells: { memory: Memory; direction: string; sizeBytes: number; workers: number; mediansGBps: number[] }[];
}

const file = new URL("../../results/nvidia-h200/noise.json", import.meta.url);
const { cells }: Recorded = JSON.parse(readFileSync(file, "utf8"));

const widthOf = (memory: Memory, relativeHalfWidth: number) => {
  const { median, low, high } = claimedInterval(memory, buildDistribution(10, relativeHalfWidth))!;
  return { below: 1 - low / median, above: high / median - 1 };
};

describe("what one process may claim", () => {
  it("allows for the recorded spread between processes, which is that of ordinary memory above all", () => {
    expect(widthOf("pinned", 0).above).toBeCloseTo(0.0052, 4);
    expect(widthOf("pageable", 0).above).toBeCloseTo(0.117, 3);
    expect(widthOf("staged", 0).above).toBeCloseTo(0.235, 3);
  });

  it("claims nothing of 0", () => {
    expect(claimedInterval("pinned", buildDistribution(0, 0.1))).toBeNull();
  });

  it("takes memory that was not recorded for as steady as pinned at best", () => {
    for (const memory of ["registered", "mapped", "write-combined", "device"] as const) {
      expect(widthOf(memory, 0)).toEqual(widthOf("pinned", 0));
    }
  });

  it("is less certain if the process itself is", () => {
    expect(widthOf("pinned", 0.1).above).toBeGreaterThan(0.13);
    expect(widthOf("pageable", 0.1).above).toBeGreaterThan(widthOf("pageable", 0.01).above);
  });

  it("is nothing without an interval", () => {
    expect(claimedInterval("pinned", buildDistribution(10, null))).toBeNull();
  });
});

describe("what several processes may claim", () => {
  it("is the interval between them, as it is", () => {
    const distribution = { ...buildDistribution(10, 0.02), processMedians: [9.9, 10, 10.1] };
    expect(claimedInterval("staged", distribution)).toEqual({ median: 10, low: 9.79, high: 10.19 });
  });

  it("is the recorded spread if they are too few for one", () => {
    const distribution = { ...buildDistribution(10, null), processMedians: [9.9, 10.1] };
    const { high } = claimedInterval("pinned", distribution)!;
    expect(high / 10 - 1).toBeCloseTo(0.0045, 4);
    expect(high / 10 - 1).toBeLessThan(widthOf("pinned", 0).above);
  });
});

describe("the rate of blocks of pinned memory", () => {
  const rate = buildDistribution(10, 0.01);
  const claimed = (linkGBps: number | undefined) =>
    claimedBlockRate({ blockWay: "loop", memory: "pinned" }, rate, linkGBps)!;

  it("is as certain as that of the link if it is as fast or faster, and as pageable copies if it is far slower", () => {
    const [ofLink, ofCpu] = [claimedInterval("pinned", rate)!, claimedInterval("pageable", rate)!];
    for (const link of [10, 9]) expect(claimed(link)).toEqual(ofLink);
    expect(claimed(1e6).high).toBeCloseTo(ofCpu.high, 4);
    expect(claimed(20).high).toBeCloseTo(Math.sqrt(ofLink.high * ofCpu.high), 10);
    expect(claimed(undefined)).toEqual(ofCpu);
  });

  it.each([
    ["gather", "pinned", "staged"],
    ["kernel", "pinned", "pinned"],
    ["loop", "pageable", "pageable"],
  ] as const)("is as certain by %s from %s memory as that of %s copies", (blockWay, memory, like) => {
    expect(claimedBlockRate({ blockWay, memory }, rate, 12)).toEqual(claimedInterval(like, rate));
  });

  it("claims nothing of 0", () => {
    const none = buildDistribution(0, 0.01);
    expect(claimedBlockRate({ blockWay: "loop", memory: "pinned" }, none, 10)).toBeNull();
  });
});

it("recordings apply to devices that are all recorded", () => {
  const [recorded, other] = ["NVIDIA H200", "NVIDIA T4"] as const;
  expect([[recorded, recorded], [recorded, other], []].map(areRecorded)).toEqual([true, false, false]);
});

describe("the interval of a ratio", () => {
  it("is that of one figure if the other is exact", () => {
    const exact = { median: 10, low: 10, high: 10 };
    const { median, low, high } = ratioInterval({ median: 20, low: 18, high: 25 }, exact);
    expect([median, low, high].map((value) => value.toFixed(3))).toEqual(["2.000", "1.800", "2.500"]);
  });

  it("is that of the inverse ratio, inverted", () => {
    const [one, other] = [
      { median: 20, low: 18, high: 25 },
      { median: 10, low: 9, high: 12 },
    ];
    const [there, back] = [ratioInterval(one, other), ratioInterval(other, one)];
    expect(there.low * back.high).toBeCloseTo(1, 12);
    expect(there.high * back.low).toBeCloseTo(1, 12);
  });
});

describe("in the recorded processes", () => {
  const ratioOf = (one: number, other: number, memory: Memory, otherMemory: Memory) =>
    ratioInterval(
      claimedInterval(memory, buildDistribution(one, 0))!,
      claimedInterval(otherMemory, buildDistribution(other, 0))!,
    );

  it("is low if the one is low and the other high, by the ends that lead there", () => {
    // Of 10 (5 to 40) to 2 (1 to 3): below by ln 2 and ln 1.5, above by ln 4 and ln 2.
    const { median, low, high } = ratioInterval(
      { median: 10, low: 5, high: 40 },
      { median: 2, low: 1, high: 3 },
    );
    expect(median).toBe(5);
    expect(low).toBeCloseTo(5 / Math.exp(Math.hypot(Math.log(2), Math.log(1.5))), 9);
    expect(high).toBeCloseTo(5 * Math.exp(Math.hypot(Math.log(4), Math.log(2))), 9);
  });

  it.each([
    ["pinned", "pageable"],
    ["pinned", "staged"],
    ["staged", "pageable"],
  ] as const)(
    "at most 1 in 20 finds a ratio of %s to %s outside what another one claims",
    (memory, otherMemory) => {
      let claims = 0;
      let denied = 0;
      let contradicted = 0;
      for (const cell of cells.filter((each) => each.memory === memory)) {
        const other = cells.find(
          (each) =>
            each.memory === otherMemory &&
            each.direction === cell.direction &&
            each.sizeBytes === cell.sizeBytes &&
            each.workers === cell.workers,
        )!;
        for (const [p, median] of cell.mediansGBps.entries()) {
          const { low, high } = ratioOf(median, other.mediansGBps[p]!, memory, otherMemory);
          for (const [q, another] of cell.mediansGBps.entries()) {
            if (p === q) continue;
            const found = another / other.mediansGBps[q]!;
            ++claims;
            if (found < low || found > high) ++denied;
            if ((low > 1 && found < 1) || (high < 1 && found > 1)) ++contradicted;
          }
        }
      }
      expect(denied / claims).toBeLessThan(0.05);
      expect(contradicted / claims).toBeLessThan(0.005);
    },
  );
});
