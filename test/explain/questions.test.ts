import { describe, expect, it } from "vitest";
import type { Answer, Question, RunRequest, Tools } from "../../src/explain/question.js";
import { eightyOneTimes } from "../../src/explain/questions/eighty-one-times.js";
import { lowLatency } from "../../src/explain/questions/low-latency.js";
import { mappedWeights } from "../../src/explain/questions/mapped-weights.js";
import { overlap } from "../../src/explain/questions/overlap.js";
import { severalGpus } from "../../src/explain/questions/several-gpus.js";
import { tooSmall } from "../../src/explain/questions/too-small.js";
import { whyPinned } from "../../src/explain/questions/why-pinned.js";
import { KiB, MiB } from "../../src/settings/units.js";
import { buildCell, buildColdStart, buildDocument, type CellPart } from "../helpers/result-document.js";

/*
 * Verdicts on each claim. The first cells of each are an H200's; the others reverse the verdict or leave it open,
 * because an interval includes the bound.
 */

const directions = ["d2h", "h2d"] as const;

/** The answer from these cells, and from others in the other direction, which count nothing. */
function answerFrom(question: Question, parts: readonly CellPart[], devices = [0, 1]): Promise<Answer> {
  const cells = parts.flatMap((part) => directions.map((direction) => buildCell({ direction, ...part })));
  const tools: Partial<Tools> = {
    devices: devices.map((ordinal) => ({ ordinal })) as Tools["devices"],
    run: async () => buildDocument({ cells }),
  };
  return question.answer(tools as Tools);
}

type Rate = number | [GBps: number, relativeHalfWidth: number | null];

const rate = (part: CellPart, of: Rate): CellPart => {
  const [GBps, relativeHalfWidth] = typeof of === "number" ? [of, 0.01] : of;
  return { sizeBytes: 64 * MiB, ...part, GBps: { h2d: GBps, d2h: 3 }, relativeHalfWidth };
};

describe("the question why-pinned", () => {
  const usual = { pageable: 10.98, host: 12.6, staged: 11.3, pinned: 55.3 } as Record<string, Rate>;
  const answer = (changes: Record<string, Rate> = {}) =>
    answerFrom(
      whyPinned,
      Object.entries({ ...usual, ...changes }).map(([memory, of]) => rate({ memory } as CellPart, of)),
    );

  it("reports the rates of four kinds of memory, and a summary of one line", async () => {
    const { figures, summary } = await answer();
    expect(figures.map(({ value }) => Number(value.toFixed(2)))).toEqual([
      10.98, 12.6, 11.3, 55.3, 0.87, 5.04,
    ]);
    expect(summary).toBe(
      "The CPU fills pinned slots at 12.6 GB/s, a pageable copy reaches 10.9 GB/s, a pinned one 55.3 GB/s.",
    );
  });

  it.each([
    ["a pageable copy is as fast as the CPU's copy, and a pinned one is faster", {}, true],
    ["pinned memory is no faster", { pinned: 11 }, false],
    ["the CPU copies much faster than a pageable copy goes", { host: 40 }, false],
    ["a pageable copy goes much faster than the CPU copies", { host: 8 }, false],
    ["it is open whether the CPU limits a pageable copy", { pageable: [10, 0.6] }, null],
    ["the gain has no interval", { pinned: [55.3, null] }, null],
  ] as [string, Record<string, Rate>, boolean | null][])(
    "gives the verdict $2 if %s",
    async (_, changes, holds) => {
      expect((await answer(changes)).holds).toBe(holds);
    },
  );
});

describe("the question mapped-weights", () => {
  const answer = (registered: Rate) => {
    const rates = { pageable: 7.5, pinned: 55.3, file: 8.1, "file-registered": registered };
    return answerFrom(
      mappedWeights,
      Object.entries(rates).map(([memory, of]) => rate({ memory, sizeBytes: 16 * MiB } as CellPart, of)),
    );
  };

  it.each([
    [55.1, false],
    [8.2, true],
    [[8.9, 0.2], null],
  ] as [Rate, boolean | null][])(
    "gives the verdict $1 if a registered mapping reaches %j GB/s (second figure: relative half-width)",
    async (registered, holds) => {
      expect((await answer(registered)).holds).toBe(holds);
    },
  );
});

