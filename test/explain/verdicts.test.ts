import { describe, expect, it } from "vitest";
import type { Conclusion } from "../../src/explain/question.js";
import { concludeEightyOne } from "../../src/explain/questions/eighty-one-times.js";
import { concludeLowLatency } from "../../src/explain/questions/low-latency.js";
import { concludeOverlap } from "../../src/explain/questions/overlap.js";
import { concludePaysOff } from "../../src/explain/questions/pays-off.js";
import { type BatchOfSize, concludeTooSmall } from "../../src/explain/questions/too-small.js";
import { concludeWhyPinned } from "../../src/explain/questions/why-pinned.js";
import { measured } from "../helpers/measured-figure.js";

/*
 * What figures make of each claim. Those that come first are an H200's; then figures that turn the verdict round, and some
 * whose intervals leave it open. The sentences follow.
 */

const MiB = 2 ** 20;
const us = (value: number, percent: number | null = 1) => measured(value * 1e3, "ns", percent);
const ms = (value: number, percent: number | null = 1) => measured(value * 1e6, "ns", percent);
const told = ({ verdict, sentences }: Conclusion) => ({ verdict, text: sentences.join(" ") });

describe("why-pinned: a pageable copy is the CPU's copy, and a pinned one is faster", () => {
  const h200 = {
    pageable: measured(10.98),
    byCpu: measured(12.6),
    staged: measured(11.3),
    pinned: measured(55.3),
  };

  it("is true if both are so", () => {
    const { verdict, text } = told(concludeWhyPinned(h200));
    expect(verdict).toBe("true");
    expect(concludeWhyPinned(h200).figures.slice(0, 4)).toEqual([
      ...[h200.pageable, h200.byCpu, h200.staged, h200.pinned],
    ]);
    expect(text).toContain(
      "A pageable copy reaches 11.0 GB/s; the CPU by itself copies into pinned memory at 12.6 GB/s",
    );
    expect(text).toContain("the CPU's copy is the slow part");
    const ratios = concludeWhyPinned(h200).figures.slice(4);
    expect(ratios.map(({ value }) => value.toFixed(2))).toEqual(["0.87", "5.04"]);
    expect(text).toContain("55.3 GB/s, 5.04 times the rate of a pageable one");
  });

  it("is not so here if pinned memory is no faster", () => {
    const { verdict, text } = told(concludeWhyPinned({ ...h200, pinned: measured(11) }));
    expect(verdict).toBe("not here");
    expect(text).toContain("and yet is hardly faster, if at all: 11.0 GB/s");
  });

  it("is not so here if the CPU copies much faster than a pageable copy goes", () => {
    const { verdict, text } = told(concludeWhyPinned({ ...h200, byCpu: measured(40) }));
    expect(verdict).toBe("not here");
    expect(text).toContain("The CPU copy is not the bottleneck here");
  });

  it("is not so here if a pageable copy goes much faster than the CPU copies", () => {
    expect(told(concludeWhyPinned({ ...h200, byCpu: measured(8) })).verdict).toBe("not here");
  });

  it("is inconclusive if the intervals do not decide", () => {
    const wide = told(concludeWhyPinned({ ...h200, pageable: measured(10, "GB/s", 60) }));
    expect(wide.verdict).toBe("inconclusive");
    expect(wide.text).toContain("The intervals leave open whether the CPU copy");
    const few = told(concludeWhyPinned({ ...h200, pinned: measured(55.3, "GB/s", null) }));
    expect(few.verdict).toBe("inconclusive");
    expect(few.text).toContain("the intervals leave open whether that is 1.1 times as fast");
  });
});

