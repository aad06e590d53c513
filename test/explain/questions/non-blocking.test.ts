import { describe, expect, it } from "vitest";
import { concludeNonBlocking } from "../../../src/explain/questions/non-blocking.js";
import type { TorchExperiments } from "../../../src/explain/torch/program-messages.js";
import { timesAround } from "./times.js";

const ms = (time: number, spread?: number) => timesAround(time * 1e6, spread);

/** One stream makes a queue, and two let copies run beside a computation of 5 ms. */
const usual: TorchExperiments["overlap"]["figures"] = {
  bytes: 64 << 20,
  compute: ms(5),
  pinnedCopy: ms(1.2),
  pageableCopy: ms(4.8),
  pinnedCall: ms(0.02),
  pageableCall: ms(4.7),
  pinnedOneStream: ms(6.2),
  pageableOneStream: ms(9.7),
  pinnedOwnStream: ms(5.1),
  pageableOwnStream: ms(9.6),
};

const told = (changes: Partial<TorchExperiments["overlap"]["figures"]> = {}) => {
  const { verdict, parts, sentences } = concludeNonBlocking({ ...usual, ...changes });
  return { verdict, parts: parts?.map((part) => part.verdict), text: sentences.join("\n") };
};

describe("that non_blocking=True lets a copy overlap is", () => {
  it("not here if one stream makes a queue, and then it is said what a stream of its own does", () => {
    expect(told()).toEqual({
      verdict: "not here",
      parts: ["not here", "true", "not here", "not here"],
      text: `.to(device, non_blocking=True) for 64 MiB of pinned memory returns after 20 µs of a copy that takes 1.2 ms, and does not wait; for pageable memory it returns after 4.7 ms of a copy that takes 4.8 ms: it waits for most of the copy.
In torch's one stream, as a training loop has it, a computation of 5 ms and then a pinned copy take 6.2 ms: one runs after the other.
In a stream of its own (torch.cuda.stream()) both take 5.1 ms: they overlap, with 91.7 % of the shorter one hidden.
From pageable memory both take 9.7 ms in one stream (one runs after the other) and 9.6 ms in two (one runs after the other).
So a copy needs both to overlap: pinned memory and a stream of its own. In one stream non_blocking=True only lets the CPU go on.`,
    });
  });

  it("true if they overlap in one stream", () => {
    const { verdict, text } = told({ pinnedOneStream: ms(5.1) });
    expect(verdict).toBe("true");
    expect(text).toContain("So non_blocking=True with pinned memory is enough for the two to overlap.");
  });

  it("inconclusive if the intervals lie on both sides of the bound", () => {
    const { verdict, parts, text } = told({ pinnedOneStream: ms(5.6, 0.1) });
    expect(verdict).toBe("inconclusive");
    expect(parts).toEqual(["inconclusive", "true", "not here", "not here"]);
    expect(text).toContain("take 5.6 ms: the intervals leave open whether they overlap.");
  });
});

describe("of what it takes for a copy to overlap is said", () => {
  it("that pinning is not part of it, and what pageable memory costs all the same", () => {
    const { parts, text } = told({ pageableOwnStream: ms(5.2) });
    expect(parts?.[3]).toBe("true");
    expect(text).toContain("5.2 ms in two (they overlap, with 95.8 % of the shorter one hidden)");
    expect(text).toContain(
      "pinned or not; but from pageable memory the call keeps the CPU for most of the copy.",
    );
    expect(told({ pageableOwnStream: ms(5.2), pageableCall: ms(0.1) }).text).toContain("pinned or not.");
  });

  it("nothing of what the intervals leave open", () => {
    expect(told({ pageableOwnStream: ms(7.4, 0.3) }).text).toContain(
      "a copy needs a stream of its own to overlap; the intervals leave open whether it also needs pinned memory.",
    );
    expect(told({ pinnedOneStream: ms(5.6, 0.1) }).text).toContain("it is open whether they overlap");
    expect(told({ pinnedCall: ms(1.2) }).text).not.toContain("only lets the CPU go on");
  });

  it("that copies hardly overlap if some of them is hidden", () => {
    expect(told({ pinnedOneStream: ms(5.8) }).text).toContain(
      "take 5.8 ms: they hardly overlap, with 33.3 % of the shorter one hidden.",
    );
  });

  it("that nothing does, or that this is not certain", () => {
    expect(told({ pinnedOwnStream: ms(6.2) }).text).toContain(
      "So no pinned copy overlaps with this computation here.",
    );
    expect(told({ pinnedOwnStream: ms(5.6, 0.1) }).text).toContain("it is open whether they overlap");
  });
});

it("the figures are the times of each kind of copy, and of both together with what is hidden of the shorter", () => {
  const { figures } = concludeNonBlocking({ ...usual, compute: ms(2), pageableOneStream: ms(6) });
  const inWords = figures.map(
    ({ name, value, unit }) => `${name}: ${Number((unit === "ns" ? value / 1e6 : value).toFixed(2))}`,
  );
  expect(inWords).toEqual([
    ...["the computation alone: 2", "pinned: a copy alone: 1.2", "pinned: until its call returns: 0.02"],
    ...["pageable: a copy alone: 4.8", "pageable: until its call returns: 4.7"],
    ...["pinned, one stream: both: 6.2", "pinned, one stream: hidden of the shorter: -2.5"],
    ...["pinned, own stream: both: 5.1", "pinned, own stream: hidden of the shorter: -1.58"],
    ...["pageable, one stream: both: 6", "pageable, one stream: hidden of the shorter: 0.4"],
    ...["pageable, own stream: both: 9.6", "pageable, own stream: hidden of the shorter: -1.4"],
  ]);
});

it("a call that waits for its copy is said to, and one that may is not", () => {
  expect(told({ pinnedCall: ms(1.2) }).text).toContain(
    "returns after 1.2 ms of a copy that takes 1.2 ms: it waits for most of the copy;",
  );
  expect(told({ pinnedCall: ms(0.6, 0.3) }).text).toContain(
    "returns after 600 µs of a copy that takes 1.2 ms;",
  );
});