describe("the question 81-times", () => {
  async function answer(pageableMs: number, factors = [0.97, 0.98, 1, 1.01, 1.02, 1.03]) {
    let runs = 0;
    const said: string[] = [];
    const tools: Partial<Tools> = {
      runInFreshProcess: async () => {
        const factor = factors[runs++]!;
        const cell = (memory: "pinned" | "pageable", ms: number) =>
          buildCell({ memory, sizeBytes: 40e6, GBps: 40 / ms });
        return buildDocument({
          cells: [cell("pinned", 0.72), cell("pageable", pageableMs * factor)],
          coldStart: [buildColdStart({ initNs: 92e6 * factor, contextNs: 90e6 * factor })],
        });
      },
      onActivity: (text) => said.push(text),
    };
    return { ...(await eightyOneTimes.answer(tools as Tools)), said };
  }

  it("separates the start of CUDA from the copies of six fresh processes", async () => {
    const { figures, summary, said } = await answer(3.7);
    expect(figures.map(({ value }) => Number(value.toPrecision(3)))).toEqual([
      183e6, 3.72e6, 0.72e6, 5.16, 259,
    ]);
    expect(figures.map(({ samples }) => samples)).toEqual(Array(5).fill(6));
    expect(said).toEqual([1, 2, 3, 4, 5, 6].map((run) => `fresh process ${run} of 6`));
    expect(summary).toBe(
      "Pinned copies are 5.16 times as fast; with the start of CUDA (183 ms) counted to the pageable copy they look 259 times as fast.",
    );
  });

  it.each([
    ["CUDA's start made the difference", 3.7, false],
    ["the copies themselves differ by more than 81 times", 90, true],
    ["the interval includes 81", 81 * 0.72, null],
  ])("gives the verdict $2 if %s", async (_, pageableMs, holds) => {
    expect((await answer(pageableMs)).holds).toBe(holds);
  });
});

const latency = (part: CellPart, us: number, relativeHalfWidth = 0.01): CellPart => ({
  ...part,
  ...{ mode: "latency", relativeHalfWidth, GBps: { h2d: 1, d2h: 3 }, latencyUs: { median: us, p99: 2 * us } },
});

describe("the question too-small", () => {
  const sizesBytes = [128 * KiB, MiB, 4 * MiB, 16 * MiB];
  const answer = (...times: [pageableUs: number, pinnedUs: number, relativeHalfWidth?: number][]) =>
    answerFrom(
      tooSmall,
      times.flatMap(([pageable, pinned, width], i) => [
        latency({ memory: "pinned", sizeBytes: sizesBytes[i]! }, pinned, width),
        latency({ memory: "pageable", sizeBytes: sizesBytes[i]! }, pageable, width),
      ]),
    );
  const larger: [number, number][] = [
    [100, 22],
    [400, 80],
    [1500, 305],
  ];

  it("reports the ratio, the time saved for a batch, and whether a step would notice it", async () => {
    const { figures, summary } = await answer([26.4, 10.2], ...larger);
    expect(figures.map(({ value }) => Number((value / 1e3).toFixed(1)))).toEqual([
      26.4, 10.2, 16.2, 78, 320, 1195,
    ]);
    expect(summary).toBe("2.59 times, 16.2 µs a batch: below 5 % of a 1 ms step. From 1 MiB on it is more.");
  });

  it("names the size from which on all larger batches surely save more", async () => {
    const { summary } = await answer([26.4, 10.2], [100, 22], [60, 22, 0.4], [1500, 305]);
    expect(summary).toMatch(/From 16 MiB on it is more\.$/);
    const none = await answer([6, 7], [22, 22], [22, 22], [22, 22]);
    expect(none.summary).toMatch(/below 5 % .+ No larger batch surely saves more\.$/);
  });

  it.each([
    ["pinning saves little time for a small batch", [18, 6], true, "below"],
    ["pinning saves much time even for a small batch", [118, 6], false, "above"],
    ["the interval includes the bound", [56, 6, 0.05], null, "about"],
  ] as [string, [number, number, number?], boolean | null, string][])(
    "gives the verdict $2 if %s",
    async (_, first, holds, standing) => {
      const { holds: found, summary } = await answer(first, ...larger);
      expect([found, summary.includes(`: ${standing} 5 %`)]).toEqual([holds, true]);
    },
  );
});

describe("the question low-latency", () => {
  const answer = (copiedFirst: number, width?: number) => {
    const cell = (memory: "pageable" | "staged" | "pinned", us: number, halfWidth?: number) =>
      latency({ memory, sizeBytes: 3 * 224 * 224 * 4 }, us, halfWidth);
    return answerFrom(lowLatency, [
      cell("staged", copiedFirst, width),
      cell("pageable", 62),
      cell("pinned", 14),
    ]);
  };

  it("reports the median and the slowest in a hundred, for three kinds of memory", async () => {
    const { figures, summary } = await answer(63);
    expect(figures.slice(0, 6).map(({ value }) => value / 1e3)).toEqual([62, 63, 14, 124, 126, 28]);
    expect(summary).toBe(
      "From pageable memory it arrives after 62 µs, copied into a pinned buffer first after 63 µs, decoded into pinned memory after 14 µs.",
    );
  });

  it.each([
    ["copying into a pinned buffer first is no faster than a pageable copy", [63], false],
    ["copying into a pinned buffer first is faster than a pageable copy", [40], true],
    ["the interval includes the bound", [58, 0.1], null],
  ] as [string, [number, number?], boolean | null][])(
    "gives the verdict $2 if %s",
    async (_, [us, width], holds) => {
      expect((await answer(us, width)).holds).toBe(holds);
    },
  );
});