describe("pays-off: pinning costs once, and every copy earns", () => {
  const costs = (pinned: number | null, registered: number | null, percent = 1) => ({
    pinned: pinned === null ? null : ms(pinned, percent),
    registered: registered === null ? null : ms(registered, percent),
  });
  const size = (pageable = 6.1, pinned = 1.2, cost = costs(21.7, 3.4)) => ({
    ...{ sizeBytes: 64 * MiB, cost },
    ...{ pageable: ms(pageable, 0.1), pinned: ms(pinned, 0.1) },
  });

  it("is true with the number of copies, of each way, and its interval", () => {
    const conclusion = concludePaysOff([size()]);
    expect(conclusion.verdict).toBe("true");
    expect(conclusion.sentences).toEqual([
      "64 MiB: each copy saves 4.9 ms. Compared with pageable memory, cuMemHostAlloc takes 21.7 ms more, which 5 copies pay for; registering takes 3.4 ms more, which 1 copy pays for.",
      "In the cheaper way pinning pays at once: even a buffer that is copied a single time.",
    ]);
    const copies = conclusion.figures.filter(({ unit }) => unit === "count");
    expect(copies).toMatchObject([
      { name: "64 MiB: cuMemHostAlloc pays off after copies", value: 5, interval: { low: 5, high: 5 } },
      { name: "64 MiB: registering pays off after copies", value: 1, interval: { low: 1, high: 1 } },
    ]);
    const wide = concludePaysOff([size(6.1, 1.2, costs(21.7, null, 20))]).figures;
    expect(wide.at(-1)).toMatchObject({ value: 5, interval: { low: 4, high: 6 } });
  });

  it("takes fewer copies where each saves more, and more where it saves less", () => {
    // 6 ms, and 5 to 7 of them by the interval, for what costs 60.
    const one = { sizeBytes: 64 * MiB, cost: costs(60, null, 0) };
    const { figures } = concludePaysOff([{ ...one, pageable: ms(10, 10), pinned: ms(4, 0) }]);
    expect(figures.at(-1)).toMatchObject({ value: 10, interval: { low: 9, high: 12 } });
  });

  it("says how often a buffer is to be copied if even the cheaper way takes several copies", () => {
    expect(told(concludePaysOff([size(6.1, 1.2, costs(21.7, 13))])).text).toContain(
      "In the cheaper way at most 3 copies pay for it at each size: pin buffers that are copied that often.",
    );
  });

  it("says where pinned memory costs less, or may cost nothing", () => {
    expect(told(concludePaysOff([size(6.1, 1.2, costs(-22.1, null))]))).toEqual({
      verdict: "true",
      text: "64 MiB: each copy saves 4.9 ms. Compared with pageable memory, cuMemHostAlloc takes 22.1 ms less. In the cheaper way pinning pays at once: even a buffer that is copied a single time.",
    });
    expect(told(concludePaysOff([size(6.1, 1.2, costs(0.4, null, 2000))])).text).toContain(
      "cuMemHostAlloc may take longer or not, and at most 2 copies pay for it.",
    );
  });

  it("is not so here if a pinned copy saves nothing, at any size", () => {
    const { verdict, text } = told(concludePaysOff([size(), size(1.2, 1.5)]));
    expect(verdict).toBe("not here");
    expect(text).toContain("64 MiB: a pinned copy saves nothing that could pay for pinning.");
    expect(text).toContain("pays at once (not known for every size):");
  });

  it("is inconclusive without a cost, or if the times overlap", () => {
    const refused = told(concludePaysOff([size(6.1, 1.2, costs(null, null))]));
    expect(refused.verdict).toBe("inconclusive");
    expect(refused.text).toContain("the driver gave no pinned memory");
    expect(refused.text).toContain("Nothing here is a reason to pin a buffer.");
    const alike = told(concludePaysOff([size(1.2, 1.1999)]));
    expect(alike.verdict).toBe("inconclusive");
    expect(alike.text).toContain(
      "the intervals leave open whether a pinned copy saves time, so whether pinning pays off is open too",
    );
  });
});

describe("81-times: pinned memory is 81 times as fast", () => {
  const processes = (pageableMs: number, pinnedMs: number, contextMs = 90) =>
    [0.97, 0.98, 1, 1.01, 1.02, 1.03].map((factor) => ({
      initNs: 92e6 * factor,
      contextNs: contextMs * 1e6 * factor,
      pageableNs: pageableMs * 1e6 * factor,
      pinnedNs: pinnedMs * 1e6,
    }));

  it("is not so here if the context made the difference", () => {
    const conclusion = concludeEightyOne(processes(3.7, 0.72));
    expect(conclusion.verdict).toBe("not here");
    const text = conclusion.sentences.join(" ");
    expect(text).toMatch(
      /a pageable copy of 40 MB takes 3\.7\d ms and a pinned one 720 µs: 5\.1\d times as fast, and not 81\./,
    );
    expect(text).toContain("The first use of CUDA takes 183 ms");
    expect(text).toMatch(/looks 259 times as fast: 98\.0 % of that time is the start/);
    expect(text).toContain("copy once before the clock starts");
    expect(conclusion.figures).toHaveLength(5);
    expect(text).not.toContain("the interval leaves open");
  });

  it("is true if the copies themselves differ so much", () => {
    const { verdict, text } = told(concludeEightyOne(processes(90, 0.72)));
    expect(verdict).toBe("true");
    expect(text).not.toContain("and not 81");
    expect(text).toContain("The difference comes from the copies.");
    expect(text).not.toContain("the interval leaves open");
  });

  it("is inconclusive if the interval has 81 within, or too few processes were measured", () => {
    const near = told(concludeEightyOne(processes(81 * 0.72, 0.72)));
    expect(near.verdict).toBe("inconclusive");
    expect(near.text).toContain("the interval leaves open whether that is 81 or more");
    expect(concludeEightyOne(processes(3.7, 0.72).slice(1)).verdict).toBe("inconclusive");
  });
});

