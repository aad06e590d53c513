import { describe, expect, it } from "vitest";
import { concludeTorchRoundsUp } from "../../../src/explain/questions/torch-rounds-up.js";
import type { TorchExperiments } from "../../../src/explain/torch/program-messages.js";
import { timesAround } from "./times.js";

const MiB = 2 ** 20;

const usual: TorchExperiments["rounded"]["figures"] = {
  ...{ bytes: 17 * MiB, evenBytes: 16 * MiB, hasStatistics: true },
  ...{ pinned: Array(6).fill(32 * MiB), uneven: timesAround(12e6), even: timesAround(6e6) },
};

const said = (changes: Partial<typeof usual> = {}) => {
  const { verdict, sentences } = concludeTorchRoundsUp({ ...usual, ...changes });
  return { verdict, text: sentences.join("\n") };
};

describe("that torch rounds pinned sizes up is", () => {
  it("true if it pins about twice as much, with the way to turn it off", () => {
    expect(said()).toEqual({
      verdict: "true",
      text: `For a tensor of 17 MiB torch pins 32 MiB, 1.88 times as much: it rounds sizes up to a power of two. PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb:1 turns that off in torch 2.13.
The tensor is there after 12 ms, one of 16 MiB after 6 ms.
The amounts are those of torch.cuda.host_memory_stats().`,
    });
  });

  it("said with the share of what was asked for, and the times of both sizes", () => {
    const { figures } = concludeTorchRoundsUp({ ...usual, even: timesAround(3e6) });
    expect(figures.map(({ name, value }) => `${name}: ${value.toPrecision(3)}`)).toEqual([
      "pinned for 17 MiB, over that size: 1.88",
      "torch.empty() of 17 MiB, pinned: 1.20e+7",
      "torch.empty() of 16 MiB, pinned: 3.00e+6",
      "time of 17 MiB over that of 16 MiB: 4.00",
    ]);
  });

  it("not here if it pins what was asked for, also by the process' resident memory", () => {
    const pinned = [17.1, 17, 17, 16.9, 17, 17].map((size) => size * MiB);
    const { verdict, text } = said({ pinned, hasStatistics: false });
    expect(verdict).toBe("not here");
    expect(text).toContain("torch pins 17 MiB, 1.00 times as much: it does not round up.");
    expect(text).toContain("the growth of the process' resident memory");
  });

  it("inconclusive if the amounts differ too much, or too few give no interval", () => {
    for (const pinned of [[17, 32, 17, 32, 17, 32].map((size) => size * MiB), [32 * MiB]]) {
      expect(said({ pinned })).toMatchObject({
        verdict: "inconclusive",
        text: expect.stringContaining("leaves open whether it rounds up."),
      });
    }
  });
});
