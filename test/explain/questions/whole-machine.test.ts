import { describe, expect, it } from "vitest";
import type { Conclusion } from "../../../src/explain/question.js";
import { concludeSeveralGpus } from "../../../src/explain/questions/several-gpus.js";
import { concludeTooMuch } from "../../../src/explain/questions/too-much-pinned.js";
import { measured } from "../../helpers/measured-figure.js";

/*
 * What figures make of each claim. Those that come first are an H200's; then figures that turn the verdict round, and some
 * whose intervals leave it open. The sentences follow.
 */

const GiB = 2 ** 30;
const MiB = 2 ** 20;
const namesOf = ({ figures }: Conclusion) => figures.map(({ name }) => name);
const told = ({ verdict, sentences }: Conclusion) => ({ verdict, text: sentences.join(" ") });

describe("several-gpus: pinned memory feeds all of them at once", () => {
  const device = (ordinal: number, together: number, percent = 1) => ({
    device: ordinal,
    pinned: { alone: measured(55), together: measured(together, "GB/s", percent) },
    pageable: { alone: measured(11), together: measured(6) },
  });

  it("is true where each keeps its rate", () => {
    const conclusion = concludeSeveralGpus([device(0, 54), device(1, 53)]);
    expect(conclusion.verdict).toBe("true");
    expect(conclusion.parts).toEqual([
      { name: "from pinned memory", verdict: "true" },
      { name: "from pageable memory", verdict: "not here" },
    ]);
    expect(conclusion.figures.map(({ value }) => value)).toEqual([
      ...[55, 54, 11, 6, 55, 53, 11, 6].map((value) => expect.closeTo(value)),
      ...[54 / 55, 53 / 55, 6 / 11, 6 / 11].map((value) => expect.closeTo(value)),
    ]);
    expect(namesOf(conclusion).slice(-4)).toEqual([
      "device 0: pinned together over alone",
      "device 1: pinned together over alone",
      "device 0: pageable together over alone",
      "device 1: pageable together over alone",
    ]);
    expect(conclusion.sentences).toEqual([
      "From pinned memory all are fed at once: 107 GB/s in all, and each keeps at least 96.4 % of its rate.",
      "From pageable memory they hold each other up: 12.0 GB/s in all, and one keeps 54.5 % of its rate.",
    ]);
  });

  it("is not so here if one of them loses", () => {
    const { verdict, text } = told(concludeSeveralGpus([device(0, 54), device(1, 28)]));
    expect(verdict).toBe("not here");
    expect(text).toContain(
      "From pinned memory they hold each other up: 82.0 GB/s in all, and one keeps 50.9 %",
    );
  });

  it("names a loss that is certain, and not a larger one that is not", () => {
    const { text } = told(concludeSeveralGpus([device(0, 40), device(1, 38, 40)]));
    expect(text).toContain("one keeps 72.7 % of its rate");
  });

  it("is inconclusive if the interval has the bound within", () => {
    const { verdict, text } = told(concludeSeveralGpus([device(0, 54), device(1, 49.5, 5)]));
    expect(verdict).toBe("inconclusive");
    expect(text).toContain("the intervals leave open whether each keeps 90 % of its rate");
  });
});

describe("too-much-pinned: pinned memory is lost to all else", () => {
  const figures = {
    poolBytes: 512 * MiB,
    taken: measured(1.001, "share"),
    returned: measured(1, "share"),
    impossible: { refusal: "CUDA_ERROR_OUT_OF_MEMORY", ns: 2e5, worksAfter: true },
    totalBytes: 128 * GiB,
    availableBytes: 100 * GiB,
  };

  it("is true if a pool takes its size from the memory available", () => {
    const { verdict, text } = told(concludeTooMuch(figures));
    expect(verdict).toBe("true");
    expect(text).toContain("A pinned pool of 512 MiB takes 100 % of its size");
    expect(text).toContain("is refused within 200 µs (CUDA_ERROR_OUT_OF_MEMORY), and copies work as before");
    expect(text).toContain(
      "128 GiB, of which 100 GiB are available here: pinbench itself pins at most a quarter of those, 25 GiB",
    );
  });

  it("is not so here if it takes hardly any", () => {
    const { verdict, text } = told(concludeTooMuch({ ...figures, taken: measured(0.02, "share") }));
    expect(verdict).toBe("not here");
    expect(text).toContain("takes only 2.00 % of its size");
  });

  it("is inconclusive if other programs take and give back as much", () => {
    const { verdict, text } = told(concludeTooMuch({ ...figures, taken: measured(0.7, "share", 50) }));
    expect(verdict).toBe("inconclusive");
    expect(text).toContain("is not certain");
  });

  it("has a part of its own on whether an allocation can fail", () => {
    const partOf = (impossible: Parameters<typeof concludeTooMuch>[0]["impossible"]) =>
      concludeTooMuch({ ...figures, impossible }).parts?.[1];
    const name = "an allocation can fail";
    expect(partOf(figures.impossible)).toEqual({ name, verdict: "true" });
    expect(partOf({ ...figures.impossible, refusal: null! })).toEqual({ name, verdict: "not here" });
    expect(partOf(null)).toEqual({ name, verdict: "inconclusive" });
    expect(concludeTooMuch(figures).figures).toEqual([figures.taken, figures.returned]);
  });

  it("says what became of the request that cannot be granted", () => {
    const impossible = (part: Partial<(typeof figures)["impossible"]> | null) =>
      told(concludeTooMuch({ ...figures, impossible: part && { ...figures.impossible, ...part } })).text;
    expect(impossible({ worksAfter: false })).toContain("copies no longer work");
    expect(
      told(concludeTooMuch({ ...figures, impossible: { refusal: null, ns: 1, worksAfter: true } })).text,
    ).toContain("was granted: a failure would show only in use");
    expect(impossible(null)).toContain("vm.overcommit_memory is 1");
  });
});