describe("too-small: a batch of 128 KiB gains nothing", () => {
  const batch = (sizeBytes: number, pageable: number, pinned: number, percent = 1): BatchOfSize => ({
    sizeBytes,
    pageable: us(pageable, percent),
    pinned: us(pinned, percent),
  });
  const larger = [batch(MiB, 100, 22), batch(16 * MiB, 1500, 305)];

  it("is true if it saves next to nothing, and says from which size on it is more", () => {
    expect(told(concludeTooSmall([batch(128 * 1024, 18, 6), ...larger]))).toEqual({
      verdict: "true",
      text:
        "A batch of 128 KiB takes 18 µs from pageable memory and 6 µs from pinned memory: 12 µs less. " +
        "That is below 5 % of a step of 1 ms, and less of a longer step: such a batch is too small to matter. " +
        "From 1 MiB on it is more for certain: 78 µs a batch there, 1.2 ms of 16 MiB.",
    });
  });

  it("says it of the sizes from which on no interval leaves it open", () => {
    const open = batch(4 * MiB, 60, 22, 40);
    const batches = [
      batch(128 * 1024, 18, 6),
      batch(MiB, 100, 22),
      open,
      batch(16 * MiB, 1500, 305),
    ] as const;
    expect(told(concludeTooSmall(batches)).text).toContain(
      "From 16 MiB on it is more for certain: 1.2 ms a batch.",
    );
  });

  it("says so if no size is worth it, or pinned memory is even slower", () => {
    const { verdict, text } = told(concludeTooSmall([batch(128 * 1024, 6, 7), batch(MiB, 22, 22)]));
    expect(verdict).toBe("true");
    expect(text).toContain(": no less.");
    expect(text).toContain("Even a batch of 1 MiB does not save that much for certain.");
  });

  it("is not so here if even that batch saves much", () => {
    const { verdict, text } = told(concludeTooSmall([batch(128 * 1024, 118, 6), ...larger]));
    expect(verdict).toBe("not here");
    expect(text).toContain("That is more than 5 % of a step of 1 ms: even such a small batch gains");
  });

  it("is inconclusive if the interval has the bound within", () => {
    const { verdict, text } = told(concludeTooSmall([batch(128 * 1024, 56, 6, 5), ...larger]));
    expect(verdict).toBe("inconclusive");
    expect(text).toContain("The interval leaves open whether that is 5 % of a step of 1 ms.");
    const alike = told(concludeTooSmall([batch(128 * 1024, 6, 6), ...larger]));
    expect(alike.text).toContain("from pinned memory; these intervals show no difference.");
  });
});

