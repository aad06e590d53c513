import { describe, expect, it } from "vitest";
import { concludePinnedInAClass } from "../../../src/explain/questions/pinned-in-a-class.js";
import type { TorchExperiments } from "../../../src/explain/torch/program-messages.js";
import { timesAround } from "./times.js";

const bytes = 64 << 20;
/** Times of copies at rates around this many GB/s. */
const at = (rate: number, spread?: number) => timesAround(bytes / rate, spread);

/** As an H200 has it. */
const usual: TorchExperiments["sent"]["figures"] = {
  bytes,
  isPinnedBefore: true,
  isPinnedAfter: false,
  isPinnedInChild: false,
  isPinnedInObject: false,
  isPinnedRegistered: true,
  parentPinned: at(54.4),
  parentPageable: at(14.8),
  childPinned: at(14.6),
  childInObject: at(14.6),
  childPageable: at(14.5),
  childRegistered: at(54.4),
  registerRefused: null,
};

const told = (changes: Partial<TorchExperiments["sent"]["figures"]> = {}) => {
  const { verdict, sentences } = concludePinnedInAClass({ ...usual, ...changes });
  return { verdict, text: sentences.join("\n") };
};

describe("that a pinned tensor is no faster in another process is", () => {
  it("true if its speed-up is lost there, for the cause that is_pinned() tells", () => {
    expect(told()).toEqual({
      verdict: "true",
      text: `In the process that pinned it, a tensor of 64 MiB is copied to the GPU at 54.4 GB/s, 3.68 times the rate of a pageable one.
In a receiving process, inside an object, it is copied at 14.6 GB/s, 1.01 times the rate of a pageable one: the speed-up is lost.
The cause: is_pinned() is False there, with an object around the tensor and without one. torch sends a tensor by moving it into shared memory, which is not pinned; in the sender, too, is_pinned() is False from then on.
Registering that memory in the process that received it, with torch.cuda.cudart().cudaHostRegister(), brings it to 54.4 GB/s, 3.73 times the rate; is_pinned() is True again.`,
    });
  });

  it("true if copies of what arrived vary a lot, and yet most of the speed-up is lost for certain", () => {
    expect(told({ childInObject: at(14.6, 0.3), childPageable: at(14.5, 0.3) }).verdict).toBe("true");
  });

  it("inconclusive if little is left only of the most that it may have been", () => {
    // Between 1.7 and 4.6 times as fast before, and at least 1.2 times after.
    const wide = { parentPinned: at(2.5, 0.8), parentPageable: at(1, 0.01) };
    const after = { childInObject: at(1.2, 0.02), childPageable: at(1, 0.01) };
    expect(told({ ...wide, ...after }).verdict).toBe("inconclusive");
  });

  it("not here if it arrives pinned", () => {
    const { verdict, text } = told({
      ...{ isPinnedInChild: true, isPinnedInObject: true, isPinnedAfter: true },
      ...{ childPinned: at(54), childInObject: at(54), childRegistered: at(54) },
    });
    expect(verdict).toBe("not here");
    expect(text).toContain("3.72 times the rate of a pageable one: 102 % of the speed-up is left.");
    expect(text).toContain("is_pinned() is True there: it has arrived pinned.");
    expect(text).toContain("hardly makes it faster, if at all: 54.0 GB/s");
  });

  it("not here if pinning gains nothing in the first place", () => {
    const { verdict, text } = told({ parentPinned: at(14.8) });
    expect(verdict).toBe("not here");
    expect(text).toContain(
      "1.00 times the rate of a pageable one: pinning gains nothing here, so nothing can be lost.",
    );
  });

  it("inconclusive if the intervals are too wide, or too few rounds give none", () => {
    expect(told({ childInObject: at(22, 0.3) })).toMatchObject({
      verdict: "inconclusive",
      text: expect.stringContaining("the intervals leave open whether the speed-up is lost."),
    });
    const few = told({ childInObject: at(14.6).slice(0, 3) });
    expect(few.verdict).toBe("inconclusive");
    expect(few.text).toContain("\nis_pinned() is False there");
  });
});

it("the figures are the rates on both sides, and those of registered memory if it could be", () => {
  const { figures } = concludePinnedInAClass(usual);
  expect(figures.map(({ name }) => name)).toEqual([
    "sender: pinned",
    "sender: pageable",
    "sender: pinned over pageable",
    "receiver: pinned",
    "receiver: pinned, in an object",
    "receiver: pageable, in an object",
    "receiver: pinned over pageable, in objects",
    "receiver: registered",
    "receiver: registered over unregistered",
  ]);
  const apart = { childPinned: at(20), childPageable: at(10), childRegistered: at(40) };
  const values = concludePinnedInAClass({ ...usual, ...apart }).figures.map(({ value }) => value.toFixed(1));
  expect(values).toEqual(["54.4", "14.8", "3.7", "20.0", "14.6", "10.0", "1.5", "40.0", "2.7"]);
  const refused = concludePinnedInAClass({ ...usual, registerRefused: 801, childRegistered: [] });
  expect(refused.figures).toEqual(figures.slice(0, -2));
});

it("a speed-up that there may not have been cannot be lost", () => {
  expect(told({ parentPinned: at(15.2, 0.05), parentPageable: at(14.8, 0.05) }).text).toContain(
    "the intervals leave open whether the speed-up is lost.",
  );
  const few = told({ parentPinned: at(54.4).slice(0, 3) });
  expect(few.verdict).toBe("inconclusive");
  expect(few.text).toContain("the intervals leave open whether the speed-up is lost.");
});

it("what arrives unpinned and is as fast all the same is said to be so", () => {
  expect(told({ childInObject: at(54) }).text).toContain("And yet is_pinned() is False there");
});

describe("of the cause is said", () => {
  it.each([
    [
      { isPinnedInChild: true, isPinnedInObject: true },
      "is_pinned() is True there, so this is not the cause.",
    ],
    [
      { isPinnedInChild: true, isPinnedAfter: true },
      "is_pinned() is False there only for the tensor inside the object.",
    ],
    [{ isPinnedInObject: true }, "is_pinned() is False there only for the tensor by itself."],
    [{ isPinnedAfter: true }, "which is not pinned; in the sender it stays pinned."],
    [{ isPinnedBefore: false }, "is_pinned() is False even before it is sent: pinning it had no effect."],
  ])("what is_pinned() tells: %o", (changes, said) => {
    expect(told(changes).text).toContain(said);
  });
});

describe("of registering is said", () => {
  it("that CUDA refuses it", () => {
    expect(told({ registerRefused: 801, childRegistered: [] })).toMatchObject({
      verdict: "true",
      text: expect.stringContaining("CUDA refuses to register that memory there (error 801 of"),
    });
  });

  it("that it does not help, or that the figures are inconclusive", () => {
    expect(told({ childRegistered: at(14.6) }).text).toContain("The likely cause: is_pinned() is False");
    expect(told({ childRegistered: at(14.6), isPinnedRegistered: false }).text).toContain(
      "hardly makes it faster, if at all: 14.6 GB/s; is_pinned() stays False.",
    );
    expect(told({ childRegistered: at(16, 0.3) }).text).toContain(
      "leave open whether that is 1.1 times the rate",
    );
  });
});
