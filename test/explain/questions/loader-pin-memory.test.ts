import { describe, expect, it } from "vitest";
import { concludeLoaderPinMemory } from "../../../src/explain/questions/loader-pin-memory.js";
import { timesAround } from "./times.js";

const ms = (time: number, spread?: number) => timesAround(time * 1e6, spread);

/** As an H200 has it: pinning takes more than it saves. */
const usual = { batches: 79, pinned: ms(28.4), unpinned: ms(27), uncopied: ms(25.5) };

const told = (changes: Partial<typeof usual> = {}, gpuMissing: string | null = null) => {
  const { verdict, sentences } = concludeLoaderPinMemory({ ...usual, ...changes }, gpuMissing);
  return { verdict, text: sentences.join("\n") };
};

describe("that pin_memory makes a loader of small batches faster is", () => {
  it("not here if it costs time", () => {
    expect(told()).toEqual({
      verdict: "not here",
      text: `An epoch over 10 000 rows of 256 floats, in 79 batches of 128 KiB, takes 28.4 ms with pin_memory and 27 ms without.
That costs 17.7 µs a batch: batches this small gain nothing.
Copying is 5.56 % of an epoch without pin_memory; the rest is the making of batches in Python, which pinning cannot shorten.`,
    });
  });

  it("said with the times of epochs, and the shares of pinning and copying within each round", () => {
    // Each round's epochs take longer than those of the round before, alike.
    const rounds = (time: number) => ms(time).map((ns, round) => ns * (round + 1));
    const changes = { pinned: rounds(24), unpinned: rounds(27), uncopied: rounds(25.5) };
    const { figures } = concludeLoaderPinMemory({ ...usual, ...changes }, null);
    expect(
      figures.map(
        ({ name, value, unit }) => `${name}: ${(unit === "ns" ? value / 1e6 : value).toPrecision(3)}`,
      ),
    ).toEqual([
      "an epoch with pin_memory: 192",
      "an epoch without pin_memory: 216",
      "an epoch without copying: 204",
      "saved by pinning, a batch: 0.304",
      "saved by pinning, of an epoch: 0.111",
      "copying, of an epoch without pin_memory: 0.0556",
    ]);
  });

  it("not here if it saves next to nothing", () => {
    expect(told({ pinned: ms(26.9) })).toMatchObject({
      verdict: "not here",
      text: expect.stringContaining(
        "That saves 1.27 µs a batch, less than 2 % of it: batches this small gain",
      ),
    });
  });

  it("true if it saves time", () => {
    expect(told({ pinned: ms(24) })).toMatchObject({
      verdict: "true",
      text: expect.stringContaining(
        "That saves 38 µs a batch: pinning pays off even for batches this small.",
      ),
    });
  });

  it("inconclusive if the interval lies on both sides of the worthwhile gain", () => {
    const pinned = ms(26.4, 0.1);
    expect(told({ pinned })).toMatchObject({
      verdict: "inconclusive",
      text: expect.stringContaining("The interval leaves open whether that saves or costs anything."),
    });
  });

  it("inconclusive if it saves something, but perhaps too little", () => {
    expect(told({ pinned: ms(26.46) })).toMatchObject({
      verdict: "inconclusive",
      text: expect.stringContaining("a batch; the interval leaves open whether it is 2 % of it."),
    });
  });

  it("not here if the difference is too small to have a sign", () => {
    const { verdict, text } = told({ pinned: ms(27).reverse(), uncopied: ms(27.1) });
    expect(verdict).toBe("not here");
    expect(text).toContain("The difference is too small to measure, and less than 2 %: batches this small");
    expect(text).toContain("Copying takes no measurable part of an epoch");
  });

  it("undecided without a GPU, though the making of batches is measured", () => {
    expect(told({ pinned: [], unpinned: [] }, "torch 2.11.0 of /usr/bin/python3 sees no GPU")).toEqual({
      verdict: "inconclusive",
      text: `Making the 79 batches of an epoch takes 25.5 ms, 323 µs each, without copying any.
This needs a GPU, and torch 2.11.0 of /usr/bin/python3 sees no GPU.
Name a Python whose torch has CUDA with --python.`,
    });
    expect(told({}, "torch sees no GPU").verdict).toBe("inconclusive");
    expect(told({ pinned: [], unpinned: [] })).toMatchObject({
      verdict: "inconclusive",
      text: expect.stringContaining("This needs a GPU, and no batch was copied."),
    });
  });
});