describe("low-latency: an image that is copied into pinned memory first arrives sooner", () => {
  const image = (typical: number, percent: number | null = 1) => ({
    typical: us(typical, percent),
    p99: us(2 * typical, null),
  });
  const figures = { pageable: image(62), pinned: image(14), copiedFirst: image(63), newBuffer: us(61) };

  it("is not so here if the copy into pinned memory takes what staging takes", () => {
    const conclusion = concludeLowLatency(figures);
    expect(conclusion.verdict).toBe("not here");
    expect(conclusion.parts?.map(({ verdict }) => verdict)).toEqual(["true", "not here"]);
    const text = conclusion.sentences.join(" ");
    expect(text).toContain("arrives after 62 µs (99 of 100 within 124 µs)");
    expect(text).toContain(
      "From pinned memory it takes 14 µs (28 µs): decoding directly into pinned memory gains.",
    );
    expect(text).toContain("the copy is made anyway");
    expect(conclusion.figures).toEqual([
      ...[figures.pageable, figures.pinned, figures.copiedFirst].flatMap(({ typical, p99 }) => [
        typical,
        p99,
      ]),
      expect.objectContaining({ name: "pinned memory is faster", value: expect.closeTo(62 / 14) }),
      expect.objectContaining({
        name: "copying into pinned memory first is faster",
        value: expect.closeTo(62 / 63),
      }),
      figures.newBuffer,
    ]);
    const kept = concludeLowLatency({ ...figures, newBuffer: null });
    expect(kept.figures).toEqual(conclusion.figures.slice(0, -1));
    expect(kept.sentences).toEqual(conclusion.sentences.slice(0, -1));
    expect(text).toContain("a new one for each image takes 61 µs more");
  });

  it("says what an image in pinned memory gains, if anything", () => {
    const text = (pinned: typeof figures.pinned) => told(concludeLowLatency({ ...figures, pinned })).text;
    expect(text(image(61))).toContain("From pinned memory it takes 61 µs (122 µs): less than 5 % is gained.");
    expect(text(image(58, 10))).toContain(
      "(116 µs): the intervals leave open whether that is sooner by 5 %.",
    );
  });

  it("is true if that is sooner all the same", () => {
    const { verdict, text } = told(
      concludeLowLatency({ ...figures, copiedFirst: image(40), newBuffer: null }),
    );
    expect(verdict).toBe("true");
    expect(text).toContain("sooner than with the driver's own copy");
    expect(text).not.toContain("a new one for each image");
  });

  it("is inconclusive if the intervals overlap", () => {
    const { verdict, text } = told(concludeLowLatency({ ...figures, copiedFirst: image(58, 10) }));
    expect(verdict).toBe("inconclusive");
    expect(text).toContain("the intervals leave open whether that is sooner by 5 %.");
  });
});

describe("overlap: pinned copies run beside kernels, and pageable ones do not", () => {
  const kind = (copy: number, inTurn: number, inChunks: number, percent = 1) => ({
    copy: ms(copy, percent),
    inTurn: ms(inTurn, percent),
    inChunks: ms(inChunks, percent),
    computeNs: 1.35e6,
  });
  const pinned = kind(1.21, 2.57, 1.5);
  const pageable = kind(6, 7.5, 7.48);

  it("is true if it is so of both", () => {
    const conclusion = concludeOverlap({ pinned, pageable });
    expect(conclusion.verdict).toBe("true");
    expect(conclusion.sentences).toEqual([
      "From pinned memory, copies run at the same time as kernels: a batch takes 2.57 ms one after the other, 1.5 ms in 8 chunks.",
      "From pageable memory, copies and kernels wait for each other: a batch takes 7.5 ms one after the other, 7.48 ms in 8 chunks.",
    ]);
  });

  it("goes by the share of what can be hidden: not the first chunk's copy, nor the last one's kernel", () => {
    const { figures } = concludeOverlap({ pinned: kind(1.2, 2.5, 1.975), pageable });
    const [hidden] = figures.filter(({ unit }) => unit === "share");
    expect(hidden!.name).toBe("pinned: hidden share of what could be hidden");
    expect(hidden!.value).toBeCloseTo((2.5 - 1.975) / (1.2 * (7 / 8)), 9);
  });

  it("is not so here if pinned copies wait for kernels", () => {
    const conclusion = concludeOverlap({ pinned: kind(1.21, 2.57, 2.56), pageable });
    expect(conclusion.verdict).toBe("not here");
    expect(conclusion.parts?.map(({ verdict }) => verdict)).toEqual(["not here", "not here"]);
  });

  it("is not so here if pageable copies overlap as well", () => {
    const conclusion = concludeOverlap({ pinned, pageable: kind(6, 7.5, 6.4) });
    expect(conclusion.verdict).toBe("not here");
    expect(conclusion.parts?.map(({ verdict }) => verdict)).toEqual(["true", "true"]);
    expect(conclusion.sentences[1]).toContain("From pageable memory, copies run at the same time as kernels");
    expect(conclusion.sentences[2]).toBe("So pageable copies overlap here too.");
  });

  it("is inconclusive if the times vary as much as could be hidden", () => {
    const conclusion = concludeOverlap({ pinned, pageable: kind(33, 44, 41, 10) });
    expect(conclusion.verdict).toBe("inconclusive");
    expect(conclusion.sentences[1]).toContain(
      "The intervals leave open whether copies from pageable memory run at the same time as kernels",
    );
  });
});