describe("the question overlap", () => {
  type Kind = [copyMs: number, inTurnMs: number, inChunksMs: number, relativeHalfWidth?: number];
  const kernels = { result: { computeNs: 1.35e6 } };
  const cellsOf = (memory: "pinned" | "pageable", [copy, inTurn, inChunks, width = 0.001]: Kind) => {
    const cell = (part: CellPart, ms: number) => rate({ memory, ...part }, [(64 * MiB) / (ms * 1e6), width]);
    return [
      cell({ chunks: 8, ...kernels }, inChunks),
      cell({ chunks: 1, ...kernels }, inTurn),
      cell({}, copy),
    ];
  };
  const answer = (pinned: Kind, pageable: Kind) =>
    answerFrom(overlap, [...cellsOf("pageable", pageable), ...cellsOf("pinned", pinned)]);
  const waiting: Kind = [6, 7.5, 7.48];

  it("reports the hidden share of the copy time that can be hidden: all but the first chunk's", async () => {
    const { figures, summary } = await answer([1.2, 2.5, 1.975], waiting);
    expect(figures[2]!.value).toBeCloseTo((2.5 - 1.975) / (1.2 * (7 / 8)), 6);
    expect(summary).toMatch(/pinned copies hide (49\.9|50\.0) %, pageable ones 1\.6 %\.$/);
  });

  it.each([
    ["pinned copies overlap with kernels and pageable copies wait", [1.21, 2.57, 1.5], waiting, true],
    ["pinned copies wait", [1.21, 2.57, 2.56], waiting, false],
    ["pageable copies overlap too", [1.21, 2.57, 1.5], [6, 7.5, 6.4], false],
    ["times vary", [1.21, 2.57, 1.5], [33, 44, 41, 0.1], null],
  ] as [string, Kind, Kind, boolean | null][])(
    "gives the verdict $3 if %s",
    async (_, pinned, pageable, holds) => {
      expect((await answer(pinned, pageable)).holds).toBe(holds);
    },
  );
});

describe("the question several-gpus", () => {
  const together = [0, 1];
  const answer = (...rates: Rate[]) =>
    answerFrom(
      severalGpus,
      rates.flatMap((of, device) => [
        rate({ device, together, memory: "pinned" }, of),
        rate({ device, memory: "pinned" }, 55),
        rate({ device, together, memory: "pageable" }, 6),
        rate({ device, memory: "pageable" }, 11),
      ]),
    );

  it("reports the share of its rate that each device keeps", async () => {
    const { figures, summary } = await answer(54, 53);
    expect(figures.map(({ value }) => Number(value.toFixed(2)))).toEqual([0.98, 0.96, 0.55, 0.55]);
    expect(summary).toBe(
      "With all copying at once, the slowest keeps 96.3 % of its pinned rate (107.0 GB/s in all), and 54.5 % of its pageable rate (12.0 GB/s in all).",
    );
  });

  it.each([
    ["each device keeps its rate", [54, 53], true],
    ["one device loses half of its rate", [54, 28], false],
    ["the interval includes the bound", [54, [49.5, 0.05]], null],
  ] as [string, Rate[], boolean | null][])("gives the verdict $2 if %s", async (_, rates, holds) => {
    expect((await answer(...rates)).holds).toBe(holds);
  });

  it("measures all devices at once, and is unavailable with fewer than two", async () => {
    const asked: RunRequest[] = [];
    const run = async (request: RunRequest) => {
      asked.push(request);
      throw new Error("enough");
    };
    const devices = [0, 3].map((ordinal) => ({ ordinal })) as Tools["devices"];
    await expect(severalGpus.answer({ devices, run } as Partial<Tools> as Tools)).rejects.toThrow("enough");
    expect(asked).toMatchObject([{ devices: [0, 3], together: true }]);
    await expect(answerFrom(severalGpus, [], [0])).rejects.toMatchObject({ kind: "unavailable" });
  });
});

it.each([whyPinned, lowLatency, overlap, tooSmall])(
  "the question $name says which cell was not measured",
  async (question) => {
    await expect(answerFrom(question, [])).rejects.toThrow(/^nothing was measured of (pinned|pageable)/);
  },
);
