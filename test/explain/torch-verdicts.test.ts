import { describe, expect, it } from "vitest";
import type { Question, Tools } from "../../src/explain/question.js";
import { convertingCopy } from "../../src/explain/questions/converting-copy.js";
import { forgottenPageable } from "../../src/explain/questions/forgotten-pageable.js";
import { loaderPinMemory } from "../../src/explain/questions/loader-pin-memory.js";
import { nonBlocking } from "../../src/explain/questions/non-blocking.js";
import { pinnedInAClass } from "../../src/explain/questions/pinned-in-a-class.js";
import { pinningInTheLoop } from "../../src/explain/questions/pinning-in-the-loop.js";
import { tooManyWorkers } from "../../src/explain/questions/too-many-workers.js";

/* Verdicts on each claim, from times that the user's torch would report. */

/** A median in ms, or with what the times deviate from it at most: 0.01 is 1 %. */
type Time = number | [ms: number, spread: number];
type Times = Record<string, Time>;

/** 15 times around a median, first rising. */
function roundsOf(time: Time): number[] {
  const [ms, spread] = typeof time === "number" ? [time, 0.005] : time;
  return Array.from({ length: 15 }, (_, round) => ms * 1e6 * (1 + (spread * (round - 7)) / 7));
}

async function answer(question: Question, times: Times, facts: Record<string, number | boolean> = {}) {
  const rounds = Object.fromEntries(Object.entries(times).map(([name, time]) => [name, roundsOf(time)]));
  const measure = async (name: string) => {
    expect(name).toBe(question.name);
    return { type: "measured", torch: "torch 2.11.0 of python3, on a GPU", times: rounds, facts };
  };
  return question.answer({ torch: { measure }, onActivity: () => undefined } as unknown as Tools);
}

type Row = [situation: string, changes: Times, holds: boolean | null];

/** Each situation is the usual one, changed. */
function decides(question: Question, usual: Times, rows: readonly Row[], facts = {}) {
  it.each<Row>([["all times are as usual", {}, rows[0]![2]], ...rows.slice(1)])(
    "gives the verdict $2 if %s",
    async (_, changes, holds) => {
      expect((await answer(question, { ...usual, ...changes }, facts)).holds).toBe(holds);
    },
  );
}

describe("the question loader-pin-memory", () => {
  const usual = { pinned: 28.4, unpinned: 27, uncopied: 25.5 };

  it("reports the length of an epoch, and the share that copying takes", async () => {
    const { summary, figures } = await answer(loaderPinMemory, usual);
    expect(summary).toBe(
      "An epoch takes 28.4 ms with pin_memory and 27 ms without, of which copying takes 5.5 % and making the batches the rest. (torch 2.11.0 of python3, on a GPU)",
    );
    expect(figures.map(({ value }) => Number(value.toPrecision(3)))).toEqual([
      28.4e6, 27e6, 25.5e6, -0.0519, 0.0556,
    ]);
  });

  decides(loaderPinMemory, usual, [
    ["", {}, false],
    ["pin_memory saves time", { pinned: 24 }, true],
    ["pin_memory saves next to nothing", { pinned: 26.9 }, false],
    ["pin_memory saves time, but perhaps too little", { pinned: [26.46, 0.02] }, null],
  ]);
});

describe("the question non-blocking", () => {
  const usual = {
    ...{ compute: 5, pinnedCopy: 1.2, pageableCopy: 4.8, pinnedCall: 0.02, pageableCall: 4.7 },
    ...{ pinnedOneStream: 6.2, pinnedOwnStream: 5.1, pageableOneStream: 9.7, pageableOwnStream: 9.6 },
  };

  it("reports the share of a copy's time that each kind of memory hides in each stream", async () => {
    const { summary, figures } = await answer(nonBlocking, usual);
    expect(summary).toMatch(
      /pinned copy hides 0\.0 % in torch's one stream and 91\.6 % in a stream of its own, a pageable one 2\.0 % and 4\.1 %\./,
    );
    expect(figures).toHaveLength(9);
  });

  decides(nonBlocking, usual, [
    ["", {}, false],
    ["copy and kernel overlap in one stream", { pinnedOneStream: 5.1 }, true],
    ["the interval includes the bound", { pinnedOneStream: [5.6, 0.1] }, null],
    ["the copy is the longer part", { pinnedCopy: 9, pinnedOneStream: 10 }, true],
  ]);
});

describe("the question pinned-in-a-class", () => {
  const usual = {
    ...{ senderPinned: 1.23, senderPageable: 4.5, receiverPinned: 4.6, receiverPageable: 4.6 },
    registered: 1.23,
  };
  const facts = { isPinned: false, registerRefused: 0 };

  it("reports the speed-up that is left in the receiver, and what registering brings back", async () => {
    const { summary, figures } = await answer(pinnedInAClass, usual, facts);
    expect(summary).toMatch(
      /^A pinned copy is 3\.66 times as fast in the sender and 1 times in the receiver, where is_pinned\(\) is False; cudaHostRegister there brings a copy from 4\.6 ms to 1\.23 ms\./,
    );
    expect(figures).toHaveLength(7);
    const { registered: _, ...refused } = usual;
    const without = await answer(pinnedInAClass, refused, { isPinned: true, registerRefused: 801 });
    expect(without.summary).toContain("is_pinned() is True; cudaHostRegister is refused there (error 801).");
    expect(without.figures).toHaveLength(6);
  });

  decides(
    pinnedInAClass,
    usual,
    [
      ["", {}, true],
      ["the receiver copies as fast as the sender", { receiverPinned: 1.23 }, false],
      ["pinning gains nothing in the first place", { senderPageable: 1.23 }, false],
      ["the receiver's copies vary", { receiverPinned: [3.5, 0.3] }, null],
    ],
    facts,
  );
});

describe("the question converting-copy", () => {
  const usual = { plain: 1.2, converting: 11, nonBlocking: 1.5, after: 1.4 };

  it("reports the time of converting within the copy and after it", async () => {
    const { summary, figures } = await answer(convertingCopy, usual);
    expect(summary).toContain("takes 11 ms, .to(device).to(float32) 1.4 ms.");
    expect(figures.at(-1)!.value).toBeCloseTo(7.86, 2);
  });

  decides(convertingCopy, usual, [
    ["", {}, true],
    ["the GPU is no faster", { after: 11 }, false],
    ["the interval includes the bound", { converting: [2.1, 0.2] }, null],
  ]);
});

describe("the question pinning-in-the-loop", () => {
  const usual = { pageable: 5, eachTime: 9, kept: 6, before: 1.2 };

  it("reports the time of a batch by each of four methods", async () => {
    expect((await answer(pinningInTheLoop, usual)).summary).toMatch(
      /^A batch of 64 MiB takes 9 ms with pin_memory\(\) and 5 ms without, 6 ms through a kept pinned buffer, 1\.2 ms if it was pinned before\./,
    );
  });

  decides(pinningInTheLoop, usual, [
    ["", {}, false],
    ["pinning is quick", { eachTime: 3 }, true],
    ["the interval includes the bound", { eachTime: [4.8, 0.1] }, null],
  ]);
});

describe("the question forgotten-pageable", () => {
  const usual = { queue: 20, pinned: 0.02, pageable: 20.3, labels: 20.1 };

  it("reports the time after which each call returns", async () => {
    expect((await answer(forgottenPageable, usual)).summary).toMatch(
      /^Behind kernels of 20 ms the call of a copy returns after 20\.3 ms from pageable memory \(2 KiB: 20\.1 ms\), and after 20 µs from pinned memory\./,
    );
  });

  decides(forgottenPageable, usual, [
    ["", {}, true],
    ["no call waits", { pageable: 0.1 }, false],
    ["all calls wait, pinned or not", { pinned: 20 }, false],
    ["the interval includes the bound", { pageable: [10, 0.2] }, null],
  ]);
});

describe("the question too-many-workers", () => {
  const usual = { none: 16, half: 4, each: 2.1, twice: 2.5 };

  it("compares the largest number of workers with the best of fewer", async () => {
    const { summary, figures } = await answer(tooManyWorkers, usual, { cpus: 8 });
    expect(summary).toMatch(/^On 8 CPUs a batch takes 2\.5 ms with two workers for each, 2\.1 ms with one/);
    expect(figures.at(-1)!.value).toBeCloseTo(2.5 / 2.1, 6);
  });

  decides(
    tooManyWorkers,
    usual,
    [
      ["", {}, true],
      ["the largest number of workers is the fastest", { twice: 2 }, false],
      ["half as many workers as CPUs are the fastest", { half: 1.9 }, true],
      ["the interval includes the bound", { twice: [2.2, 0.1] }, null],
    ],
    { cpus: 8 },
  );
});

it("torch's output without a requested time is an error", async () => {
  await expect(answer(convertingCopy, { plain: 1 })).rejects.toThrow();
});
